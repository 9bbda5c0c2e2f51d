"""Gauge fixing and gradient projection: (83), (84), Algorithms 2 and 3, Proposition E.9."""

from __future__ import annotations

from random import Random

import sympy as sp

from proofs_checks.gauge.algebra import balancing, projection
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.symbolic.identities import d, d_k, d_v, matrix
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts

PAIRS = (
    balancing.EXAMPLE,
    balancing.SCALARS,
    balancing.GramPair(sp.Matrix([[3, -1], [-1, 1]]), sp.Matrix([[2, 1], [1, 1]]) / 3),
    balancing.GramPair(sp.Matrix([[2, 1, 0], [1, 2, 0], [0, 0, 1]]), sp.Matrix([[1, 0, 0], [0, 2, 1], [0, 1, 3]])),
)


@checks("eq-83")
def test_balance_equation(evidence: EvidenceLog) -> None:
    w_q, w_k, a = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("A", d_k, d_k)
    left, right = (w_q * a).T * (w_q * a), (w_k * a.I.T).T * (w_k * a.I.T)
    evidence.proof(
        "the two Gram matrices after the action, for every size",
        proves(lambda: prove_equal(left, a.T * (w_q.T * w_q) * a))
        and proves(lambda: prove_equal(right, a.I * (w_k.T * w_k) * a.I.T)),
    )
    g_q, g_k = matrix("G_Q", d_k, d_k), matrix("G_K", d_k, d_k)
    gap = a * (a.T * g_q * a - a.I * g_k * a.I.T) * a.T
    evidence.proof(
        r"multiplied by $A$ and $A^\top$ the condition reads $AA^\top G_QAA^\top = G_K$",
        proves(lambda: prove_equal(gap, a * a.T * g_q * a * a.T - g_k)),
    )
    wrong = (w_k * a.I).T * (w_k * a.I)
    evidence.control(
        "$A^{-1}$ in place of $A^{-\\top}$",
        not proves(lambda: prove_equal(wrong, a.I * (w_k.T * w_k) * a.I.T)),
        kind="proof",
    )


@checks("eq-84", "alg-2")
def test_balancing(evidence: EvidenceLog) -> None:
    formula, algorithm = "eq-84", "alg-2"
    published = [pair.imbalance(pair.formula_84) for pair in PAIRS]
    evidence.exact(
        "(84), every root exact, on rational Gram matrices",
        is_zero(*published),
        counterexample=r"$g_Q = 1$, $g_K = 16$: (84) gives $A = 4$ and Gram matrices 16 and 1; balance needs $A = "
        r"2$ (4 and 4)",
        cases=len(PAIRS),
        only=formula,
    )
    mean = [pair.imbalance(pair.mean) for pair in PAIRS]
    evidence.exact(
        "$A = T$ on rational Gram matrices",
        is_zero(*mean),
        counterexample=r"$g_Q = 1$, $g_K = 16$: $T = 4$ gives Gram matrices 16 and 1",
        cases=len(PAIRS),
        only=algorithm,
    )
    half = sp.Matrix([[2, 1], [1, 2]])
    inverse, even = balancing.GramPair(half, half.inv() ** 2), balancing.GramPair(half, sp.eye(2))
    evidence.control(
        "of Gram matrices that are inverse to each other (84) is found to give balanced ones",
        is_zero(inverse.imbalance(inverse.formula_84)),
        kind="exact",
        only=formula,
    )
    evidence.control(
        "Gram matrices that are equal are found to stay so under $T$",
        is_zero(even.imbalance(even.mean)),
        kind="exact",
        only=algorithm,
    )
    evidence.proof(
        "for every size: $T$ as constructed solves $TG_QT = G_K$", proves(balancing.prove_mean_solves), on="correction"
    )
    evidence.proof("for every size: $A = T^{1/2}$ balances", proves(balancing.prove_root_balances), on="correction")
    evidence.proof(
        "for every size: so does $T^{1/2}O$", proves(balancing.prove_orthogonal_freedom), on="correction", only=formula
    )
    evidence.proof(
        "for every size: $A = T$ exchanges the Gram matrices",
        proves(balancing.prove_mean_swaps),
        on="correction",
        only=algorithm,
    )
    evidence.exact(
        "$T^{1/2}$ balances all four rational pairs",
        is_zero(*(pair.imbalance(pair.root_of_mean) for pair in PAIRS)),
        on="correction",
        cases=len(PAIRS),
    )
    evidence.exact(
        "(84) is neither $T$ nor $T^{1/2}$",
        balancing.EXAMPLE.formula_84 not in (balancing.EXAMPLE.mean, balancing.EXAMPLE.root_of_mean),
        on="correction",
        only=formula,
    )
    evidence.exact(
        "$A = T$ exchanges all four rational pairs",
        all(pair.after(pair.mean) == (pair.g_k, pair.g_q) for pair in PAIRS),
        on="correction",
        cases=len(PAIRS),
        only=algorithm,
    )


