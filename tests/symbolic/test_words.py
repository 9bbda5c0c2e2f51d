"""The normal form: what it proves, what it must refuse, and that its rules agree with explicit matrices."""

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from symgauge.errors import InvalidInput
from symgauge.symbolic.functions import Entrywise, RowSoftmax, layer_norm, rms_norm
from symgauge.symbolic.identities import d, d_k, matrix, n, ones
from symgauge.symbolic.instances import sample
from symgauge.symbolic.proof import NotProved, NotRefuted, difference_at, evaluate, prove_equal, refute
from symgauge.symbolic.words import Facts

A, B, C = (matrix(name, d, d) for name in "ABC")
X = matrix("X", n, d)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((A * B).T, B.T * A.T),
        ((A * B).I, B.I * A.I),
        (sp.Inverse(sp.MatMul(A, B.T)), B.T.I * A.I),
        (sp.MatPow(sp.MatMul(2 * A, B), -2), sp.Rational(1, 4) * (B.I * A.I) * (B.I * A.I)),
        (A.T.I, A.I.T),
        (A * (B + C), A * C + A * B),
        ((A + B) ** 2, A**2 + A * B + B * A + B**2),
        (A.I * B.I.T * B.T * A, sp.Identity(d)),
        (2 * A - A, A),
        (ones(d).T * sp.Identity(d) * ones(d), d * sp.OneMatrix(1, 1)),
        (sp.OneMatrix(n, d) * sp.OneMatrix(d, n), d * sp.OneMatrix(n, n)),
    ],
)
def test_proves_ring_identities(left, right):
    assert prove_equal(left, right).normal_form


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (A * B, B * A),
        (A.T, A),
        (A.I, A.T),
        ((A * B).I, A.I * B.I),
        (A * B * A.I, B),
        ((A + B) ** 2, A**2 + 2 * A * B + B**2),
        (X * A * X.T, X * A.T * X.T),
        (A + A, A),
    ],
)
def test_refuses_what_is_false_and_an_instance_refutes_it(left, right):
    with pytest.raises(NotProved, match="left − right"):
        prove_equal(left, right)
    values = sample(left.atoms(sp.MatrixSymbol) | right.atoms(sp.MatrixSymbol), Facts(), {n: 2, d: 3}, seed=1)
    assert any(entry != 0 for entry in refute(left, right, values).difference)


def test_facts_are_needed_and_used():
    R, S = matrix("R", d, d), matrix("S", d, d)
    for left, right, facts in [
        (R * R.T, sp.Identity(d), Facts(orthogonal=(R,))),
        (R.I, R.T, Facts(orthogonal=(R,))),
        (R * ones(d), ones(d), Facts(fixing_ones=(R,))),
        (S.T, S, Facts(symmetric=(S,))),
        (R * S, S * R, Facts(commuting=((R, S),))),
        (R * S.I, S.I * R, Facts(commuting=((R, S),))),
        (R * S.T, S.T * R, Facts(commuting=((R, S),), orthogonal=(S,))),
        (R * S * A, A, Facts(equations=((R * S, sp.Identity(d)),))),
        (S.T * R.T, sp.Identity(d), Facts(equations=((R * S, sp.Identity(d)),))),
    ]:
        assert prove_equal(left, right, facts)
        with pytest.raises(NotProved):
            prove_equal(left, right)


def test_a_transpose_does_not_commute_with_a_general_matrix():
    R, S = matrix("R", d, d), matrix("S", d, d)
    with pytest.raises(NotProved):
        prove_equal(R * S.T, S.T * R, Facts(commuting=((R, S),)))


def test_functions_let_through_only_what_they_may():
    P, L, S = matrix("P", d, d), matrix("L", d, d), matrix("S", d, d)
    permutation, positive, signs = Facts(permutation=(P,)), Facts(positive=(L,)), Facts(signs=(S,))
    assert prove_equal(Entrywise("gelu", X * P), Entrywise("gelu", X) * P, permutation)
    assert prove_equal(Entrywise("relu", X * L, "homogeneous"), Entrywise("relu", X, "homogeneous") * L, positive)
    assert prove_equal(Entrywise("tanh", X * S, "odd"), Entrywise("tanh", X, "odd") * S, signs)
    for left, right, facts in [
        (Entrywise("gelu", X * L), Entrywise("gelu", X) * L, positive),
        (Entrywise("relu", X * S, "homogeneous"), Entrywise("relu", X, "homogeneous") * S, signs),
        (Entrywise("tanh", X * L, "odd"), Entrywise("tanh", X, "odd") * L, positive),
        (Entrywise("gelu", X * A), Entrywise("gelu", X) * A, permutation),
        (RowSoftmax(X * L), RowSoftmax(X) * L, positive),
        (layer_norm(X * A), layer_norm(X) * A, Facts(orthogonal=(A,))),
        (rms_norm(X * L), rms_norm(X) * L, positive),
    ]:
        with pytest.raises(NotProved):
            prove_equal(left, right, facts)


