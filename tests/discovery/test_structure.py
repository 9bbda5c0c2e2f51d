"""Brackets and structure constants of affine fields, by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from symgauge.discovery.fields import Fields
from symgauge.discovery.lifting import fraction
from symgauge.discovery.structure import closed, rescaled
from symgauge.discovery.translations import Modulo

NOTHING = np.zeros(0, dtype=np.int64)
FREE = Modulo(Fields(2, NOTHING, NOTHING, np.zeros((0, 0), dtype=np.int64)))


def linear(*matrices: list[list[int]]) -> Fields:
    """Fields x ↦ Mx on the plane."""
    rows, columns = np.array([0, 0, 1, 1]), np.array([1, 2, 1, 2])
    return Fields(2, rows, columns, np.array([np.ravel(m) for m in matrices], dtype=np.int64))


E12, E21, H = [[0, 1], [0, 0]], [[0, 0], [1, 0]], [[1, 0], [0, -1]]


def test_the_bracket_is_that_of_vector_fields() -> None:
    """[X, Y] = (DY)X − (DX)Y: of x ↦ Ax and x ↦ Bx it is x ↦ (BA − AB)x."""
    fields, constants = closed(linear(E12, E21, H), FREE)
    assert fields.count == 3
    assert constants == {(0, 1): {2: -1}, (0, 2): {0: 2}, (1, 2): {1: -2}}


def test_brackets_that_lead_out_are_taken_in() -> None:
    fields, constants = closed(linear(E12, E21), FREE)
    assert fields.count == 3
    assert constants[0, 1]


def test_constants_follow_the_scale_of_the_basis() -> None:
    """Representatives that are read may be multiples of those that classes are told apart by."""
    plain, factors = linear(E12, E21, H), [2, -3, 5]
    scaled = Fields(2, plain.rows, plain.columns, plain.values * np.array(factors)[:, None])
    assert rescaled(closed(scaled, FREE)[1], [Fraction(f) for f in factors]) == closed(plain, FREE)[1]


def test_reduction_says_by_what_it_multiplies() -> None:
    """Modulo the constant (2, 1) the first parameter stays: (1, 1) becomes half of (0, 1), written as (0, 1)."""
    constant = Fields(2, np.array([0, 1]), np.array([0, 0]), np.array([[2, 1]]))
    fields = Fields(2, np.array([0, 1]), np.array([2, 2]), np.array([[1, 1]]))
    reduced, factors = Modulo(constant).reduced(fields)
    assert (reduced.rows.tolist(), reduced.columns.tolist(), reduced.values.tolist()) == ([1], [2], [[1]])
    assert factors == [2]


@pytest.mark.parametrize("value", [Fraction(0), Fraction(-3), Fraction(5, 7), Fraction(-4096, 4095)])
def test_small_fractions_are_found_again(value: Fraction) -> None:
    p = 2147483579
    assert fraction(value.numerator * pow(value.denominator, -1, p) % p, p) == value


def test_few_residues_are_small_fractions() -> None:
    p = 2147483579
    found = sum(fraction(1_000_003 * k % p, p) is not None for k in range(1, 2000))
    assert found < 100
