"""Figures: the numbers a piece of evidence rests on, in a form that survives JSON and can contradict a wish."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from symgauge.errors import InvalidInput

RELATIONS = ("<=", ">=", "=")
WELL_INSIDE = 0.1
"""A float below this share of its upper bound is well inside: how far is rounding, or not the point."""


@dataclass(frozen=True)
class Bounded:
    """A value with the bound it has to respect; `relation` reads "value relation bound".

    Example:
        >>> from symgauge.claims import at_most
        >>> error = at_most(2e-15, 1e-12)
        >>> error.value, error.relation, error.bound, error.ok
        (2e-15, '<=', 1e-12, True)
    """

    value: Any
    relation: str
    bound: Any

    @property
    def ok(self) -> bool:
        """Whether the bound is respected; NaN respects none."""
        if self.relation == "=":
            return bool(self.value == self.bound)
        value, bound = float(self.value), float(self.bound)
        return value <= bound if self.relation == "<=" else value >= bound

    @property
    def is_well_inside(self) -> bool:
        """Whether the value is a float far below its upper bound."""
        floating = isinstance(self.value, float) and isinstance(self.bound, (int, float))
        return floating and self.relation == "<=" and 0 <= self.value < WELL_INSIDE * self.bound

    def recorded(self) -> Bounded:
        """This, with a value that is well inside told to the next power of ten, so that rounding is not recorded."""
        if not self.is_well_inside or not self.value:
            return self
        return Bounded(float(f"1e{math.ceil(math.log10(self.value))}"), self.relation, self.bound)

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "relation": self.relation, "bound": self.bound}


Figure = bool | int | float | str | list[Any] | Bounded


def at_most(value: Any, bound: Any) -> Bounded:
    """`value` must not exceed `bound`: an error against its tolerance.

    Example:
        >>> from symgauge.claims import at_most
        >>> at_most(2e-15, 1e-12).ok
        True
    """
    return Bounded(plain(value), "<=", plain(bound))


def at_least(value: Any, bound: Any) -> Bounded:
    """`value` must reach `bound`: the change a negative control has to make, a spectral gap.

    Example:
        >>> from symgauge.claims import at_least
        >>> at_least(0.2, 1e-3).ok
        True
    """
    return Bounded(plain(value), ">=", plain(bound))


def equal(value: Any, expected: Any) -> Bounded:
    """`value` must be exactly `expected`: integers, ranks, strings.

    Example:
        >>> from symgauge.claims import equal
        >>> equal(26, 26).ok, equal(26, 25).ok
        (True, False)
    """
    return Bounded(plain(value), "=", plain(expected))


def plain(value: Any) -> Any:
    """`value` as JSON data: numpy and torch scalars become numbers, SymPy and Fraction objects their text.

    Non-finite floats become the strings "nan", "inf", "-inf", because JSON has no such numbers.
    """
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value)


def figure(name: str, value: Any) -> Figure:
    """One figure, as it is recorded; anything that is no number, text, list or bounded value is refused."""
    if isinstance(value, Bounded):
        return value.recorded()
    normal = plain(value)
    if normal is None or isinstance(normal, dict):
        raise InvalidInput(f"figure {name!r} is {value!r}: give a number, text, list, or at_most/at_least/equal(...)")
    return normal


def figure_from_json(data: Any) -> Figure:
    """The inverse of writing a figure to JSON."""
    if isinstance(data, dict):
        if set(data) != {"value", "relation", "bound"} or data["relation"] not in RELATIONS:
            raise InvalidInput(f"a figure must be a value or have keys value, relation, bound; found {data!r}")
        return Bounded(**data)
    return data


def is_nan(value: Any) -> bool:
    """Whether a figure is, or contains, not-a-number."""
    if isinstance(value, Bounded):
        return is_nan(value.value) or is_nan(value.bound)
    if isinstance(value, list):
        return any(map(is_nan, value))
    return value == "nan" or (isinstance(value, float) and math.isnan(value))
