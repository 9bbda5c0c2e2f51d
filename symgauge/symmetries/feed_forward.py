"""Rescalings of hidden neurons, and the router's common shift."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sympy import Expr
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.elements import factors, shifts
from symgauge.wiring import FeedForward, Map, Mixture, Wiring


def feed_forwards(w: Wiring) -> Iterator[FeedForward]:
    """Every feed-forward layer, experts included."""
    for sub in w.sublayers():
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


class _Rescale(Symmetry):
    """One factor per hidden neuron, on what goes in and inversely on what comes out."""

    positive: bool

    def scaled(self, a: Architecture, f: FeedForward) -> tuple[Map, int] | None:
        """The map whose outputs are scaled, and the power of the factor by which the hidden value grows."""
        raise NotImplementedError

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        found = []
        for f in feed_forwards(w):
            chosen = self.scaled(a, f)
            if chosen is not None:
                found.append(self._site(a, w, f, *chosen))
        return found

    def _site(self, a: Architecture, w: Wiring, f: FeedForward, m: Map, power: int) -> Site:
        width = w.shapes[m.weight][-1]

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            factor = 1 + x
            grown = factor if power == 1 else factor * factor
            return {**columns_times(roles, m, factor), f.down.weight: roles[f.down.weight] / grown.unsqueeze(-1)}

        size: Expr = s.total([(m.weight, s.shape(a, m.weight)[-1])])
        return Site(s.layer_of(m.weight), size, width, act, factors(width, positive=self.positive))


class GatedRescale(_Rescale):
    name = "gated-rescale"
    title = "In a gated feed-forward layer each neuron's up column is scaled by any factor and its down row divided."
    source = "claims CT-5 (SwiGLU); Marcotte, Gribonval, Peyré, conservation laws for gated layers"
    positive = False

    def scaled(self, a: Architecture, f: FeedForward) -> tuple[Map, int] | None:
        return None if f.gate is None else (f.up, 1)


class ReluRescale(_Rescale):
    name = "relu-rescale"
    title = "The input of each ReLU neuron is scaled by a positive factor and its down row divided (squared for ReLU²)."
    source = "Grigsby, Lindsey, Meyerhoff, Wu, functional dimension of ReLU networks; gated and squared derived here"
    positive = True

    def scaled(self, a: Architecture, f: FeedForward) -> tuple[Map, int] | None:
        powers = {"relu": 1, "relu2": 2}
        if a.activation not in powers:
            return None
        return (f.up if f.gate is None else f.gate), powers[a.activation]


class RouterShift(Symmetry):
    name = "router-shift"
    title = (
        "The router's columns move by a common vector, which softmax over the chosen experts does not see. A single "
        "chosen expert has weight one whatever the router says (while the choice stays): all of it is free."
    )
    source = "related theory, Section 4.9 (gating translation); one active expert derived here"

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        e = a.experts
        if e is None or (e.routing != "softmax" and e.active > 1):
            return []
        routers = [sub.router.weight for sub in w.sublayers() if isinstance(sub, Mixture)]
        return [self._free(a, router) if e.active == 1 else self._common(a, router) for router in routers]

    def _common(self, a: Architecture, router: str) -> Site:
        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            return {router: roles[router] + x.unsqueeze(-1)}

        return Site(s.layer_of(router), s.d, a.d_model, act, shifts(a.d_model))

    def _free(self, a: Architecture, router: str) -> Site:
        assert a.experts is not None
        count = a.d_model * a.experts.count

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            return {router: roles[router] + x.reshape(a.d_model, -1)}

        # Far from the identity another expert may win; only small moves are drawn.
        return Site(s.layer_of(router), s.d * s.experts, count, act, lambda g: 1e-5 * shifts(count)(g))
