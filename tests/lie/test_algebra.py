"""Structure constants, the Jacobi identity, and subspaces that are known."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from symgauge.errors import InvalidInput
from symgauge.lie import JacobiError, LieAlgebra, Subspace, from_matrices
from symgauge.lie import classical as c
from symgauge.lie.signature import signature
from tests.lie.cases import CASES
from tests.lie.constructions import scrambled

SL3 = from_matrices(c.sl(3))


@pytest.mark.parametrize("pair", list(SL3.constants), ids=str)
def test_one_wrong_constant_is_noticed(pair):
    k = next(iter(SL3.constants[pair]))
    wrong = SL3.constants | {pair: SL3.constants[pair] | {k: SL3.constants[pair][k] + Fraction(1, 3)}}
    with pytest.raises(JacobiError, match="the Jacobi identity fails") as caught:
        LieAlgebra(wrong, 8)
    assert isinstance(caught.value, ValueError)
    i, j, k = caught.value.triple
    assert jacobi_sum(wrong, i, j, k)


def jacobi_sum(constants, i, j, k):
    def bracket(x, y):
        total: dict[int, Fraction] = {}
        for a, u in x.items():
            for b, v in y.items():
                sign = 1 if a < b else -1
                for m, w in constants.get((min(a, b), max(a, b)), {}).items():
                    total[m] = total.get(m, 0) + sign * u * v * w
        return total

    total: dict[int, Fraction] = {}
    for a, b, d in ((i, j, k), (j, k, i), (k, i, j)):
        for m, v in bracket(bracket({a: 1}, {b: 1}), {d: 1}).items():
            total[m] = total.get(m, 0) + v
    return any(total.values())


@pytest.mark.parametrize("constants", [{(1, 0): {0: 1}}, {(0, 0): {1: 1}}, {(0, 1): {2: 1}}, {(0, 2): {0: 1}}], ids=str)
def test_indices_out_of_range_are_refused(constants):
    with pytest.raises(InvalidInput, match="expected 0 ≤ i < j < 2"):
        LieAlgebra(constants, 2)


@pytest.mark.parametrize(
    ("matrices", "words"),
    [
        ([[[0, 1], [0, 0]], [[0, 0], [1, 0]]], "the commutator of matrices 0 and 1"),
        ([[[1, 0], [0, 1]], [[2, 0], [0, 2]]], "only 1 of the 2 matrices are linearly independent"),
        ([[[1, 0]]], "square"),
        ([[[1]], [[1, 0], [0, 1]]], "square"),
        ([[[0.5, 0], [0, 1]], [[0, 1.5], [0, 0]]], "integers, not 0.5"),
        ([[[None]]], "integers, not None"),
    ],
)
def test_matrices_that_span_no_algebra_are_refused(matrices, words):
    with pytest.raises(InvalidInput, match=words):
        from_matrices(matrices)


@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "scrambled"])
@pytest.mark.parametrize(
    ("case", "centre", "derived", "radical", "nilradical", "derived_series", "central_series"),
    [
        ("gl(3)", 1, 8, 1, 1, [9, 8], [9, 8]),
        ("so(4)", 0, 6, 0, 0, [6], [6]),
        ("aff(2)", 0, 5, 3, 2, [6, 5], [6, 5]),
        ("Poincaré", 0, 10, 4, 4, [10], [10]),
        ("Heisenberg", 1, 1, 5, 5, [5, 1, 0], [5, 1, 0]),
        ("upper triangular", 1, 3, 6, 4, [6, 3, 1, 0], [6, 3]),
        ("strictly upper triangular", 1, 3, 6, 6, [6, 3, 0], [6, 3, 1, 0]),
        ("block triangular", 1, 17, 8, 7, [19, 17], [19, 17]),
    ],
)
def test_subspaces(hidden, case, centre, derived, radical, nilradical, derived_series, central_series):
    g = from_matrices(CASES[case][0])
    g = scrambled(g, seed=3) if hidden else g
    assert g.centre().dimension == centre
    assert g.derived().dimension == derived
    assert g.radical().dimension == radical
    assert g.nilradical().dimension == nilradical
    assert [u.dimension for u in g.derived_series()] == derived_series
    assert [u.dimension for u in g.lower_central_series()] == central_series
    assert g.product(g.whole(), g.nilradical()) <= g.nilradical()


@pytest.mark.parametrize(
    ("case", "kinds"),
    [
        ("so(2)", "abelian solvable nilpotent reductive"),
        ("Heisenberg", "solvable nilpotent"),
        ("aff(1)", "solvable"),
        ("gl(3)", "reductive"),
        ("so(4)", "semisimple reductive"),
        ("aff(2)", ""),
    ],
)
def test_kinds(case, kinds):
    g = from_matrices(CASES[case][0])
    all_kinds = ("abelian", "solvable", "nilpotent", "semisimple", "reductive")
    assert [kind for kind in all_kinds if getattr(g, f"is_{kind}")] == kinds.split()


def test_killing_form_of_rescaled_sl2():
    """h, e, f with [h, e] = 2e, [h, f] = −2f, [e, f] = h: κ(h, h) = 8, κ(e, f) = 4; here e is halved."""
    g = LieAlgebra({(0, 1): {1: 2}, (0, 2): {2: -2}, (1, 2): {0: Fraction(1, 2)}}, 3)
    assert g.killing_form() == [[8, 0, 0], [0, 0, 2], [0, 2, 0]]


@pytest.mark.parametrize("case", CASES)
def test_ideals_are_ideals_and_sum_up(case):
    g = scrambled(from_matrices(CASES[case][0]), seed=1)
    spaces = [ideal.space for ideal in g.ideals()]
    assert all(g.product(g.whole(), u) <= u for u in spaces)
    assert sum(u.dimension for u in spaces) == g.dimension
    assert Subspace.spanned_by((row for u in spaces for row in u.rows), g.dimension) == g.whole()
    for ideal in g.ideals():
        assert ideal.algebra.constants == g.subalgebra(ideal.space).constants


def test_subalgebra_and_quotient():
    g = from_matrices(c.affine(c.gl(3)))
    assert g.quotient(g.nilradical()).name == "gl(3)"
    assert (
        g.quotient(g.radical()).name
        == g.subalgebra(
            Subspace.spanned_by(
                (
                    {i * 3 + j: 1} if i != j else {i * 4: 1, 8: -1}
                    for i in range(3)
                    for j in range(3)
                    if (i, j) != (2, 2)
                ),
                12,
            )
        ).name
        == "sl(3, ℝ)"
    )
    with pytest.raises(InvalidInput, match="lies outside"):
        g.subalgebra(Subspace.spanned_by([{1: 1}, {3: 1}], 12))
    with pytest.raises(InvalidInput, match="not an ideal"):
        g.quotient(Subspace.spanned_by([{1: 1}], 12))


rows = st.lists(st.lists(st.integers(-3, 3), min_size=5, max_size=5), max_size=6)


def space(vectors):
    return Subspace.spanned_by((dict(enumerate(v)) for v in vectors), 5)


@given(rows, rows)
def test_subspaces_are_a_modular_lattice(first, second):
    u, v = space(first), space(second)
    assert u.dimension + v.dimension == (u + v).dimension + (u & v).dimension
    assert (u & v) <= u <= (u + v)
    assert (u & v).complement_in(u).dimension == u.dimension - (u & v).dimension
    solutions = Subspace.solving(u.rows, 5)
    assert solutions.dimension == 5 - u.dimension
    assert all(sum(a * x.get(i, 0) for i, a in row.items()) == 0 for row in u.rows for x in solutions.rows)


@given(st.lists(st.integers(-3, 3), min_size=4, max_size=4), st.lists(st.integers(-3, 3), min_size=6, max_size=6))
def test_signature_is_that_of_the_diagonal(diagonal, lower):
    """Sylvester: L D Lᵀ with ones on the diagonal of L has the signs of D."""
    below = iter(lower)
    left = fmpz_mat([[1 if i == j else next(below) if j < i else 0 for j in range(4)] for i in range(4)])
    middle = fmpz_mat([[d if i == j else 0 for j in range(4)] for i, d in enumerate(diagonal)])
    signs = tuple(sum(test(d) for d in diagonal) for test in ((0).__lt__, (0).__gt__, (0).__eq__))
    assert tuple(signature(left * middle * left.transpose())) == signs
