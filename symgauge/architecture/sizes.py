"""Checks of sizes and factors that every record of an architecture makes."""

from __future__ import annotations

from symgauge.checks import shown
from symgauge.errors import InvalidInput


def at_least(least: int, what: str, **sizes: int) -> None:
    for name, size in sizes.items():
        if size < least:
            wanted = "a positive integer" if least == 1 else f"an integer ≥ {least}"
            raise InvalidInput(f"{what} {name!r} must be {wanted}, not {shown(size)}")


def not_zero(what: str, **factors: float) -> None:
    for name, factor in factors.items():
        if factor == 0:
            raise InvalidInput(
                f"{what} {name!r} must be a number other than 0, which would cut a part of the model off"
            )
