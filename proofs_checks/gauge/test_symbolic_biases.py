"""Proposition A.2 and (10)–(16), what invariance of the biased bilinear form forces; and what A3 leaves free."""

from __future__ import annotations

from random import Random

import sympy as sp

from proofs_checks.support.poles import prove_factors, prove_poles
from proofs_checks.support.symbolic_evidence import is_zero, proves, record_identity
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.symbolic.functions import RowSoftmax
from symgauge.symbolic.identities import d, d_k, identity, matrix, n, ones
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.tangent import first_order_kernel, random_attention
from symgauge.symbolic.words import Facts

X, W_Q, W_K, A = matrix("X", n, d), matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("A", d_k, d_k)
b_Q, b_K, new_Q, new_K = (matrix(name, 1, d_k) for name in ("b_Q", "b_K", "b_Q'", "b_K'"))
Equation = tuple[sp.MatrixExpr, sp.MatrixExpr]
ONE = ones(n)
INVERSE = matrix("W_K⁺", d_k, d)  # a left inverse of W_K


@checks("eq-10..11", "eq-12..14", "eq-15..16")
def test_biased_bilinear_form(evidence: EvidenceLog) -> None:
    expansion, conditions, solutions = "eq-10..11", "eq-12..14", "eq-15..16"
    moved = (X * W_Q * A + ONE * new_Q) * (X * W_K * A.I.T + ONE * new_K).T
    expanded = (
        X * W_Q * W_K.T * X.T
        + X * W_Q * A * new_K.T * ONE.T
        + ONE * new_Q * A.I * W_K.T * X.T
        + ONE * new_Q * new_K.T * ONE.T
    )
    evidence.proof(
        "for every size: the product expands into these four terms",
        proves(lambda: prove_equal(moved, expanded)),
        only=expansion,
    )
    missing = expanded - ONE * new_Q * new_K.T * ONE.T
    evidence.control("a term left out", not proves(lambda: prove_equal(moved, missing)), kind="proof", only=expansion)

    original = (X * W_Q + ONE * b_Q) * (X * W_K + ONE * b_K).T
    three = Facts(
        equations=(
            (W_Q * A * new_K.T, W_Q * b_K.T),
            (new_Q * A.I * W_K.T, b_Q * W_K.T),
            (new_Q * new_K.T, b_Q * b_K.T),
        ),
    )
    evidence.proof(
        "the three conditions give equal scores, for every size",
        proves(lambda: prove_equal(moved, original, three)),
        only=conditions,
    )
    evidence.proof(
        "and they are necessary: they are the coefficients of the score as a polynomial in the two tokens ($d = "
        "d_k = 2$, symbolic)",
        separate_coefficients(),
        only=conditions,
    )
    two = Facts(equations=three.equations[:2])
    evidence.control(
        "two of them do not", not proves(lambda: prove_equal(moved, original, two)), kind="proof", only=conditions
    )
    second = Facts(equations=three.equations[1:2])
    evidence.control(
        "under softmax the second alone does",
        proves(lambda: prove_equal(RowSoftmax(moved), RowSoftmax(original), second))
        and not proves(lambda: prove_equal(moved, original, second)),
        kind="proof",
        only=conditions,
    )

    record_identity(evidence, "covariant_biases", only=solutions)
    evidence.proof(
        r"the second condition forces $b_Q' = b_QA$: $b_Q'A^{-1}W_K^\top (W_K^+)^\top A$ in two ways",
        query_bias_is_forced(),
        only=solutions,
    )
    evidence.proof(
        r"the first forces $b_K' = b_KA^{-\top}$: $A^{-1}W_Q^+W_QAb_K^{\prime\top}$ in two ways",
        key_bias_is_forced(),
        only=solutions,
    )
    thin = sp.Matrix([[1, 0], [2, 0], [0, 0]])  # W_Q with a zero column, A = I
    evidence.control(
        "where $W_Q$ has a zero column, the first leaves an entry of $b_K'$ free",
        is_zero(thin * sp.Matrix([0, 5])),
        kind="exact",
        only=solutions,
    )
    third = proves(lambda: prove_equal((b_Q * A) * (b_K * A.I.T).T, b_Q * b_K.T))
    evidence.proof("the third condition is automatic", third, only=solutions)


