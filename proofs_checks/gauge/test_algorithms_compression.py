"""Compression by gauge fixing: what is stored less, and what is not (§1, §7.2, §9, Definition E.6)."""

from __future__ import annotations

from random import Random

import sympy as sp

from proofs_checks.gauge.algebra import balancing
from proofs_checks.gauge.reported import TEXT
from proofs_checks.support.attention_layers import drawn_layers, relative_change_of_outputs
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.algorithms import apply, canonicalize, compress, expand, group_dimension, random_element
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.symbolic.identities import d, d_k, d_v, matrix
from symgauge.symbolic.instances import general_matrix, orthogonal, reflection, small_rational
from symgauge.symbolic.lie_algebra import matrix_units
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts

SIZES = ((3, 1), (5, 2), (7, 3))  # (d, d_k)


def with_unit_block(left: sp.Matrix, right: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """(L Bᵀ, R B⁻¹) with B the top square block of R: the same L Rᵀ, and an identity on top of R."""
    block = right[: right.cols, :]
    return left * block.T, right * block.inv()


def reflections(v: sp.Matrix) -> list[sp.Matrix]:
    """Vectors u, without their leading 1, whose reflections take the orthonormal columns of V to (I; 0) in turn."""
    found = []
    for j in range(v.cols):
        u = v[j:, j] - sp.eye(v.rows - j)[:, 0]
        found.append((u / u[0])[1:, 0])
        v = sp.diag(sp.eye(j), reflection(sp.Matrix([1, *found[-1]]))) * v
    return found


def orthonormal(stored: list[sp.Matrix]) -> sp.Matrix:
    """The orthonormal columns again."""
    width = stored[0].rows + 1
    v = sp.eye(width)[:, : len(stored)]
    for j in reversed(range(len(stored))):
        v = sp.diag(sp.eye(j), reflection(sp.Matrix([1, *stored[j]]))) * v
    return v


@checks("sec7.2-c")
def test_storing_the_form(evidence: EvidenceLog) -> None:
    rng = Random(3)
    kept, fewer, expected, wrong = [], [], [], []
    for width, keys, values in ((3, 1, 2), (4, 2, 1), (6, 3, 2)):
        q, k, v = (orthogonal(width, rng)[:, :n] for n in (keys, keys, values))
        factor = sp.diag(*(abs(small_rational(rng)) for _ in range(keys)))
        factor += sp.Matrix(keys, keys, lambda i, j: small_rational(rng) if i < j else 0)
        form, output = (q * factor, k * factor, v), general_matrix(values, width, rng)
        a, c = general_matrix(keys, keys, rng), general_matrix(values, values, rng)
        given = (form[0] * a, form[1] * a.inv().T, v * c, c.inv() * output)  # any weights with this form
        stored = [reflections(columns) for columns in (q, k, v)]
        back = [orthonormal(vectors) for vectors in stored]
        query, key, value = back[0] * factor, back[1] * factor, back[2]
        kept.append(
            is_zero(query.T * query - key.T * key, value.T * value - sp.eye(values))
            and is_zero(query * key.T - given[0] * given[1].T, value * output - given[2] * given[3])
        )
        numbers = sum(len(vector) for vectors in stored for vector in vectors) + keys * (keys + 1) // 2
        fewer.append(width * (2 * keys + values) - numbers)
        expected.append(balancing.kept_and_removed(1, keys, values)[0])
        skewed = form[2] * c
        wrong.append(orthonormal(reflections(skewed)) != skewed)
    evidence.exact(
        r"$W_Q = U_QR$, $W_K = U_KR$ and $W_V$ with orthonormal $U_Q$, $U_K$, $W_V$ stored as reflections, $R$ as a "
        r"triangle: rational heads come back balanced and orthonormal, $M$ and $N$ those of the weights given",
        all(kept),
        figures={"numbers fewer": equal(fewer, expected)},
        cases=len(kept),
    )
    evidence.control("columns that are not orthonormal do not come back", all(wrong), kind="exact")
    evidence.proof(
        r"every balanced pair of full rank is of this kind: with $W_Q^\top W_Q = W_K^\top W_K = R^\top R$ "
        r"(Cholesky), $W_QR^{-1}$ has orthonormal columns",
        proves(_orthonormal_by_cholesky),
    )


def _orthonormal_by_cholesky() -> None:
    w, r = matrix("W", d, d_k), matrix("R", d_k, d_k)
    facts = Facts(equations=((w.T * w, r.T * r),))
    prove_equal((w * r.I).T * (w * r.I), sp.Identity(d_k), facts)


@checks("intro-6")
def test_lossless_compression(evidence: EvidenceLog) -> None:
    sizes = {"GPT-2 small": (12, 12, 64), "GPT-3": (96, 96, 128)}
    fixed = [layers * h * 2 * n**2 for layers, h, n in sizes.values()]
    balanced = [layers * balancing.kept_and_removed(h, n, n)[0] for layers, h, n in sizes.values()]
    evidence.exact(
        "GPT-2 small and GPT-3: numbers that need no storage with an identity block in every $W_K$ and $W_V$, "
        "and by the form of §7.2",
        figures={
            "identity blocks": equal(fixed, [1_179_648, 301_989_888]),
            "form of §7.2": equal(balanced, [599_040, 152_174_592]),
            "GPT-3, fewest": at_least(min(fixed[1], balanced[1]), 2_000_000),
        },
        cases=len(sizes),
    )
    rng = Random(7)
    good, meets, cases = True, True, 0
    for width, rank in SIZES:
        left, right = general_matrix(width, rank, rng), general_matrix(width, rank, rng)
        a = general_matrix(rank, rank, rng)
        new_left, new_right = with_unit_block(left, right)
        good &= is_zero(new_left * new_right.T - left * right.T, new_right[:rank, :] - sp.eye(rank))
        other = with_unit_block(left * a, right * a.inv().T)
        meets &= is_zero(new_left - other[0], new_right - other[1])
        cases += 1
    evidence.exact("with the unit block the product is kept, exactly", good, cases=cases)
    evidence.exact("gauge-equivalent factors get the same form, exactly", meets, cases=cases)
    stored, worst, weakest, cases = [], 0.0, 1.0, 0
    for layer, seed in drawn_layers():
        found = canonicalize(layer, "minor")
        packed = compress(found)
        back = expand(packed)
        exact = all((x == back.tensors()[name]).all() for name, x in found.parameters.tensors().items())
        stored.append(exact and packed.values.numel() == layer.size - group_dimension(layer))
        # softmax and the sums of the forward pass add rounding of their own
        allowed = 16 * found.rounding + 64 * layer.epsilon
        worst = max(worst, relative_change_of_outputs(layer, back, seed) / allowed)
        flat = layer.replace(key=layer.key.index_fill(1, found.minors[0].rows[0, 0], 0.0))
        weakest = min(weakest, relative_change_of_outputs(layer, flat, seed))
        cases += 1
    evidence.numeric(
        r"`compress` and `expand` on random layers (sharing, biases, rotary encoding): $\dim G$ numbers fewer, the "
        r"form back "
        "bit by bit, the outputs within 16 times the form's stated rounding",
        all(stored) and worst <= 1,
        figures={"layers stored so": equal(sum(stored), cases), "change / allowed": at_most(worst, 1.0)},
        cases=cases,
    )
    evidence.control("as many entries set to zero instead", figures={"change of outputs": at_least(weakest, 1e-3)})


def rank_along_orbit(width: int, rank: int, *, transposed: bool = True, block: sp.Matrix | None = None) -> int:
    """Rank of a block's derivative along the orbit: B Xᵀ of a key, B Y of a value, over all X or Y."""
    block = general_matrix(width, rank, Random(rank))[:rank, :] if block is None else block
    return sp.Matrix([list(block * (unit.T if transposed else unit)) for unit in matrix_units(rank)]).rank()


@checks("def-E.6")
def test_gauge_slice(evidence: EvidenceLog) -> None:
    key = sp.Matrix([0, 1])
    a = sp.Symbol("a", nonzero=True)
    evidence.exact(
        r"the slice 'top entry of $W_K$ is 1' meets every orbit",
        sp.solve((key / a)[0] - 1, a) != [],
        counterexample=r"$d = 2$, $d_k = 1$, $W_K = (0,1)^\top$ of full rank: its orbit is $(0, 1/a)^\top$",
    )
    t = sp.Symbol("t", real=True)
    turn = sp.Matrix([[sp.cos(t), -sp.sin(t)], [sp.sin(t), sp.cos(t)]])
    query, path = turn * sp.Matrix([1, 2]), turn * sp.Matrix([3, 1])
    loop = sp.simplify((query * path.T).subs(t, sp.pi) - (query * path.T).subs(t, 0))
    reversed_ = is_zero(query.subs(t, sp.pi) + query.subs(t, 0), path.subs(t, sp.pi) + path.subs(t, 0))
    # A continuous slice along the loop is (q(t)a(t), k(t)/a(t)), a never 0; closing it needs a(π) = −a(0).
    lengths = sp.simplify((query.T * query)[0]) == 5 and sp.simplify((path.T * path)[0]) == 10
    evidence.proof(
        r"a continuous slice through all orbits of $d = 2$, $d_k = 1$ exists",
        not (is_zero(loop) and reversed_ and lengths),
        counterexample=r"$W_Q(t) = R_t(1,2)^\top$, $W_K(t) = R_t(3,1)^\top$, $0\le t\le\pi$: the function returns, the "
        r"parameters to their negatives, so the scale $a(t)$ of a continuous slice would go from $a$ to $-a$ without 0",
    )
    b, m = matrix("B", d_k, d_k), matrix("A", d_k, d_k)
    evidence.proof(
        r"for every size: if a block is $I$ before and after, $I A^{-\top} = I$, so $A = I$: at most one point per "
        r"orbit",
        proves(lambda: prove_equal((b * (m.I).T) * m.T, b)),
        on="condition",
    )
    w_k = matrix("W_K", d, d_k)
    evidence.proof(
        r"for every size: $A = B^\top$ with $B$ the block gives $BA^{-\top} = I$, so there is one, and "
        r"$W_QW_K^\top$ stays",
        proves(lambda: prove_equal(b * b.T.I.T, sp.Identity(d_k)))
        and proves(lambda: prove_equal(matrix("W_Q", d, d_k) * b.T * (w_k * b.I).T, matrix("W_Q", d, d_k) * w_k.T)),
        on="condition",
    )
    block, c = matrix("B", d_v, d_v), matrix("C", d_v, d_v)
    evidence.proof(
        r"for every size: $C = B^{-1}$ with $B$ the block of $W_V$ gives $BC = I$ and keeps $W_VW_O$; if the block is "
        r"$I$ before and after, $C = I$",
        proves(lambda: prove_equal(block * block.I, sp.Identity(d_v)))
        and proves(lambda: prove_equal(matrix("W_V", d, d_v) * c * (c.I * matrix("W_O", d_v, d)), matrix("W_V", d, d_v)
                                       * matrix("W_O", d_v, d)))
        and proves(lambda: prove_equal(block.I * (block * c), c)),
        on="condition",
    )  # fmt: skip
    ranks = [(rank_along_orbit(w, k), rank_along_orbit(w, w - k, transposed=False)) for w, k in SIZES]
    evidence.exact(
        r"rank of $\Psi$ along the orbit, per head: $d_k^2$ and $d_v^2$, all of $\dim G_{\max}$",
        on="condition",
        figures={"ranks": equal(ranks, [(k * k, (w - k) ** 2) for w, k in SIZES])},
        cases=len(SIZES),
    )
    evidence.control(
        "a singular block, by the same count",
        kind="exact",
        figures={"rank": at_most(rank_along_orbit(3, 2, block=sp.Matrix([[1, 2], [2, 4]])), 3)},
    )
    first, second = (with_unit_block(*(general_matrix(4, 2, Random(s)) for s in (s, s + 1))) for s in (20, 30))
    evidence.exact(
        r"two heads of which both blocks are $I$: $\Psi = 0$ in either order, at different points",
        first != second and all(head[1][:2, :] == sp.eye(2) for head in (second, first)),
        on="condition",
    )


@checks("sec9-1")
def test_caches(evidence: EvidenceLog) -> None:
    evidence.not_stated(
        TEXT,
        {
            "a measure of what is friendly to compression": ("entropy", "effective rank", "bits", "spectrum of the"),
            "a cache that was compressed": ("quantization", "compression ratio", "cache size", "perplexity"),
            "the gain that is to multiply h/g": ("gain of", "reduction by", "smaller cache", "saves"),
        },
        there="KV caches",
    )
    rng = Random(5)
    tokens, key = general_matrix(6, 4, rng), general_matrix(4, 2, rng)
    a = general_matrix(2, 2, rng)
    before, after = tokens * key, tokens * key * a.inv().T
    evidence.exact(
        r"rank and size of cached keys $XW_K$ and $XW_KA^{-\top}$",
        on="correction",
        figures={"ranks": equal([before.rank(), after.rank()], [2, 2]), "sizes": equal(after.shape, before.shape)},
    )
    worst, weakest, cases = 0.0, 1.0, 0
    for layer, seed in drawn_layers("plain", "shared", "rotary"):
        moved = apply(layer, random_element(layer, seed, 30))
        found = canonicalize(moved).parameters
        cached = (layer.key.numel() + layer.value.numel(), found.key.numel() + found.value.numel())
        worst = max(worst, relative_change_of_outputs(layer, found, seed) if cached[0] == cached[1] else 1.0)
        weakest = min(weakest, relative_change_of_outputs(layer, found.replace(key=moved.key), seed))
        cases += 1
    evidence.numeric(
        "canonicalized layers: outputs to rounding, cached numbers per token the same",
        on="correction",
        figures={"change": at_most(worst, 1e-11)},
        cases=cases,
    )
    evidence.control("the keys left in their old basis", figures={"change": at_least(weakest, 1e-3)})


@checks("sec9-2")
def test_prover_cost(evidence: EvidenceLog) -> None:
    heads, groups, layers, d_v, n = sp.symbols("h g L d_v n", positive=True)
    per_head = n * (d + n) * (d_k + d_v)  # multiplications with keys and values: an example of what a head may cost
    cost = lambda count, fixed: sp.summation(count * per_head + fixed, (sp.Symbol("l"), 1, layers))  # noqa: E731
    evidence.proof(
        "a cost per key/value head, whatever it is, summed over heads and layers: layers add up, and $g$ heads in "
        "place of $h$ divide it by $h/g$",
        sp.simplify(cost(heads, 0) / cost(groups, 0) - heads / groups) == 0
        and sp.simplify(cost(heads, 0) - layers * heads * per_head) == 0,
    )
    queries = heads * n * d * d_k
    evidence.control(
        "a cost with a part that stays, that of the queries, does not fall by $h/g$",
        sp.simplify(cost(heads, queries) / cost(groups, queries) - heads / groups) != 0,
        kind="proof",
    )
