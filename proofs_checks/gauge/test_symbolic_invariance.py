"""The gauge action keeps attention: §1, Example A.4, B.1 and its misprint, Remark A.7."""

from __future__ import annotations

import sympy as sp

from proofs_checks.support.algebra.commutant import CirclePoint, rotation_matrix
from proofs_checks.support.symbolic_evidence import is_zero, proves, record_identity
from symgauge.claims import EvidenceLog, checks
from symgauge.symbolic.functions import RowSoftmax
from symgauge.symbolic.identities import d, d_k, d_v, matrix, n
from symgauge.symbolic.proof import prove_equal, refute
from symgauge.symbolic.words import Facts

X, W_Q, W_K = matrix("X", n, d), matrix("W_Q", d, d_k), matrix("W_K", d, d_k)
A = matrix("A", d_k, d_k)
SHEAR = sp.Matrix([[1, 1], [0, 1]])


@checks("intro-1")
def test_products_are_all_that_is_seen(evidence: EvidenceLog) -> None:
    w_v, w_o = matrix("W_V", d, d_v), matrix("W_O", d_v, d)
    m, product = matrix("M", d, d), matrix("N", d, d)
    facts = Facts(equations=((W_Q * W_K.T, m), (w_v * w_o, product)))
    head = RowSoftmax((X * W_Q) * (X * W_K).T / sp.sqrt(d_k)) * (X * w_v) * w_o
    through_products = RowSoftmax(X * m * X.T / sp.sqrt(d_k)) * X * product
    evidence.proof(
        "a head, for every size, is a function of $X$, $M = W_QW_K^\\top$ and $N = W_VW_O$ alone",
        proves(lambda: prove_equal(head, through_products, facts)),
    )
    # Two factorisations of one M that no A relates as they stand would show up here: with rotary positions they do.
    rotation = rotation_matrix([CirclePoint(sp.Rational(3, 5), sp.Rational(4, 5))]).to_Matrix()
    q, k = sp.Matrix([[1, 2], [3, 5]]), sp.Matrix([[2, 1], [1, 1]])
    other_q, other_k = q * SHEAR, k * SHEAR.inv().T
    evidence.exact("two factorisations of one $M$ give one matrix of scores", is_zero(q * k.T - other_q * other_k.T))
    moved = q * rotation * k.T - other_q * rotation * other_k.T
    evidence.control(
        "with a rotation between them the same two factorisations differ", not is_zero(moved), kind="exact"
    )


@checks("intro-2")
def test_the_two_actions(evidence: EvidenceLog) -> None:
    record_identity(evidence, "query_key")
    record_identity(evidence, "value_output")


@checks("eq-20..22")
def test_the_published_chain(evidence: EvidenceLog) -> None:
    plain = X * W_Q * W_K.T * X.T
    published = X * W_Q * A * A.I.T * W_K.T * X.T
    values = {X: sp.eye(2), W_Q: sp.eye(2), W_K: sp.eye(2), A: SHEAR}
    gap = refute(published, plain, values).difference
    evidence.exact(
        "the published middle step on an explicit instance",
        is_zero(gap),
        counterexample=r"$X = W_Q = W_K = I_2$, $A = \begin{pmatrix}1&1\\0&1\end{pmatrix}$: "
        r"$A(A^{-1})^\top = \begin{pmatrix}0&1\\-1&1\end{pmatrix}$",
    )
    evidence.exact("that matrix", sp.Matrix([[0, 1], [-1, 1]]) == SHEAR * SHEAR.inv().T, on="correction")
    evidence.control(
        "the published chain has no proof", not proves(lambda: prove_equal(published, plain)), kind="proof"
    )
    corrected = (X * W_Q * A) * (X * W_K * A.I.T).T
    evidence.proof(
        "the chain with the transpose, for every size", proves(lambda: prove_equal(corrected, plain)), on="correction"
    )
    symmetric = Facts(symmetric=(A,))
    evidence.proof(
        "the published chain for symmetric $A$",
        proves(lambda: prove_equal(published, plain, symmetric)),
        on="correction",
    )


@checks("eq-23", "rem-A.7-3")
def test_scores_and_their_scale(evidence: EvidenceLog) -> None:
    record_identity(evidence, "query_key", only="eq-23")
    scale = "rem-A.7-3"
    one = RowSoftmax(X * W_Q * (X * W_K).T)
    moved = RowSoftmax(X * W_Q * A * (X * W_K * A.I.T).T)
    evidence.proof(
        "the softmax distribution is kept only with the scale $1/\\sqrt{d_k}$",
        not proves(lambda: prove_equal(one, moved)),
        counterexample=r"scale $c = 1$: proved unchanged for every size",
        only=scale,
    )
    record_identity(evidence, "scaled_softmax", on="correction", only=scale)


@checks("eq-24..26")
def test_value_output(evidence: EvidenceLog) -> None:
    record_identity(evidence, "value_output")


@checks("eq-33..36")
def test_flows(evidence: EvidenceLog) -> None:
    w_v, w_o = matrix("W_V", d, d_v), matrix("W_O", d_v, d)
    e, f = matrix("E", d_k, d_k), matrix("F", d_v, d_v)  # e^{tX} and e^{tY}, whose inverses are e^{−tX}, e^{−tY}
    evidence.proof(
        "for every size, with $E = e^{tX}$, $e^{-tX^\\top} = (E^{-1})^\\top$",
        proves(lambda: prove_equal((X * W_Q * e) * (X * W_K * e.I.T).T, X * W_Q * W_K.T * X.T))
        and proves(lambda: prove_equal(X * w_v * f * f.I * w_o, X * w_v * w_o)),
    )
    t = sp.Symbol("t", real=True)
    generator = sp.Matrix([[1, 2], [0, 3]])
    forward, backward = (t * generator).exp(), (-t * generator.T).exp()
    q, k = sp.Matrix([[1, 2], [3, 5], [0, 1]]), sp.Matrix([[2, 1], [1, 1], [4, 0]])
    product = (q * forward * (k * backward).T).applyfunc(sp.simplify)
    evidence.exact("a non-symmetric generator, $t$ symbolic, $d = 3$, $d_k = 2$", product == q * k.T)
    wrong = (q * forward * (k * (-t * generator).exp()).T).applyfunc(sp.simplify)
    evidence.control("$e^{-tX}$ in place of $e^{-tX^\\top}$", wrong != q * k.T, kind="exact")


@checks("ex-A.4")
def test_worked_example(evidence: EvidenceLog) -> None:
    w_q, w_k, a = sp.eye(2), sp.Matrix([[2, 1], [1, 3]]), sp.Matrix([[2, 1], [0, 1]])
    half = sp.Rational(1, 2)
    moved_q, moved_k = w_q * a, w_k * a.inv().T
    evidence.exact("the inverse as published", a.inv() == sp.Matrix([[half, -half], [0, 1]]))
    evidence.exact("(17) and (18)", (moved_q, moved_k) == (a, sp.Matrix([[half, 1], [-1, 3]])))
    evidence.exact("(19): the product is kept", moved_q * moved_k.T == w_q * w_k.T)
    wrong = moved_q * (w_k * a.inv()).T
    evidence.control("$A^{-1}$ in place of $A^{-\\top}$", wrong != w_q * w_k.T, kind="exact")


@checks("B.7-inv")
def test_shared_groups(evidence: EvidenceLog) -> None:
    record_identity(evidence, "shared_group")
