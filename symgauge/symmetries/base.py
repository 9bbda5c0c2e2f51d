"""What a symmetry family is: parameter maps that keep the function, given by their action in coordinates.

A family is a list of *sites* (a layer's heads, a norm, the residual stream), each with its own block of coordinates.
The action is rational in the coordinates and written in functional torch operations, so that the same code runs in
float64, under ``torch.func``, and in exact arithmetic; generators are its derivative at zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from sympy import Expr, Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput
from symgauge.model_graph import ModelGraph, graph_of
from symgauge.symmetries import symbols
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.softmax import constant_keys_unseen

Output = Literal["logits", "probabilities"]
Roles = Mapping[str, Tensor]


@dataclass(frozen=True)
class Site:
    """One place where a family acts: ``act(roles, x)`` returns the roles it changes; x = 0 is the identity.

    ``dimension`` counts, in letters, the directions that earlier families do not already give; ``coordinates`` is the
    length of x. They agree unless sizes are degenerate (a head wider than the stream).

    Example:
        >>> import symgauge
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=4, heads=2, d_k=3, d_v=2, layers=2)
        >>> [(site.layer, site.dimension, site.coordinates) for site in families(a)[0].sites(a, symgauge.graph_of(a))]
        [(0, d_k**2*g, 18), (1, d_k**2*g, 18)]
    """

    layer: int | None
    dimension: Expr
    coordinates: int
    act: Callable[[Roles, Tensor], dict[str, Tensor]]
    sample: Callable[[torch.Generator], Tensor]


class Unseen(NamedTuple):
    """Why a role may be put back alone; ``wholly``: no small displacement of it shows at all."""

    why: str
    wholly: bool = False


class Family(ABC):
    """What is known about a family of parameter maps, continuous or finite: all of it stands in its class.

    A class in a module of :mod:`symgauge.symmetries.catalogue` is found by being there. Its derivation is in
    docs/families.md under its name.

    Example:
        >>> import symgauge
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=4, heads=2, d_k=3, d_v=2)
        >>> family = families(a)[0]
        >>> family.name, family.title.split(",")[0], family.applies(a)
        ('query-key', 'Queries are multiplied by A and keys by the inverse transpose of A', True)
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """What happens, in a sentence."""
    source: ClassVar[tuple[Cites, ...]] = ()
    """Who has it, or parts of it, in the literature; empty where it is derived here."""
    after: ClassVar[tuple[str, ...]] = ()
    """Families that are counted before this one: a direction that one of them gives is not counted again."""
    degenerate_cases: ClassVar[tuple[DegenerateCase, ...]] = ()
    """Where more is free than this family says."""
    example: ClassVar[Architecture]
    """A small architecture on which it acts and whose whole kernel the known families span."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @abstractmethod
    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        """Whether the family acts on this architecture and keeps this output."""

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        """Why what the family does to this role cannot be seen even where the others stay; None if it must show.

        Negative controls put back one role at a time, and expect a change of the function where this is None.
        """
        if role.endswith("key.bias") and constant_keys_unseen(a, role):
            return Unseen("a key bias is unseen under softmax without rotary encoding, whatever moves it", wholly=True)
        return None


class Symmetry(Family):
    """A continuous family. Subclasses give ``name``, ``title`` and ``sites``, and what else :class:`Family` names.

    Example:
        >>> import symgauge, torch
        >>> from sympy import Integer
        >>> from symgauge.symmetries import Site, Symmetry
        >>> class Doubled(Symmetry):
        ...     name, title = "doubled", "queries are multiplied by a number and keys divided by it"
        ...     def sites(self, a, graph):
        ...         q, k = "layers.0.attention.query.weight", "layers.0.attention.key.weight"
        ...         act = lambda roles, x: {q: roles[q] * (1 + x), k: roles[k] / (1 + x)}
        ...         return [Site(0, Integer(1), 1, act, lambda generator: torch.ones(1, dtype=torch.float64))]
        ...
        >>> a = symgauge.Architecture(d_model=4, heads=2, d_k=1, d_v=1, residual=False)
        >>> symgauge.account(a, extra=[Doubled()]).families[-1].violations
        0
    """

    acts_on: ClassVar[Literal["roles", "parameters"]] = "roles"
    """Whether it moves roles of an architecture, or a module's parameters by their names, whatever the module is."""
    outputs: ClassVar[tuple[Output, ...]] = ("logits", "probabilities")
    """The outputs whose equality the family keeps and for which it is counted."""

    @abstractmethod
    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        """Where the family acts; empty if it does not."""

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        return output in self.outputs and any(site.coordinates for site in self.sites(a, graph_of(a)))

    def dimension(self, a: Architecture) -> Expr:
        """The family's own dimension in letters (see :mod:`symgauge.symmetries.symbols`)."""
        return sum_over_layers(a, [(site.layer, site.dimension) for site in self.sites(a, graph_of(a))])

    def coordinates(self, a: Architecture, graph: ModelGraph) -> int:
        """Length of the coordinate vector of a group element."""
        return sum(site.coordinates for site in self.sites(a, graph))

    def act(self, a: Architecture, graph: ModelGraph, parameters: Roles, x: Tensor) -> dict[str, Tensor]:
        """All roles after the action of the element with coordinates ``x`` (coordinates,); zero is the identity."""
        sites = self.sites(a, graph)
        expected = sum(site.coordinates for site in sites)
        if tuple(x.shape) != (expected,):
            raise InvalidInput(f"family {self.name!r} takes x of shape ({expected},) here, not {tuple(x.shape)}")
        roles, start = dict(parameters), 0
        for site in sites:
            roles.update(site.act(roles, x[start : start + site.coordinates]))
            start += site.coordinates
        return roles

    def sample(self, a: Architecture, graph: ModelGraph, generator: torch.Generator) -> Tensor:
        """Coordinates (float64) of a general element far from the identity."""
        parts = [site.sample(generator) for site in self.sites(a, graph) if site.coordinates]
        return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)


