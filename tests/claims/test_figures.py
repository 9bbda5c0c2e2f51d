"""Figures: bounds, strain, and what may be recorded."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from symgauge.claims import at_least, at_most, equal
from symgauge.claims.figures import figure, figure_from_json, is_nan, plain
from symgauge.errors import InvalidInput


@pytest.mark.parametrize(
    ("bounded", "ok"),
    [
        (at_most(1, 2), True),
        (at_most(2, 2), True),
        (at_most(3, 2), False),
        (at_least(3, 2), True),
        (at_least(2, 2), True),
        (at_least(1, 2), False),
        (equal(16, 16), True),
        (equal(16, 17), False),
        (equal("a", "a"), True),
        (at_most(math.nan, 1.0), False),
        (at_least(math.nan, 0.0), False),
        (at_most(1.0, math.nan), False),
        (at_most(math.inf, 1e300), False),
        (at_least(math.inf, 1.0), True),
        (equal(math.nan, math.nan), True),  # both are the text "nan"; is_nan is what catches them
    ],
)
def test_bounds(bounded, ok) -> None:
    assert bounded.ok is ok


def test_values_become_json_data() -> None:
    values = [
        np.int64(3),
        np.float64(0.5),
        np.array([1, 2]),
        Fraction(1, 3),
        (1, 2.0),
        math.inf,
        True,
        {"a": Fraction(1)},
    ]
    assert [plain(value) for value in values] == [3, 0.5, [1, 2], "1/3", [1, 2.0], "inf", True, {"a": "1"}]


@pytest.mark.parametrize("value", [None, {"a": 1}])
def test_what_is_no_figure_is_refused(value) -> None:
    with pytest.raises(InvalidInput, match="figure 'x'"):
        figure("x", value)


@pytest.mark.parametrize(
    "value", [math.nan, np.float64("nan"), [1.0, math.nan], at_most(math.nan, 1), at_least(1, math.nan)]
)
def test_nan_is_seen_wherever_it_hides(value) -> None:
    assert is_nan(figure("x", value))


@pytest.mark.parametrize("value", [1, 0.5, "text", [1, 2], math.inf, at_most(1, 2)])
def test_other_figures_are_not_nan(value) -> None:
    assert not is_nan(figure("x", value))


def test_bounded_figures_survive_json() -> None:
    bounded = at_most(1e-15, 1e-12)
    assert figure_from_json(bounded.to_json()) == bounded
    assert figure_from_json([1, 2]) == [1, 2]
    for damaged in ({"value": 1}, {"value": 1, "relation": "<", "bound": 2}):
        with pytest.raises(InvalidInput, match="a figure must"):
            figure_from_json(damaged)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (at_most(1.26e-17, 1e-13), 1e-16),
        (at_most(1.33e-17, 1e-13), 1e-16),
        (at_most(1e-17, 1e-13), 1e-17),
        (at_most(0.0999, 1), 0.1),
        (at_most(0.147, 1), 0.147),
        (at_most(0.0, 1), 0.0),
        (at_most(3, 100), 3),
        (at_least(1.23e-17, 1e-20), 1.23e-17),
        (at_most(2.5, 1), 2.5),
    ],
    ids=str,
)
def test_rounding_is_not_recorded(given, kept) -> None:
    """A value far below its bound differs from machine to machine, and by the place of a tensor in memory."""
    assert figure("x", given) == replace(given, value=kept)
    assert figure("x", given).ok is given.ok


@pytest.mark.parametrize(
    ("bounded", "inside"),
    [
        (at_most(0.09, 1), True),
        (at_most(0.0, 1.0), True),
        (at_most(0.125, 1.25), False),  # just a tenth of the bound
        (at_most(-0.5, 1.0), False),
        (at_most(0, 1), False),
        (at_least(0.01, 1.0), False),
        (equal(0.01, 1.0), False),
        (at_most("nan", 1.0), False),
    ],
)
def test_a_float_below_a_tenth_of_its_upper_bound_is_well_inside(bounded, inside) -> None:
    assert bounded.is_well_inside is inside


def test_values_well_inside_are_recorded_to_a_power_of_ten() -> None:
    assert at_most(2.1e-15, 1e-12).recorded() == at_most(1e-14, 1e-12)
    for kept in (at_most(0.0, 1e-12), at_most(2e-13, 1e-12), at_most(2e-12, 1e-12), equal(3, 4), at_least(2.5, 1)):
        assert kept.recorded() == kept
