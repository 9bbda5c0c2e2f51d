"""How many free directions the sources claim for an architecture, beside what is counted here.

A source whose folder has ``counts.py`` offers its count there: ``claimed(architecture)``, a formula in the letters of
:mod:`symgauge.symmetries.symbols`, or None for an architecture of which it says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from symgauge.architecture import Architecture
from symgauge.sources import modules
from symgauge.symmetries.symbols import evaluate


@dataclass(frozen=True)
class Claimed:
    """A source's count for an architecture: in letters, and at its size."""

    source: str
    title: str
    formula: Expr
    dimension: int

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {"title": self.title, "dimension": self.dimension, "formula": str(self.formula)}


def claimed_by_sources(a: Architecture) -> tuple[Claimed, ...]:
    """The counts of all sources that offer one; none where the package of checks is not installed."""
    offered = [(source, module.claimed(a)) for source, module in modules("counts")]
    return tuple(
        Claimed(source.name, source.title, formula, evaluate(formula, a))
        for source, formula in offered
        if formula is not None
    )