def separate_coefficients() -> bool:
    """(x_t W_Q A + b_Q')(x_s W_K A⁻ᵀ + b_K')ᵀ less the original, collected by powers of x_t and x_s."""
    a, q, k = (sp.Matrix(2, 2, sp.symbols(f"{name}0:4")) for name in "aqk")
    old_q, old_k, fresh_q, fresh_k, x_t, x_s = (
        sp.Matrix(1, 2, sp.symbols(f"{name}0:2")) for name in ("u", "v", "r", "s", "x", "y")
    )
    inverse = a.adjugate() / a.det()
    gap = (x_t * q * a + fresh_q) * (x_s * k * inverse.T + fresh_k).T - (x_t * q + old_q) * (x_s * k + old_k).T
    polynomial = sp.Poly(sp.together(sp.expand(gap[0]) * a.det()).cancel(), *x_t, *x_s)
    left = a.det() * (q * a * fresh_k.T - q * old_k.T)
    right = a.det() * (fresh_q * inverse * k.T - old_q * k.T)
    constant = a.det() * (fresh_q * fresh_k.T - old_q * old_k.T)[0]
    expected = {
        (1, 0, 0, 0): left[0],
        (0, 1, 0, 0): left[1],
        (0, 0, 1, 0): right[0],
        (0, 0, 0, 1): right[1],
        (0, 0, 0, 0): constant,
    }
    found = dict(polynomial.terms())
    return found.keys() == expected.keys() and all(sp.cancel(found[m] - expected[m]) == 0 for m in expected)


def bias_freedom(w_q: sp.Matrix, w_k: sp.Matrix, b_q: sp.Matrix, b_k: sp.Matrix, tokens: int, softmax: bool) -> int:
    """Dimension of the changes of (b_Q, b_K) that leave the scores of random inputs as they are, to first order.

    ``softmax``: up to a constant along the keys, which softmax does not see. w_q, w_k: (d, d_k); b_q, b_k: (1, d_k).
    """
    rng, rows = Random(tokens), []
    for _ in range(w_q.rows + 1):
        x = sp.Matrix(tokens, w_q.rows, lambda i, j: rng.randint(-9, 9))
        queries, keys = x * w_q + sp.ones(tokens, 1) * b_q, x * w_k + sp.ones(tokens, 1) * b_k
        for t in range(tokens):
            slopes = sp.Matrix.vstack(*(sp.Matrix.hstack(keys.row(s), queries.row(t)) for s in range(tokens)))
            rows.append(slopes - sp.ones(tokens) * slopes / tokens if softmax else slopes)
    return 2 * w_q.cols - sp.Matrix.vstack(*rows).rank()


@checks("prop-A.2")
def test_raw_scores_force_the_biases(evidence: EvidenceLog) -> None:
    record_identity(evidence, "covariant_biases")
    evidence.proof(
        "the score of two tokens is a polynomial in them; its coefficients give the conditions (12)–(14) ($d = d_k = "
        "2$, symbolic)",
        separate_coefficients(),
    )
    evidence.proof(
        r"for every size: of full column rank, $W_K$ turns (13) into $b_Q' = b_QA$, and $W_Q$ turns (12) into $b_K' = "
        r"b_KA^{-\top}$",
        query_bias_is_forced() and key_bias_is_forced(),
    )
    rng = Random(2)
    sizes = ((3, 2), (4, 4), (5, 1))
    points = [[general_matrix(*shape, rng) for shape in ((w, k), (w, k), (1, k), (1, k))] for w, k in sizes]
    evidence.exact(
        "dimension of the changes of both biases that leave the scores as they are, two tokens",
        figures={
            "(d, d_k)": [list(s) for s in sizes],
            "freedom": equal([bias_freedom(*p, tokens=2, softmax=False) for p in points], [0] * len(sizes)),
        },
        cases=len(sizes),
    )
    evidence.control(
        "the same after softmax, three tokens: $b_K$ is free",
        kind="exact",
        figures={
            "freedom": equal([bias_freedom(*p, tokens=3, softmax=True) for p in points], [k for _, k in sizes]),
        },
    )
    w_q, w_k, b_q, b_k = points[1]
    lost = [sp.Matrix.hstack(m[:, :-1], sp.zeros(m.rows, 1)) for m in (w_k, b_k)]
    evidence.control(
        "$W_K$ with a zero column",
        kind="exact",
        figures={"freedom": at_least(bias_freedom(w_q, lost[0], b_q, lost[1], tokens=2, softmax=False), 1)},
    )
    evidence.control(
        "a single token, $d<2d_k$",
        kind="exact",
        figures={"freedom": at_least(bias_freedom(*points[1], tokens=1, softmax=False), 1)},
    )


