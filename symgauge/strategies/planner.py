"""Choosing small architectures so that no choice leads nowhere, and the sizes are as distinct as the budget allows.

A :class:`Planner` answers whether some architecture within a budget of parameters remains after each choice, so nothing
that a property test draws has to be thrown away; the simplest and smallest options come first, so failures shrink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput
from symgauge.model_graph import graph_of
from symgauge.strategies.kinds import PARTS, RANGES, Features, Kind, Sizes, axes_of, fields_of, variables

_COUNTS = frozenset({"context", "experts"})
_TIERS = (0, 1, 2)
"""How distinct sizes are, the best first: 0: pairwise distinct, none the square of another (positions aside);
1: pairwise distinct; 2: the numbers of positions and of experts may coincide with others."""


def _clash(m: str, x: int, n: str, y: int, tier: int) -> bool:
    counted = bool({m, n} & _COUNTS)
    if tier == 0 and "context" not in (m, n) and (x == y * y or y == x * x):
        return True
    return x == y and not (tier == 2 and counted)


def _inverted(m: str, x: int, n: str, y: int) -> bool:
    """Whether one of the axes is wider than the stream that should not be, or the vocabulary narrower."""
    if n == "d_model":
        m, x, n, y = n, y, m, x
    if m != "d_model":
        return False
    return y >= x if n in ("d_k", "d_v", "query_latent", "key_value_latent") else n == "vocabulary" and y <= x


SEQUENCES = 5000
"""Fewest token sequences V^T of a model that shows little of itself in each. With two layers of norms one in ten to a
hundred is usable in exact arithmetic, since every root of the second layer may fail (7³ = 343 left 34); experts that
are seldom chosen are seen at few positions."""


def enough_sequences(a: Architecture) -> bool:
    """Whether an exact run of this architecture will not run out of distinct inputs."""
    scarce = a.experts is not None or (a.norm != "none" and a.layers > 1)
    return not (a.is_model and scarce) or a.vocabulary**a.context >= SEQUENCES


_PATIENCE = 3000
"""Assignments looked at before a search counts as fruitless."""


@dataclass
class Planner:
    """Small architectures of one kind with at most ``budget`` parameters, ``fixed`` fields taking precedence."""

    kind: Kind
    budget: int
    fixed: Mapping[str, Any]
    _cache: dict[Any, bool] = field(default_factory=dict)
    _visited: int = 0

    def features(self, chosen: Sequence[Features]) -> Features:
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

    def _axes(self, features: Features, sizes: Sizes) -> Sizes:
        axes = {**axes_of(features, sizes), **self._given(features)}
        return {name: self.fixed.get(name, n) for name, n in axes.items()}

    def _fitting(self, features: Features, sizes: Sizes, name: str, tier: int) -> Iterator[int]:
        """Values that go with the sizes before: axes distinct, only the vocabulary wider than the stream."""
        before = self._axes(features, sizes)
        for value in RANGES[name]:
            after = self._axes(features, {**sizes, name: value}) if name in PARTS else {**before, name: value}
            new = [axis for axis in after if axis == name or axis not in before]
            if all(self._agree(m, after[m], n, y, tier) for m in new for n, y in after.items() if m != n):
                yield value

    def _agree(self, m: str, x: int, n: str, y: int, tier: int) -> bool:
        if m in self.fixed and n in self.fixed:
            return True
        return not (_clash(m, x, n, y, tier) or _inverted(m, x, n, y))

    def variables(self, features: Features) -> list[str]:
        """Sizes still to draw for these features."""
        return [name for name in variables(self.kind, features) if name not in self.fixed]

    def _completions(self, features: Features, sizes: Sizes, layers: int, tier: int) -> Iterator[Sizes]:
        """Complete assignments of sizes, the smallest values first."""
        self._visited += 1
        if self._visited > _PATIENCE:
            return
        rest = [name for name in self.variables(features) if name not in sizes]
        smallest = self._given(features) | sizes
        for name in rest:
            value = next(self._fitting(features, sizes, name, tier), None)
            if value is None:
                return
            smallest[name] = value
        a = self.build(features, smallest, layers)
        if a is not None and graph_of(a).parameters > self.budget:
            return
        if not rest:
            if a is not None and (enough_sequences(a) or {"vocabulary", "context"} <= set(self.fixed)):
                yield sizes
            return
        for value in self._fitting(features, sizes, rest[0], tier):
            yield from self._completions(features, {**sizes, rest[0]: value}, layers, tier)

    def _given(self, features: Features) -> Sizes:
        return {name: self.fixed[name] for name in variables(self.kind, features) if name in self.fixed}

    def possible(self, features: Features, sizes: Sizes, layers: int, tier: int) -> bool:
        """Whether some architecture remains (as far as a bounded search finds)."""
        key = (repr(sorted(features.items(), key=str)), tuple(sorted(sizes.items())), layers, tier)
        if key not in self._cache:
            self._visited = 0
            self._cache[key] = next(self._completions(features, sizes, layers, tier), None) is not None
        return self._cache[key]

    def tier(self, features: Features, layers: int) -> int | None:
        """The best tier in which some architecture has these features; None if there is none."""
        return next((tier for tier in _TIERS if self.possible(features, {}, layers, tier)), None)

    def values(self, features: Features, sizes: Sizes, name: str, layers: int, tier: int) -> list[int]:
        """Values of one more size that lead to an architecture, the smallest first."""
        fitting = self._fitting(features, sizes, name, tier)
        return [value for value in fitting if self.possible(features, {**sizes, name: value}, layers, tier)]

    def finish(self, features: Features, sizes: Sizes, layers: int) -> Architecture:
        """The architecture of a complete assignment."""
        a = self.build(features, {**self._given(features), **sizes}, layers)
        assert a is not None
        return a


Choose = Callable[[list[Any]], Any]


def choose_architecture(planner: Planner, max_layers: int, choose: Choose) -> Architecture | None:
    """An architecture by a series of choices; None if there is none.

    ``choose`` gets a list of options, the simplest first. Features that do not fit the budget or the fixed fields are
    dropped, the last ones first.
    """
    fixed_layers = planner.fixed.get("layers")
    layers_range = [fixed_layers] if fixed_layers else list(range(1, max_layers + 1))
    possible_layers = [n for n in layers_range if planner.tier(planner.features([]), n) is not None]
    if not possible_layers:
        return None
    layers = choose(possible_layers)
    chosen = [choose(list(alternatives)) for alternatives in planner.kind.alternatives]
    while (tier := planner.tier(planner.features(chosen), layers)) is None:
        chosen.pop()
    features, sizes = planner.features(chosen), Sizes()
    for name in planner.variables(features):
        sizes[name] = choose(planner.values(features, sizes, name, layers, tier))
    return planner.finish(features, sizes, layers)
