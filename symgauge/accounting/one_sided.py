"""Hidden units that took one side at every input: with them the account is of one piece of the function."""

from __future__ import annotations

from symgauge.architecture import Architecture
from symgauge.checks import shown
from symgauge.errors import InvalidInput
from symgauge.exact.result import FibreDimension
from symgauge.model_graph import ModelGraph
from symgauge.symmetries.base import Symmetry
from symgauge.symmetries.feed_forward import feed_forwards
from symgauge.symmetries.unit_pieces import Units


def units_of(fibre: FibreDimension, a: Architecture, graph: ModelGraph) -> Units | None:
    """The one-sided hidden units of a piece, by feed-forward layer; None if there are none, or others beside them."""
    layers = [f.up.weight.removesuffix(".up.weight") for f in feed_forwards(graph)]
    if not fibre.pieces or a.activation not in ("relu", "relu2"):
        return None
    sites = [t for t in fibre.thresholds if t.operation == "relu"]
    widths = [graph.shapes[f.up.weight][-1] for f in feed_forwards(graph)]
    if [t.units for t in sites] != widths or any(p.operation != "relu" for p in fibre.pieces):
        return None
    off = {layer: t.never_above for layer, t in zip(layers, sites, strict=True) if t.never_above}
    linear = a.activation == "relu" and not a.gated
    on = {layer: t.never_below for layer, t in zip(layers, sites, strict=True) if t.never_below and linear}
    return Units(off, on)


def families_of(units: Units | None) -> list[Symmetry]:
    """The families of such units; raises InvalidInput for what is none."""
    if units is not None and not isinstance(units, Units):
        raise InvalidInput(f"units must be Units(off=…, on=…) of symgauge.symmetries.unit_pieces, not {shown(units)}")
    return [] if units is None else units.families()
