"""Dimensions at full size: formulas found on a short copy of an architecture, evaluated with its own sizes.

A formula is a polynomial in letters and the same for every number of layers and experts beyond a few, so that counting
on a short copy gives it in a moment.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Integer

from symgauge.architecture import Architecture
from symgauge.claimed import Claimed, claimed_by_sources
from symgauge.model_graph import graph_of
from symgauge.symmetries import Output, families
from symgauge.symmetries.first_layer import surpluses
from symgauge.symmetries.symbols import evaluate

_LAYERS = 5
"""Enough that a first and a last layer of another kind are a minority."""


@dataclass(frozen=True)
class Share:
    """One family: its dimension in letters, and at full size."""

    name: str
    title: str
    formula: Expr
    dimension: int


@dataclass(frozen=True)
class FullSize:
    """The dimension of an architecture's known continuous symmetries.

    surplus: what a first layer has beside its families for want of tokens, where it has any. claimed: the counts of
    sources that offer one.
    """

    architecture: Architecture
    output: Output
    parameters: int
    families: tuple[Share, ...]
    surplus: tuple[Share, ...] = ()
    claimed: tuple[Claimed, ...] = ()

    @property
    def shares(self) -> tuple[Share, ...]:
        return (*self.families, *self.surplus)

    @property
    def formula(self) -> Expr:
        return sum((share.formula for share in self.shares), Integer(0)).expand()

    @property
    def dimension(self) -> int:
        return sum(share.dimension for share in self.shares)

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "architecture": self.architecture.name,
            "output": self.output,
            "parameters": self.parameters,
            "nullity": self.dimension,
            "formula": str(self.formula),
            "families": _parts(self.families),
            "surplus": _parts(self.surplus),
            "claimed": {count.source: count.as_dict() for count in self.claimed},
        }

    def __rich__(self) -> Any:
        from symgauge.printing.full_size import shown

        return shown(self)


def _parts(shares: tuple[Share, ...]) -> dict[str, dict[str, object]]:
    return {share.name: {"dimension": share.dimension, "formula": str(share.formula)} for share in shares}


def full_size(architecture: Architecture, output: Output = "logits") -> FullSize:
    """Count the symmetries of an architecture of any size, exactly, without building anything of that size."""
    a, short = architecture, shortened(architecture)
    shares = [(family, family.dimension(short)) for family in families(short, output)]
    extra = [(each, evaluate(each.difference, a)) for each in surpluses(a)]
    return FullSize(
        architecture=a,
        output=output,
        parameters=graph_of(a).parameters,
        families=tuple(Share(f.name, f.title, formula, evaluate(formula, a)) for f, formula in shares),
        surplus=tuple(Share(x.name, x.title, x.difference, more) for x, more in extra if more > 0),
        claimed=claimed_by_sources(a),
    )


def shortened(a: Architecture) -> Architecture:
    """The architecture with a few layers after its dense ones and three experts per layer, everything else as it is."""
    if a.rotary_by_layer:
        return a  # layers of several kinds, each counted
    experts, dense = a.experts, 0
    if experts is not None and experts.first < a.layers:
        # All of them: what their borders give is no multiple of a letter.
        dense = experts.first
        if experts.active < experts.count and experts.count > 3:
            # Groups of experts limit permutations only, which have no dimension.
            experts = dataclasses.replace(experts, count=3, active=min(2, experts.active), groups=1, active_groups=1)
    layers = dense + min(_LAYERS, a.layers - dense)
    return a.replace(layers=layers, windows=a.windows[:layers], experts=experts)
