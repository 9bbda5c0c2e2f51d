"""Proposition A.2's equations (10)–(16): the biased bilinear form and what its invariance forces."""

from __future__ import annotations

import sympy as sp

from proofs_checks.support.symbolic_evidence import is_zero, proves, record_identity
from symgauge.claims import EvidenceLog, checks, equal
from symgauge.symbolic.functions import RowSoftmax
from symgauge.symbolic.identities import d, d_k, matrix, n, ones
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.tangent import first_order_kernel, random_attention
from symgauge.symbolic.words import Facts

X, W_Q, W_K, A = matrix("X", n, d), matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("A", d_k, d_k)
b_Q, b_K, new_Q, new_K = (matrix(name, 1, d_k) for name in ("b_Q", "b_K", "b_Q'", "b_K'"))
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
    evidence.proof("for every size", proves(lambda: prove_equal(moved, expanded)), only=expansion)
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
    product = new_Q * A.I * W_K.T * INVERSE.T * A
    by_rank = Facts(equations=((INVERSE * W_K, sp.Identity(d_k)),))
    by_condition = Facts(equations=((new_Q * A.I * W_K.T, b_Q * W_K.T), (INVERSE * W_K, sp.Identity(d_k))))
    unique = proves(lambda: prove_equal(product, new_Q, by_rank)) and proves(
        lambda: prove_equal(product, b_Q * A, by_condition)
    )
    evidence.proof(
        r"the second condition forces $b_Q' = b_QA$: $b_Q'A^{-1}W_K^\top (W_K^+)^\top A$ in two ways",
        unique,
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


@checks("tab1-A3")
def test_free_biases(evidence: EvidenceLog) -> None:
    x = sp.Matrix([[2], [-1], [3]])
    q, k, shifted = x, x, x + sp.ones(3, 1)
    change = q * shifted.T - q * k.T
    evidence.exact(
        "a key bias alone changes more than a constant per row of the scores",
        not is_zero(change - q * sp.ones(1, 3)),
        counterexample=r"$d = d_k = 1$, $W_Q = W_K = 1$, $b_Q = 0$: $b_K = 0$ and $b_K = 1$ give scores $x_ix_j$ "
        r"and $x_ix_j+x_i$, equal after softmax",
    )
    for name in ("key_bias", "value_bias"):
        record_identity(evidence, name, on="correction")
    sizes = ((5, 3, 2, 2), (4, 2, 3, 3))
    kernels = [
        [
            first_order_kernel(random_attention(d=w, d_k=a, d_v=b, groups=range(heads), biases=biases)).dimension
            for biases in ("", "qkvo")
        ]
        for w, a, b, heads in sizes
    ]
    evidence.exact(
        "exact first-order kernels with and without biases",
        on="correction",
        figures={"extra": equal([b - a for a, b in kernels], [heads * (a + b) for _, a, b, heads in sizes])},
        cases=len(sizes),
    )
