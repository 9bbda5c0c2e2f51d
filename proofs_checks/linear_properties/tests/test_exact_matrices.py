"""Exact matrices against SymPy, over the rationals and finite fields; empty shapes and bad moduli."""

from __future__ import annotations

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from proofs_checks.linear_properties.exact_matrices import RATIONALS, Field, Matrix
from symgauge.errors import InvalidInput

ROWS = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(st.integers(-3, 3), min_size=width, max_size=width), min_size=1, max_size=4)
)


@given(rows=ROWS)
def test_rank_span_and_annihilator_agree_with_sympy(rows) -> None:
    ours, theirs = RATIONALS.matrix(rows), sp.Matrix(rows)
    assert ours.rank == theirs.rank() == ours.span.shape[0]
    assert tuple(ours.pivot_columns) == theirs.rref()[1]
    kernel = ours.annihilator()
    assert kernel.shape[0] == len(theirs.nullspace()) == kernel.rank
    assert (ours @ kernel.T).is_zero
    assert ours.span.contains(ours)


@given(rows=ROWS, prime=st.sampled_from([2, 3, 10_007]))
def test_finite_fields_agree_with_sympy(rows, prime) -> None:
    ours = Field(prime).matrix(rows)
    reduced = sp.polys.matrices.DomainMatrix.from_Matrix(sp.Matrix(rows)).convert_to(sp.GF(prime))
    assert ours.rank == len(reduced.to_field().rref()[1])
    assert (ours @ ours.annihilator().T).is_zero


@given(rows=ROWS)
def test_solve_finds_a_solution_or_there_is_none(rows) -> None:
    a = RATIONALS.matrix(rows)
    right = RATIONALS.matrix([[i * i + 1] for i in range(a.shape[0])])
    found = a.solve(right)
    assert (found is not None) == (a.beside(right).rank == a.rank)
    assert found is None or a @ found == right


def test_a_projector_is_symmetric_idempotent_and_keeps_its_space() -> None:
    space = RATIONALS.matrix([[1, 2, 0], [0, 1, -1]])
    p = space.projector()
    assert p == p.T == p @ p
    assert space @ p == space
    assert RATIONALS.matrix([], 3).projector().is_zero


def test_an_isotropic_space_has_no_projector() -> None:
    with pytest.raises(InvalidInput, match=r"over GF\(5\).*orthogonal"):
        Field(5).matrix([[1, 2]]).projector()


def test_fractions_and_residues() -> None:
    assert Field(7).matrix([["1/2"]]).table == [[4]]
    assert repr(RATIONALS.matrix([["1/2", 3]])) == "[1/2 3]"
    assert RATIONALS.matrix([[1]]) != Field(7).matrix([[1]])
    assert len({RATIONALS.matrix([[1]]), RATIONALS.matrix([[1]])}) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Field(6), "needs a prime below"),
        (lambda: Field(1), "needs a prime below"),
        (lambda: Field(7).matrix([["1/7"]]), "no value modulo 7"),
        (lambda: RATIONALS.matrix([[1], [1, 2]]), "one length"),
        (lambda: RATIONALS.matrix([]), "needs its width"),
        (lambda: RATIONALS.matrix([[1, 2]]) @ RATIONALS.matrix([[1, 2]]), "cannot multiply"),
        (lambda: RATIONALS.matrix([[1]]) + Field(7).matrix([[1]]), "cannot add"),
        (lambda: RATIONALS.matrix([[1, 2], [2, 4]]).inverse(), "rank 1 has no inverse"),
    ],
)
def test_bad_matrices_are_refused_in_a_sentence(make, message) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


def test_shapes_without_rows_or_columns() -> None:
    empty = RATIONALS.zeros(0, 3)
    assert (empty.rank, empty.span.shape, empty.annihilator().rank) == (0, (0, 3), 3)
    assert RATIONALS.zeros(2, 0).beside(RATIONALS.ones(2)).shape == (2, 1)
    assert (RATIONALS.zeros(2, 0) @ RATIONALS.zeros(0, 3)).is_zero
    assert isinstance(RATIONALS.identity(0).inverse(), Matrix)
