"""What more is free on one piece of a ReLU network: around units that are off, or on, at every input.

A piecewise function has a fibre per piece. These families belong to the piece that a point and its probes lie in, not
to the architecture; which units took one side is told to them. A wrong list is caught: its generators leave the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from sympy import Expr, Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.checks import did_you_mean, is_integer, listed, shown
from symgauge.errors import InvalidInput
from symgauge.model_graph import FeedForward, Map, ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.elements import full_pattern, invertible, near_identity, shifts
from symgauge.symmetries.feed_forward import feed_forwards

Places = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Units:
    """Hidden units that took one side at every input, by place ("layers.0.ff", "layers.1.ff.experts.2")."""

    off: Places = field(default_factory=dict)
    on: Places = field(default_factory=dict)

    def families(self) -> list[Symmetry]:
        """The families of this piece."""
        return [DeadUnits(self.off), AlwaysOnUnits(self.on)]


def _chosen(places: Places, a: Architecture, graph: ModelGraph) -> Iterator[tuple[FeedForward, Tensor]]:
    """The feed-forward layers named, each with its units (n,). Raises InvalidInput for a place or unit there is not."""
    layers = {f.up.weight.removesuffix(".up.weight"): f for f in feed_forwards(graph)}
    for place, units in places.items():
        if place not in layers:
            near = did_you_mean(place, layers) or f"; it has {listed(layers, 'and')}" if layers else ""
            raise InvalidInput(f"there is no feed-forward layer {shown(place)} in this architecture{near}")
        width = graph.shapes[layers[place].up.weight][-1]
        numbers = units.tolist() if isinstance(units, Tensor) else list(units)
        if not all(is_integer(unit) and 0 <= unit < width for unit in numbers) or len(set(numbers)) < len(numbers):
            raise InvalidInput(f"units of {place!r} must be distinct numbers from 0 to {width - 1}, not {shown(units)}")
        if numbers:
            yield layers[place], torch.tensor(numbers)


def _places(units: Tensor, width: int, like: Tensor) -> Tensor:
    """The 0/1 matrix (n, width) that puts n numbers at the units' places."""
    return (units.unsqueeze(-1) == torch.arange(width)).to(torch.float64).to(like.device)


def _columns(base: Tensor, units: Tensor, by: Tensor) -> Tensor:
    """``base`` (…, width) plus ``by`` (rows, n) in the units' columns."""
    return base + (by @ _places(units, base.shape[-1], base)).reshape(base.shape)


def _rows(base: Tensor, units: Tensor, by: Tensor) -> Tensor:
    """``base`` (width, m) plus ``by`` (n, m) in the units' rows."""
    return base + _places(units, base.shape[0], base).mT @ by


class DeadUnits(Symmetry):
    name = "dead-units"
    title = "A unit that is off at every input writes nothing: its columns going in and its row going out are free."
    source = (Cites("grigsby2022functional", part="units that are off"),)

    def __init__(self, off: Places) -> None:
        self.off = off

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        return [self._site(a, graph, f, units) for f, units in _chosen(self.off, a, graph)]

    def _site(self, a: Architecture, graph: ModelGraph, f: FeedForward, units: Tensor) -> Site:
        rows = {m.weight: graph.shapes[m.weight][0] for m in f.readers} | {m.bias: 1 for m in f.readers if m.bias}
        sizes = {role: count * len(units) for role, count in rows.items()}
        total = sum(sizes.values()) + len(units) * graph.shapes[f.down.weight][1]

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            changed, start = {}, 0
            for role, size in sizes.items():
                changed[role] = _columns(roles[role], units, x[start : start + size].reshape(-1, len(units)))
                start += size
            down = x[start:].reshape(len(units), -1)
            return {**changed, f.down.weight: _rows(roles[f.down.weight], units, down)}

        return Site(s.layer_of(f.up.weight), Integer(total), total, act, shifts(total))


class AlwaysOnUnits(Symmetry):
    name = "always-on-units"
    title = (
        "Units that are on at every input are a linear layer: an invertible matrix mixes what goes into them and its "
        "inverse their rows of the down map, and biases before trade with the bias behind."
    )

    def __init__(self, on: Places) -> None:
        self.on = on

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        if a.activation != "relu":
            return []
        found = []
        for f, units in _chosen(self.on, a, graph):
            if f.gate is None:
                found.append(self._mixing(f.up, f.down, units))
                if f.up.bias is not None and f.down.bias is not None:
                    found.append(self._trade(f.up.bias, f.down, units))
        return found

    def _mixing(self, up: Map, down: Map, units: Tensor) -> Site:
        n = len(units)
        pattern = full_pattern(n)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            matrix = near_identity(x, pattern)
            one = torch.eye(n, dtype=torch.float64, device=x.device)
            change, back = matrix - one, torch.linalg.inv(matrix) - one
            changed = {
                role: _columns(roles[role], units, roles[role][..., units].reshape(-1, n) @ change)
                for role in (up.weight, up.bias)
                if role is not None
            }
            rows = roles[down.weight]
            return {**changed, down.weight: _rows(rows, units, back @ rows[units])}

        size: Expr = Integer(n * n)
        return Site(s.layer_of(up.weight), size, n * n, act, invertible(pattern, 1))

    def _trade(self, before: str, down: Map, units: Tensor) -> Site:
        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            assert down.bias is not None
            shift = x.reshape(1, -1)
            written = (shift @ roles[down.weight][units]).reshape(-1)
            return {before: _columns(roles[before], units, shift), down.bias: roles[down.bias] - written}

        return Site(s.layer_of(before), Integer(len(units)), len(units), act, shifts(len(units)))
