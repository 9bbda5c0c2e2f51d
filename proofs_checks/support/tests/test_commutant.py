"""The commutant of rotary rotations: class formula against the exact linear solve, in both layouts."""

from fractions import Fraction as F

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_checks.support.algebra.commutant import (
    CirclePoint,
    ExactAngle,
    commutant_basis,
    rope_commutant_dimension,
    rotation_matrix,
    standard_frequencies,
)
from symgauge.errors import InvalidInput, Undecided
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.tangent import random_attention

A, B = CirclePoint(F(3, 5), F(4, 5)), CirclePoint(F(5, 13), F(12, 13))
OPPOSITE, HALF_TURNED = CirclePoint(F(3, 5), F(-4, 5)), CirclePoint(F(-3, 5), F(-4, 5))

TABLE: dict[str, tuple[list[ExactAngle], int, int]] = {
    "distinct": ([A, B], 0, 4),
    "equal": ([A, A], 0, 8),
    "opposite": ([A, OPPOSITE], 0, 8),
    "supplementary": ([A, HALF_TURNED], 0, 4),
    "triple": ([A, OPPOSITE, A], 0, 18),
    "half turn": ([F(1, 2)], 0, 4),
    "two half turns": ([F(1, 2), F(3, 2)], 0, 16),
    "zero": ([0], 0, 4),
    "ω and 0": ([A, 0], 0, 6),
    "ω and two unrotated channels": ([A], 2, 6),
    "0 and one unrotated channel": ([0], 1, 9),
    "quarter and half turn": ([F(1, 4), F(1, 2)], 0, 6),
    "quarter turn": ([F(1, 4)], 0, 2),
    "aliased by a full turn": ([F(1, 7), F(8, 7)], 0, 8),
    "opposite turns": ([F(1, 3), F(2, 3)], 0, 8),
    "thirds and fifths": ([F(1, 3), F(2, 3), F(1, 5)], 1, 11),
    "only unrotated": ([], 3, 9),
}


@pytest.mark.parametrize("layout", ["interleaved", "rotate_half"])
@pytest.mark.parametrize("name", TABLE)
def test_formula_and_exact_solve_agree_with_the_table(name, layout):
    angles, unrotated, expected = TABLE[name]
    assert rope_commutant_dimension(angles, unrotated) == expected
    basis = commutant_basis(angles, unrotated, layout)
    rotation = rotation_matrix(angles, unrotated, layout)
    assert len(basis) == expected
    assert all((element * rotation - rotation * element).is_zero_matrix for element in basis)


turns = st.fractions(min_value=-2, max_value=2, max_denominator=4)


@settings(deadline=None, max_examples=30)
@given(st.lists(turns, min_size=1, max_size=3), st.integers(0, 2), st.sampled_from(["interleaved", "rotate_half"]))
def test_formula_is_the_kernel_dimension(angles, unrotated, layout):
    assert rope_commutant_dimension(angles, unrotated) == len(commutant_basis(angles, unrotated, layout))


def test_layouts_have_different_commutants():
    interleaved, halves = rotation_matrix([A, B]), rotation_matrix([A, B], layout="rotate_half")
    element = next(e for e in commutant_basis([A, B]) if not (e * halves - halves * e).is_zero_matrix)
    assert (element * interleaved - interleaved * element).is_zero_matrix


def test_blocks_are_complex_numbers():
    for element in commutant_basis([A]):
        a = element.to_Matrix()
        assert (a[0, 0], a[0, 1]) == (a[1, 1], -a[1, 0])


@pytest.mark.parametrize("d_k", [4, 16])
def test_standard_rope_has_dimension_d_k(d_k):
    assert rope_commutant_dimension(standard_frequencies(d_k)) == d_k
    assert rope_commutant_dimension(standard_frequencies(d_k), unrotated=3) == d_k + 9


def test_symbolic_turns_are_classified():
    turn = sp.sqrt(2) / (2 * sp.pi)
    assert rope_commutant_dimension([turn, turn + 1]) == 8
    assert rope_commutant_dimension([turn, 3 - turn]) == 8
    assert rope_commutant_dimension([turn, 2 * turn]) == 4
    assert rope_commutant_dimension([turn - turn]) == 4


def test_bad_input_is_named():
    with pytest.raises(InvalidInput, match="must be 1"):
        CirclePoint(F(1, 2), F(1, 2))
    with pytest.raises(InvalidInput, match="layout"):
        commutant_basis([A], layout="sideways")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no channel"):
        commutant_basis([])
    with pytest.raises(InvalidInput, match="exact solve"):
        commutant_basis([sp.sqrt(2)])
    with pytest.raises(InvalidInput, match="even"):
        standard_frequencies(3)
    with pytest.raises(Undecided, match="numerical value"):
        rope_commutant_dimension([sp.Symbol("ω")])


def test_rotary_generators_are_the_commutant():
    angles = [CirclePoint(sp.Rational(3, 5), sp.Rational(4, 5)), CirclePoint(sp.Rational(5, 13), sp.Rational(12, 13))]
    rotation = rotation_matrix(angles).to_Matrix()
    point = random_attention(d=5, d_k=4, d_v=3, groups=(0, 1), rotations=[rotation**p for p in range(4)])
    algebra = [element.to_Matrix() for element in commutant_basis(angles)]
    found = lie.characterise(point, [lie.query_key_generators(point, algebra), lie.value_output_generators(point)])
    assert (found.inside, found.free, found.unexplained) == (True, True, 0)
    everything = lie.characterise(point, [lie.query_key_generators(point)])
    assert not everything.inside  # GL(d_k) is too large under rotary positions
