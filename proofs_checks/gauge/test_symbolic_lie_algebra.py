"""The steps of Lemma B.3 and the generators of E.1."""

from __future__ import annotations

import sympy as sp

from proofs_checks.support.algebra import linearised
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.identities import d, d_k, matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.tangent import Attention, random_attention

SIZES = ((4, 2, 3, 2), (5, 3, 2, 2), (5, 2, 3, 3))  # d, d_k, d_v, heads


def points() -> list[Attention]:
    """General rational points, among them d < 2 d_k and h d_v ≠ d."""
    return [random_attention(d=w, d_k=k, d_v=v, groups=range(heads), seed=w) for w, k, v, heads in SIZES]


@checks("eq-32")
def test_linearised_condition(evidence: EvidenceLog) -> None:
    evidence.proof("the derivative of the scores, for every size", proves(linearised.prove_score_derivative))
    size = 4
    unknown = sp.Matrix(size, size, lambda i, j: sp.Symbol(f"s{i}{j}"))
    pairs = [
        sp.Matrix([[int(i == a) for i in range(size)], [int(i == b) for i in range(size)]])
        for a in range(size)
        for b in range(size)
    ]
    two_tokens = [(x * unknown * x.T)[0, 1] for x in pairs]
    evidence.exact(
        "rows $e_a, e_b$ of $X$ read off every entry of the matrix between",
        two_tokens == list(unknown),
        cases=len(pairs),
    )
    one_token = [(x[0, :] + c * x[1, :]) * unknown * (x[0, :] + c * x[1, :]).T for x in pairs for c in (0, 1, 2)]
    solved = sp.solve([entry[0] for entry in one_token], list(unknown), dict=True)[0]
    skew = len(unknown.free_symbols) - len(solved)
    evidence.control(
        "one token alone leaves a skew matrix free",
        figures={"free": at_least(skew, size * (size - 1) // 2)},
        kind="exact",
    )


@checks("B.3-perp")
def test_query_key_directions(evidence: EvidenceLog) -> None:
    evidence.proof(
        r"for every size: $\Pi\,\delta W_Q = 0$, where $\Pi W_Q = 0$",
        proves(linearised.prove_perpendicular_part_vanishes),
    )
    evidence.proof(
        r"for every size: $\delta W_K = -W_K(W_Q^+\delta W_Q)^\top$", proves(linearised.prove_key_follows_query)
    )
    shapes = ((2, 1), (3, 1), (3, 2), (4, 2))
    found = [linearised.generic_kernel_dimension(rows, columns) for rows, columns in shapes]
    evidence.proof(
        "the conditions with symbolic entries, solved over their field of rational functions",
        figures={"kernel dimensions": equal(found, [columns**2 for _, columns in shapes])},
    )
    dQ = linearised.dQ
    no_rank = proves(
        lambda: prove_equal(linearised.PI * dQ * linearised.W_K.T * linearised.K_LEFT.T, linearised.PI * dQ)
    )
    evidence.control("the first step without the rank of $W_K$", not no_rank, kind="proof")
    flat = Attention(
        (sp.Matrix([1, 0, 0]),), (sp.zeros(3, 1),), (sp.Matrix([0, 1, 0]),), (sp.Matrix([[0, 0, 1]]),), (0,)
    )
    kernel = lie.characterise(flat, [lie.query_key_generators(flat)]).kernel.dimension
    evidence.control(
        "$W_K = 0$ leaves $\\delta W_Q$ free", figures={"kernel": at_least(kernel, 1 + 1 + 1)}, kind="exact"
    )


@checks("B.3-vo")
def test_value_output_directions(evidence: EvidenceLog) -> None:
    w_v, w_o, moved = sp.Matrix([1, 0]), sp.zeros(1, 2), sp.Matrix([0, 1])
    keeps = is_zero(moved * w_o + w_v * sp.zeros(1, 2))
    in_span = sp.Matrix.hstack(w_v, moved).rank() == 1
    evidence.exact(
        "every first-order change has that form",
        not keeps or in_span,
        counterexample=r"$d = 2$, $d_v = 1$, $W_V = (1,0)^\top$, $W_O = 0$: $\delta W_V = (0,1)^\top$ changes nothing "
        r"and is no multiple of $W_V$",
    )
    evidence.proof("for every size, step by step", proves(linearised.prove_value_output), on="condition")
    results = [lie.characterise(p, [lie.query_key_generators(p), lie.value_output_generators(p)]) for p in points()]
    evidence.exact(
        "the linear conditions solved at general rational points: nothing outside the generators",
        all(r.inside and r.free for r in results),
        on="condition",
        figures={
            "kernel": [r.kernel.dimension for r in results],
            "unexplained": equal([r.unexplained for r in results], [0] * len(results)),
        },
        cases=len(results),
    )
    first, *_ = points()
    silent = Attention(first.w_q, first.w_k, first.w_v, (sp.zeros(3, 4), first.w_o[1]), first.groups)
    extra = lie.characterise(
        silent, [lie.query_key_generators(silent), lie.value_output_generators(silent)]
    ).unexplained
    evidence.control("with $W_{O,1} = 0$ there is more", figures={"unexplained": at_least(extra, 1)}, kind="exact")


@checks("eq-73..74", "prop-E.1d")
def test_generators(evidence: EvidenceLog) -> None:
    evidence.proof("tangent to the fibre, for every size", proves(lie.prove_tangency))
    evidence.proof(
        "closed under the bracket of vector fields, $[v_X, v_{X'}] = v_{[X,X']}$, for every size",
        proves(lie.prove_bracket_closure),
    )
    evidence.proof(
        "free, for every size: $W_QX = 0$ forces $X = 0$ and $W_VY = 0$ forces $Y = 0$, by full column rank",
        proves(linearised.prove_freeness),
    )
    x, y = matrix("X", d_k, d_k), matrix("X'", d_k, d_k)
    w_q, wrong = matrix("W_Q", d, d_k), matrix("W_Q", d, d_k) * (y * x - x * y)
    field = lambda z: {w_q: w_q * z}  # noqa: E731
    evidence.control(
        "the bracket with the other sign",
        not proves(lambda: prove_equal(lie.bracket(field(x), field(y))[w_q], wrong)),
        kind="proof",
    )
    ranks = [lie.characterise(p, [lie.query_key_generators(p), lie.value_output_generators(p)]).rank for p in points()]
    evidence.exact(
        "rank of the generators at general rational points",
        figures={"rank": equal(ranks, [heads * (k**2 + v**2) for _, k, v, heads in SIZES])},
        cases=len(ranks),
    )
    flat = Attention((sp.zeros(3, 1),), (sp.zeros(3, 1),), (sp.Matrix([0, 1, 0]),), (sp.Matrix([[0, 0, 1]]),), (0,))
    evidence.control(
        "at $W_Q = W_K = 0$ they are dependent",
        not lie.characterise(flat, [lie.query_key_generators(flat)]).free,
        kind="exact",
    )