class DiscreteSymmetry(Family):
    """A finite family (permutations, signs): no dimension, elements drawn at random.

    Example:
        >>> import symgauge
        >>> from symgauge.symmetries import discrete_families
        >>> a = symgauge.Architecture(d_model=4, heads=3, d_k=2, d_v=2)
        >>> [(family.name, family.order(a)) for family in discrete_families(a)]
        [('head-permutation', (factorial(g)*factorial(h/g)**g)**L)]
    """

    @abstractmethod
    def order(self, a: Architecture) -> Expr:
        """Number of elements, as an exact expression in letters."""

    @abstractmethod
    def sample(self, a: Architecture, graph: ModelGraph, generator: torch.Generator) -> dict[str, Tensor]:
        """A random element other than the identity: index and sign tensors by place."""

    @abstractmethod
    def act(self, a: Architecture, graph: ModelGraph, parameters: Roles, element: Roles) -> dict[str, Tensor]:
        """All roles after the action of an element drawn by ``sample``."""

    def dimension(self, a: Architecture) -> Expr:
        """Zero."""
        return Integer(0)


def sum_over_layers(a: Architecture, terms: Sequence[tuple[int | None, Expr]]) -> Expr:
    """Add counts by layer, writing L (and the number of dense layers) where layers agree."""
    result: Expr = Integer(0)
    by_layer: dict[int, Expr] = {}
    for layer, count in terms:
        if layer is None:
            result += count
        else:
            by_layer[layer] = by_layer.get(layer, Integer(0)) + count
    sums = [by_layer.get(layer, Integer(0)).expand() for layer in range(a.layers)]
    if len(set(sums)) == 1:
        return (result + symbols.L * sums[0]).expand()
    first = 0 if a.experts is None else a.experts.first
    if 0 < first < a.layers and len(set(sums[:first])) == len(set(sums[first:])) == 1:
        return (result + symbols.dense * sums[0] + (symbols.L - symbols.dense) * sums[-1]).expand()
    # Layers that differ for other reasons (the first or last one): the commonest count times L, and the differences.
    # It must not be that of dense layers, of which a longer model has no more.
    common = Counter(sums[first:] or sums).most_common(1)[0][0]
    return (result + symbols.L * common + sum((s - common for s in sums), Integer(0))).expand()