@checks("prop-E.9b")
def test_canonical_form_is_not_unique(evidence: EvidenceLog) -> None:
    w_q, _, v_q, _ = balancing.same_gram_different_weights()
    w_k, v_k = (sp.Matrix.vstack(w[2:, :], w[:2, :]) for w in (w_q, v_q))
    inside = sp.Matrix.hstack(w_q, w_k).rank() == 4  # A6, of the generic stratum
    same = is_zero(w_q * w_k.T - v_q * v_k.T) and is_zero(w_q.T * w_q - w_k.T * w_k, v_q.T * v_q - v_k.T * v_k)
    by_signs = any(is_zero(w_q * sp.diag(a, b) - v_q) for a in (1, -1) for b in (1, -1))
    evidence.exact(
        "two balanced representatives of one function are related by signs or a permutation",
        not (same and inside) or by_signs,
        counterexample=r"$d = 4$: $W_Q = (I_2; 0)$, $W_K = (0; I_2)$, and $W_Q = (O; 0)$, $W_K = (0; O)$ with $O = "
        r"\frac15\begin{pmatrix}3&4\\-4&3\end{pmatrix}$",
    )
    flipped = w_q * sp.diag(1, -1)
    evidence.control(
        "two representatives that do differ by signs are recognised",
        any(is_zero(w_q * sp.diag(a, b) - flipped) for a in (1, -1) for b in (1, -1)),
        kind="exact",
    )
    evidence.proof(
        "for every size: $AO$ balances whenever $A$ does", proves(balancing.prove_orthogonal_freedom), on="correction"
    )
    w_v, o = matrix("W_V", d, d_v), matrix("O", d_v, d_v)
    orthonormal = Facts(orthogonal=(o,), equations=((w_v.T * w_v, sp.Identity(d_v)),))
    evidence.proof(
        r"for every size: $W_VO$ stays orthonormal",
        proves(lambda: prove_equal((w_v * o).T * (w_v * o), sp.Identity(d_v), orthonormal)),
        on="correction",
    )
    p, b, g_k = (matrix(name, d_k, d_k) for name in ("P", "B", "G_K"))
    solves = Facts(symmetric=(p, b, g_k), equations=((b * p * p * b, g_k),))
    evidence.proof(
        r"for every size: $BG_QB = G_K$ gives $(PBP)^2 = PG_KP$ with $P = G_Q^{1/2}$, so the positive $B = "
        r"AA^\top$ is unique and "
        r"$A$ is fixed up to $O(d_k)$",
        proves(lambda: prove_equal((p * b * p) * (p * b * p), p * g_k * p, solves)),
        on="correction",
    )
    grams = [m * m.T for m in (general_matrix(k, k, Random(k)) for k in (1, 2, 3, 4))]
    ranks = [balancing.balance_constraint_rank(gram) for gram in grams]
    evidence.exact(
        "rank of the balance condition at balanced points, $d_k = 1, 2, 3, 4$",
        figures={"rank": equal(ranks, [k * (k + 1) // 2 for k in (1, 2, 3, 4)])},
        on="correction",
        cases=4,
    )
    evidence.exact(
        "left over in a layer with $h = 12$, $d_k = d_v = 64$",
        figures={"dimensions": equal(balancing.kept_and_removed(12, 64, 64)[1], 12 * (64 * 63 // 2 + 64 * 63 // 2))},
        on="correction",
    )


@checks("alg-2-C", "E.9-C")
def test_orthonormal_values(evidence: EvidenceLog) -> None:
    w_v, w_o, r = matrix("W_V", d, d_v), matrix("W_O", d_v, d), matrix("R", d_v, d_v)
    facts = Facts(symmetric=(r,), equations=((w_v.T * w_v, r * r),))  # R is the positive root of W_VᵀW_V, and C = R⁻¹
    evidence.proof(
        r"for every size, with $R^2 = W_V^\top W_V$ and $C = R^{-1}$",
        proves(lambda: prove_equal((w_v * r.I).T * (w_v * r.I), sp.Identity(d_v), facts)),
    )
    evidence.proof("the product $W_VW_O$ is kept", proves(lambda: prove_equal(w_v * r.I * (r.I.I * w_o), w_v * w_o)))
    evidence.control(
        r"$C = (W_V^\top W_V)^{-1}$ in place of its root",
        not proves(lambda: prove_equal((w_v * r.I * r.I).T * (w_v * r.I * r.I), sp.Identity(d_v), facts)),
        kind="proof",
    )


@checks("alg-3")
def test_gradient_projection(evidence: EvidenceLog) -> None:
    weights = sp.Matrix([1]), sp.Matrix([2])
    gradient = sp.Matrix([2]), sp.Matrix([1])
    published = projection.algorithm_3(weights, gradient)
    evidence.exact(
        "the output is orthogonal to the orbit",
        is_zero(projection.pairing(weights, published)),
        counterexample=r"$q = 1$, $k = 2$, $L = \frac12(qk-1)^2$: $\nabla L = (2,1)\perp(1,-2)$ already, but "
        r"Algorithm 3 returns "
        r"$(\frac54,\frac52)$, whose product with $(1,-2)$ is $-\frac{15}4$",
    )
    evidence.proof(
        "for every size: what subtracting the vertical vector of $Z$ does to the inner products with all generators",
        proves(projection.prove_sylvester),
        on="correction",
    )
    evidence.proof(
        "for every size: a true gradient has none", proves(projection.prove_gradient_is_horizontal), on="correction"
    )
    rng = Random(3)
    cases = [
        [(general_matrix(w, k, rng), general_matrix(w, k, rng)) for _ in range(2)] for w, k in ((3, 1), (4, 2), (5, 2))
    ]
    before = [projection.pairing(*case) for case in cases]
    after = [projection.pairing(w, projection.orthogonal_projection(w, u)) for w, u in cases]
    evidence.exact(
        "Sylvester's equation solved exactly on general rational updates", is_zero(*after), on="correction", cases=3
    )
    sizes = [int(any(entry != 0 for entry in m)) for m in before]
    evidence.control(
        "before, those updates are not orthogonal", figures={"updates": at_least(sum(sizes), 3)}, kind="exact"
    )
    orthonormal = sp.Matrix([[1, 0], [0, 1], [0, 0]]), sp.Matrix([[0, 1], [0, 0], [1, 0]])
    update = general_matrix(3, 2, rng), general_matrix(3, 2, rng)
    agree = [
        a - b
        for a, b in zip(
            projection.algorithm_3(orthonormal, update),
            projection.orthogonal_projection(orthonormal, update),
            strict=True,
        )
    ]
    evidence.exact("the two agree for orthonormal $W_Q$, $W_K$", is_zero(*agree), on="correction")
