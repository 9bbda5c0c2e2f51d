"""Dimensions as polynomials in sizes: exact, of least degree, and never without a size held out."""

from __future__ import annotations

import itertools
import json

import pytest
import sympy

from symgauge.discovery.polynomials import fit
from symgauge.discovery.sizes import vary
from symgauge.errors import InvalidInput

h, k = sympy.symbols("h k", integer=True, positive=True)


def points(*values):
    return list(itertools.product(*values))


@pytest.mark.parametrize(
    ("values", "expected", "untested"),
    [
        (lambda h, k: h * k * k, h * k**2, ("k",)),
        (lambda h, k: k * (k - 1) // 2 + 3 * h, k**2 / 2 - k / 2 + 3 * h, ("k",)),
        (lambda h, k: 7, 7, ()),
        (lambda h, k: 2 * h + k, 2 * h + k, ()),
        (lambda h, k: 2**h, h**3 / 3 - h**2 + 8 * h / 3, ("h",)),
        (lambda h, k: h * k % 3, None, ()),
        (lambda h, k: h + k + (h == 3 and k == 7), None, ()),
    ],
)
def test_polynomials(values, expected, untested) -> None:
    at = points((1, 2, 3, 4), (4, 5, 7))
    found = fit(("h", "k"), at, [values(*sizes) for sizes in at])
    assert found.expression == expected
    assert found.untested == untested
    assert bool(found.held_out) == (expected is not None)
    assert bool(found.reason) == (expected is None)


def test_no_polynomial_without_a_size_held_out() -> None:
    assert fit(("k",), [(1,), (2,), (3,)], [1, 4, 9]).expression is None
    found = fit(("k",), [(1,), (2,), (3,), (4,)], [1, 4, 9, 16])
    assert (found.expression, found.held_out) == (k**2, ((4,),))
    assert fit(("k",), [(3,)], [5]).reason == "these sizes are too few to hold one out"


def test_as_many_sizes_are_held_out_as_can_be() -> None:
    at = points((1, 2, 3), (1, 2, 3))
    found = fit(("h", "k"), at, [h * k * k for h, k in at])
    assert len(found.held_out) == 3, "six coefficients suffice where h has no square"


def test_the_command_fits_what_it_discovers(command) -> None:
    done = command("discover", "mine.py:units", "--vary", "width=1,2,3", "--json")
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    formula = data["formula"]
    assert data["nullity"] == 3, "the last size is shown"
    assert formula["nullity"]["polynomial"] == "width"
    assert formula["nullity"]["held_out"] == [[3]]
    (kind,) = formula["ideals"]
    assert (kind["algebra"], kind["dimension"]["polynomial"]) == ("gl(1, ℝ)", "width")
    assert kind["tensors"] == ["#.weight", "#.bias"]


def test_a_table_of_formulas(command) -> None:
    done = command("discover", "mine.py:units", "--vary", "width=1,2")
    assert done.exit_code == 0, done.stderr
    assert "no polynomial that leaves a size to hold out agrees" in done.stdout


@pytest.mark.parametrize("grid", [{}, {"r": []}, {"r": [1, 1]}, {"r": ["1"]}, {"r": [-1]}, {"2": [1]}, 3])
def test_what_is_no_grid_is_refused(grid) -> None:
    with pytest.raises(InvalidInput, match=r"sizes to vary are|a size has the name|give different whole numbers"):
        vary(lambda r: None, grid)
