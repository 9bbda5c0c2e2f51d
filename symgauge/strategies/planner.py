"""Choosing small architectures so that no choice leads nowhere, and the sizes are as distinct as the budget allows.

A :class:`Planner` answers whether some architecture within a budget of parameters remains after each choice, so nothing
that a property test draws has to be thrown away; the simplest and smallest choices come first, so failures shrink.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput
from symgauge.strategies.kinds import RANGES, Features, Kind, Sizes, axes_of, fields_of, variables
from symgauge.wiring import wire

_COUNTS = frozenset({"context", "experts"})
_TIERS = (0, 1, 2)
"""How distinct sizes are, the best first: 0: pairwise distinct, none the square of another (positions aside);
1: pairwise distinct; 2: the numbers of positions and of experts may coincide with others."""


def _clash(m: str, x: int, n: str, y: int, tier: int) -> bool:
    counted = bool({m, n} & _COUNTS)
    if tier == 0 and "context" not in (m, n) and (x == y * y or y == x * x):
        return True
    return x == y and not (tier == 2 and counted)


@dataclass
class Planner:
    """Small architectures of one kind with at most ``budget`` parameters, ``fixed`` fields taking precedence."""

    kind: Kind
    budget: int
    fixed: Mapping[str, Any]
    _cache: dict[Any, bool] = field(default_factory=dict)

    def features(self, chosen: tuple[Features, ...]) -> Features:
        merged: Features = dict(self.kind.fields)
        for alternative in chosen:
            merged |= alternative
        return merged

    def build(self, features: Features, sizes: Sizes, layers: int) -> Architecture | None:
        """The architecture, or None where the fields contradict each other."""
        try:
            return Architecture(**{**fields_of(features, sizes, layers), **self.fixed})
        except InvalidInput:
            return None

    def _fits(self, features: Features, sizes: Sizes, tier: int) -> bool:
        """Whether sizes drawn so far go together: distinct, nothing in it wider than the stream."""
        axes = {**axes_of(features, sizes), **self._given(features)}
        axes |= {name: self.fixed[name] for name in axes if name in self.fixed}
        free = set(axes) - set(self.fixed)
        for (m, x), (n, y) in itertools.combinations(axes.items(), 2):
            if {m, n} & free and _clash(m, x, n, y, tier):
                return False

        def below(small: str, large: str) -> bool:
            return not ({small, large} <= set(axes) and {small, large} & free) or axes[small] < axes[large]

        narrow = ("d_k", "d_v", "query_latent", "key_value_latent")
        return all(below(name, "d_model") for name in narrow) and below("d_model", "vocabulary")

    def variables(self, features: Features) -> list[str]:
        """Sizes still to draw for these features."""
        return [name for name in variables(self.kind, features) if name not in self.fixed]

    def _completions(self, features: Features, sizes: Sizes, layers: int, tier: int) -> Iterator[Sizes]:
        """Complete assignments of sizes, the smallest values first."""
        if not self._fits(features, sizes, tier):
            return
        rest = [name for name in self.variables(features) if name not in sizes]
        smallest = self._given(features) | sizes
        for name in rest:
            fitting = (v for v in RANGES[name] if self._fits(features, {**sizes, name: v}, tier))
            value = next(fitting, None)
            if value is None:
                return
            smallest[name] = value
        a = self.build(features, smallest, layers)
        if a is not None and wire(a).parameters > self.budget:
            return
        if not rest:
            if a is not None:
                yield sizes
            return
        for value in RANGES[rest[0]]:
            yield from self._completions(features, {**sizes, rest[0]: value}, layers, tier)

    def _given(self, features: Features) -> Sizes:
        return {name: self.fixed[name] for name in variables(self.kind, features) if name in self.fixed}

    def possible(self, features: Features, sizes: Sizes, layers: int, tier: int) -> bool:
        """Whether some architecture remains."""
        key = (repr(sorted(features.items(), key=str)), tuple(sorted(sizes.items())), layers, tier)
        if key not in self._cache:
            self._cache[key] = next(self._completions(features, sizes, layers, tier), None) is not None
        return self._cache[key]

    def any_possible(self, features: Features, layers: int) -> bool:
        """Whether some architecture has these features."""
        return any(self.possible(features, {}, layers, tier) for tier in _TIERS)

    def finish(self, features: Features, sizes: Sizes, layers: int) -> Architecture:
        """The architecture of a complete assignment."""
        a = self.build(features, {**self._given(features), **sizes}, layers)
        assert a is not None
        return a


Choose = Callable[[list[Any]], Any]


def choose_architecture(planner: Planner, max_layers: int, choose: Choose) -> Architecture | None:
    """An architecture by a series of choices, each from the values that are still possible; None if there is none.

    ``choose`` gets a non-empty list, the simplest first.
    """
    fixed_layers = planner.fixed.get("layers")
    layers_range = [fixed_layers] if fixed_layers else list(range(1, max_layers + 1))
    base = planner.features(())
    possible_layers = [n for n in layers_range if planner.any_possible(base, n)]
    if not possible_layers:
        return None
    layers = choose(possible_layers)
    chosen: tuple[Features, ...] = ()
    for alternatives in planner.kind.alternatives:
        options = [x for x in alternatives if planner.any_possible(planner.features((*chosen, x)), layers)]
        chosen = (*chosen, choose(options))
    features = planner.features(chosen)
    tier = next(t for t in _TIERS if planner.possible(features, {}, layers, t))
    sizes: Sizes = {}
    for name in planner.variables(features):
        values = [v for v in RANGES[name] if planner.possible(features, {**sizes, name: v}, layers, tier)]
        sizes[name] = choose(values)
    return planner.finish(features, sizes, layers)
