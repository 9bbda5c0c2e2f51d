"""One factor per hidden neuron, on what goes in and inversely on what comes out."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Expr
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import FeedForward, Map, ModelGraph, graph_of
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.elements import factors
from symgauge.symmetries.examples import ATTENTION, BLOCK, PLAIN, RMS
from symgauge.symmetries.feed_forward import columns_times, feed_forwards
from symgauge.symmetries.seen import directions_written, seen_by_readers
from symgauge.symmetries.space import Space
from symgauge.symmetries.spaces import spaces


class _Rescale(Symmetry):
    """One factor per hidden neuron, on what goes in and inversely on what comes out."""

    positive: bool

    def scaled(self, a: Architecture, f: FeedForward) -> tuple[Map, int] | None:
        """The map whose outputs are scaled, and the power of the factor by which the hidden value grows."""
        raise NotImplementedError

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        found = []
        for f in feed_forwards(graph):
            chosen = self.scaled(a, f)
            if chosen is not None:
                found.append(self._site(a, graph, f, *chosen))
        return found

    def _site(self, a: Architecture, graph: ModelGraph, f: FeedForward, m: Map, power: int) -> Site:
        width = graph.shapes[m.weight][-1]

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            factor = 1 + x
            grown = factor if power == 1 else factor * factor
            return {**columns_times(roles, m, factor), f.down.weight: roles[f.down.weight] / grown.unsqueeze(-1)}

        size: Expr = s.total([(m.weight, s.shape(a, m.weight)[-1])])
        return Site(s.layer_of(m.weight), size, width, act, factors(width, positive=self.positive))


class GatedRescale(_Rescale):
    name = "gated-rescale"
    title = "In a gated feed-forward layer each neuron's up column is scaled by any factor and its down row divided."
    source = (Cites("marcotte2025conservation"),)
    positive = False
    example = RMS

    def scaled(self, a: Architecture, f: FeedForward) -> tuple[Map, int] | None:
        return None if f.gate is None else (f.up, 1)


def _is_line(a: Architecture, graph: ModelGraph, space: Space) -> bool:
    """Whether a layer writes one direction alone, and readers without biases see that."""
    constants = any(moment.constants for moment in space.moments) or any(r.bias is not None for r in space.readers)
    alone = not (space.given or space.tables or space.source is not None or space.outputs or constants)
    return alone and bool(space.readers) and directions_written(a, graph, space.writers) == 1


def _of_one_channel(a: Architecture) -> bool:
    if a.activation not in ("relu", "relu2"):
        return False
    graph = graph_of(a)
    seen = seen_by_readers(a, graph)
    read = [seen[m.weight] for f in feed_forwards(graph) for m in f.readers]
    if not a.residual and any(_is_line(a, graph, space) for space in spaces(a, graph)):
        return True
    # A norm over one direction hands on little more than a sign, on which a bias cannot tell neurons apart either.
    return any(each.linear == 1 and (a.norm != "none" or not each.constant) for each in read)


class ReluRescale(_Rescale):
    name = "relu-rescale"
    title = "The input of each ReLU neuron is scaled by a positive factor and its down row divided (squared for ReLU²)."
    source = (Cites("grigsby2022functional", part="layers without gates"),)
    positive = True
    example = PLAIN.replace(activation="relu")
    degenerate_cases = (
        DegenerateCase(
            "a neuron of a ReLU layer may be on (or off) for all inputs, and then has more freedom",
            lambda a: a.activation in ("relu", "relu2") and (a.d_ff > 0 or a.experts is not None),
            example=BLOCK.replace(d_ff=4, activation="relu"),
            beside=BLOCK.replace(d_ff=4),
            seed=3,
            of_point=True,
        ),
        DegenerateCase(
            "rectified neurons that read one direction, without bias or behind a norm, come in two kinds only",
            _of_one_channel,
            example=ATTENTION.replace(d_model=1, d_ff=3, activation="relu", residual=True),
            beside=ATTENTION.replace(d_model=1, d_ff=3, residual=True),
        ),
    )

    def scaled(self, a: Architecture, f: FeedForward) -> tuple[Map, int] | None:
        powers = {"relu": 1, "relu2": 2}
        if a.activation not in powers:
            return None
        return (f.up if f.gate is None else f.gate), powers[a.activation]