def query_bias_is_forced() -> bool:
    """(13) times a right inverse of W_Kᵀ, and A: b_Q'A⁻¹W_Kᵀ(W_K⁺)ᵀA is b_Q', and it is b_QA."""
    before, after = new_Q * A.I * W_K.T, b_Q * W_K.T
    return follows(before * INVERSE.T * A, after * INVERSE.T * A, (before, after), INVERSE * W_K, new_Q, b_Q * A)


def key_bias_is_forced() -> bool:
    """(12) behind a left inverse of W_Q, and A⁻¹: A⁻¹W_Q⁺W_QAb_K'ᵀ is b_K'ᵀ, and it is A⁻¹b_Kᵀ."""
    inverse = matrix("W_Q⁺", d_k, d)
    before, after = W_Q * A * new_K.T, W_Q * b_K.T
    left = A.I * inverse
    return follows(left * before, left * after, (before, after), inverse * W_Q, new_K.T, A.I * b_K.T)


def follows(
    before: sp.MatrixExpr, after: sp.MatrixExpr, condition: Equation, full_rank: sp.MatrixExpr, *ends: sp.MatrixExpr
) -> bool:
    """Whether the condition makes two words equal which, as ``full_rank`` = I, are the two ``ends``."""
    by_rank = Facts(equations=((full_rank, sp.Identity(d_k)),))
    return (
        proves(lambda: prove_equal(before, after, Facts(equations=(condition,))))
        and proves(lambda: prove_equal(before, ends[0], by_rank))
        and proves(lambda: prove_equal(after, ends[1], by_rank))
    )


@checks("tab1-A3")
def test_free_biases(evidence: EvidenceLog) -> None:
    x = sp.Matrix([[2], [-1], [3]])
    q, k, shifted = x, x, x + sp.ones(3, 1)
    change = q * shifted.T - q * k.T
    evidence.exact(
        "with biases that transform covariantly, equal layers differ by an element of $G_{\\max}$",
        not is_zero(change - q * sp.ones(1, 3)),
        counterexample=r"$d = d_k = 1$, $W_Q = W_K = 1$, $b_Q = 0$: $b_K = 0$ and $b_K = 1$ give scores $x_ix_j$ "
        r"and $x_ix_j+x_i$, equal after softmax; $b_K\mapsto b_KA^{-\top}$ does not take 0 to 1",
    )
    identities = [identity(name) for name in ("key_bias", "value_bias")]
    evidence.proof(
        "for every size: a shift of $b_K$, or of $b_V$ against $b_O$, changes the layer",
        not all(proves(each.prove) for each in identities),
        counterexample=r"any $b_K$, and $(b_V+t, b_O-tW_O)$ for any $t$, at every parameter point",
    )
    for each in identities:
        evidence.control(f"no proof with {each.how_broken}", not proves(each.prove_broken), kind="proof")
    evidence.proof(
        r"without biases, for every size: poles give the multiset of $(M_i,N_i)$, full ranks give $A_i$ and $C_i$",
        prove_poles() and prove_factors(),
        on="condition",
    )
    sizes = ((5, 3, 2, 2), (4, 2, 3, 3))
    plain, biased = (
        [
            first_order_kernel(random_attention(d=w, d_k=a, d_v=b, groups=range(heads), biases=biases)).dimension
            for w, a, b, heads in sizes
        ]
        for biases in ("", "qkvo")
    )
    group = [heads * (a**2 + b**2) for _, a, b, heads in sizes]
    evidence.exact(
        "first-order kernels without biases: $h(d_k^2+d_v^2)$",
        on="condition",
        figures={"kernel": equal(plain, group)},
        cases=len(sizes),
    )
    extra = [heads * (a + b) for _, a, b, heads in sizes]
    evidence.control(
        "with all four biases there are $h(d_k+d_v)$ more",
        kind="exact",
        figures={"more": equal([b - a for a, b in zip(group, biased, strict=True)], extra)},
    )