def test_softmax_rows_sum_to_one_but_columns_do_not():
    weights, b = RowSoftmax(X * A * X.T), matrix("b", 1, d_k)
    assert prove_equal(weights * ones(n) * b, ones(n) * b)
    with pytest.raises(NotProved):
        prove_equal(ones(n).T * weights, ones(n).T)
    row, column = matrix("r", 1, n), matrix("c", n, 1)
    assert prove_equal(RowSoftmax(X * X.T + column * ones(n).T), RowSoftmax(X * X.T))
    with pytest.raises(NotProved):
        prove_equal(RowSoftmax(X * X.T + ones(n) * row), RowSoftmax(X * X.T))


def test_rectangular_softmax_gives_ones_of_the_right_height():
    weights = RowSoftmax(X)  # n×d
    assert prove_equal(weights * ones(d), ones(n))
    with pytest.raises(NotProved):
        prove_equal(weights * ones(d) * ones(n).T * ones(n), d * ones(n))


def test_evaluate_uses_no_rule():
    values = {A: sp.Matrix([[1, 1], [0, 1]]), B: sp.Matrix([[2, 0], [1, 3]])}
    assert evaluate((A * B).I.T + 2 * A, values) == (values[A] * values[B]).inv().T + 2 * values[A]
    softmax = evaluate(RowSoftmax(A), values)
    assert sp.simplify(sum(softmax.row(0)) - 1) == 0
    assert softmax[0, 0] == sp.Rational(1, 2)


def test_refute_refuses_an_instance_that_agrees():
    symmetric = {A: sp.Matrix([[2, 1], [1, 5]])}
    with pytest.raises(NotRefuted):
        refute(A, A.T, symmetric)
    assert difference_at(A, A.T, {A: sp.Matrix([[2, 1], [0, 5]])}) == sp.Matrix([[0, 1], [-1, 0]])


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (lambda: prove_equal(X, A), "shapes"),
        (lambda: prove_equal((A + B).I, A.I), "products of square symbols"),
        (lambda: prove_equal((X.T * X).I, A), "products of square symbols"),
        (lambda: prove_equal(A, B, Facts(equations=((A + B, C),))), "one product"),
        (lambda: prove_equal(A * B, B, Facts(equations=((A, A * B),))), "for ever"),
        (lambda: evaluate(A * B, {A: sp.eye(2)}), "no value"),
        (lambda: evaluate(A * B, {A: sp.eye(2), B: sp.eye(3)}), "elsewhere"),
        (lambda: Entrywise("f", X, "even"), "kind"),
    ],
)
def test_bad_input_is_named(expression, message):
    with pytest.raises(InvalidInput, match=message):
        expression()


letters = st.sampled_from([A, B, A.T, B.T, A.I, B.I.T])
words = st.lists(letters, min_size=1, max_size=4).map(lambda factors: sp.MatMul(*factors))
sums = st.lists(st.tuples(st.sampled_from([-1, 1, 2]), words), min_size=1, max_size=3).map(
    lambda terms: sp.MatAdd(*(c * w for c, w in terms)) if len(terms) > 1 else terms[0][0] * terms[0][1]
)
VALUES = sample((A, B), Facts(), {d: 3}, seed=5)


@settings(deadline=None, max_examples=150)
@given(sums, sums)
def test_the_prover_agrees_with_explicit_matrices(left, right):
    """Proved exactly when equal on a general instance: sound, and on free words complete."""
    equal = difference_at(left, right, VALUES).is_zero_matrix
    if equal:
        assert prove_equal(left, right)
    else:
        with pytest.raises(NotProved):
            prove_equal(left, right)


@settings(deadline=None, max_examples=100)
@given(sums, sums)
def test_transposition_and_products_of_sums(left, right):
    product = sp.MatMul(left, right)
    assert prove_equal(product.T, sp.MatMul(right.T, left.T))
    assert difference_at(product.T, sp.MatMul(right.T, left.T), VALUES).is_zero_matrix
