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
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.lie_algebra import matrix_units
from symgauge.symbolic.proof import prove_equal

SIZES = ((3, 1), (5, 2), (7, 3))  # (d, d_k)
GPT_2 = {"layers": 12, "h": 12, "d_k": 64, "d_v": 64}


def with_unit_block(left: sp.Matrix, right: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """(L Bᵀ, R B⁻¹) with B the top square block of R: the same L Rᵀ, and an identity on top of R."""
    block = right[: right.cols, :]
    return left * block.T, right * block.inv()


@checks("intro-6", "sec7.2-c")
def test_lossless_compression(evidence: EvidenceLog) -> None:
    base = general_matrix(4, 2, Random(1))
    turn = sp.Matrix([[3, 4], [-4, 3]]) / 5
    fixed = [base[i, j] == (base * turn)[i, j] for i in range(4) for j in range(2)]
    same = is_zero(base * base.T - (base * turn) * (base * turn).T)
    evidence.exact(
        "the form of §7.2 fixes an entry that then need not be stored",
        not same or any(fixed),
        counterexample=r"$W_Q = W_K = B$ and $W_Q = W_K = BO$ with a rational rotation $O$: both balanced, the same "
        r"function, and no entry in common",
        only="sec7.2-c",
    )
    removed = 12 * balancing.kept_and_removed(12, 64, 64)[0]
    evidence.exact(
        "dimensions that the form of §7.2 removes from GPT-2 small, in all",
        removed >= 10**6,
        counterexample="599,040, less than one million; and none of them is an entry of a matrix",
        figures={"removed": equal(removed, 599_040)},
        only="intro-6",
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
    evidence.exact("with the unit block the product is kept, exactly", good, on="condition", cases=cases)
    evidence.exact("gauge-equivalent factors get the same form, exactly", meets, on="condition", cases=cases)
    count = GPT_2["layers"] * GPT_2["h"] * (GPT_2["d_k"] ** 2 + GPT_2["d_v"] ** 2)
    evidence.exact(
        "numbers of GPT-2 small that then need no storage",
        on="condition",
        figures={"numbers": equal(count, 1_179_648)},
        only="intro-6",
    )
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
        on="condition",
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
    evidence.not_stated(
        TEXT,
        {
            "a prover": ("SNARK", "zero-knowledge", "arithmetic circuit", "proof system"),
            "its cost, measured or derived": ("prover time", "proof size", "number of constraints", "cost of proving"),
        },
        there="verifiable inference",
    )
