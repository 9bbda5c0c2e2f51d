"""Feed-forward layers, experts included: all of them, their widths, and a factor on what each neuron is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sympy import Expr, Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import FeedForward, Map, Mixture, ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles


def feed_forwards(graph: ModelGraph) -> Iterator[FeedForward]:
    """Every feed-forward layer, experts included."""
    for sub in graph.sublayers():
        if isinstance(sub, FeedForward):
            yield sub
        elif isinstance(sub, Mixture):
            yield from (*sub.experts, *sub.shared)


def columns_times(roles: Roles, m: Map, factor: Tensor) -> dict[str, Tensor]:
    """A map with each output multiplied by a factor."""
    changed = {m.weight: roles[m.weight] * factor}
    if m.bias is not None:
        changed[m.bias] = roles[m.bias] * factor
    return changed


def widths(a: Architecture, graph: ModelGraph) -> list[tuple[FeedForward, int]]:
    return [(f, graph.shapes[f.up.weight][-1]) for f in feed_forwards(graph)]


def for_each_width(a: Architecture, one: Callable[[Expr], Expr]) -> Expr:
    """The order of a group with one factor for each feed-forward layer, by the layer's width."""
    dense = s.L if a.experts is None else s.dense
    order: Expr = one(s.d_ff) ** dense if a.d_ff else Integer(1)
    if a.experts is not None:
        order *= one(s.d_e) ** ((s.L - s.dense) * (s.experts + s.shared))
    return order
