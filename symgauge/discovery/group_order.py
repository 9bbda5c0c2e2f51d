"""The order of the group that permutations of linked views and sign flips generate, modulo what is known as connected.

Generators are pure permutations or pure sign flips, so the group is N ⋊ H: N the flips (a space over GF(2), whose rank
is taken), H the permutations. Families that share no axis commute or normalise each other and meet in the identity, so
H's order is the product over families; those that share one (heads, and groups of heads) go to SymPy as a permutation
group on slices, a few points each, and not on the P entries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from sympy.combinatorics import Permutation, PermutationGroup
from torch import Tensor, isin

from symgauge.discovery.generators import Generator, LinkedViews
from symgauge.discovery.sign_flips import SignSpace

Connected = Callable[[Generator], bool]
Slice = frozenset[int]


def group_order(families: Sequence[LinkedViews], flips: Sequence[Generator], connected: Connected) -> int:
    """Order of the group of all permutations and flips, modulo the normal closure of what is connected to the identity.

    Tried for connectedness: generators, three-cycles, products of two flips of neighbours, a swap with a flip.
    """
    order = math.prod(_permutations(component, connected) for component in components(families))
    everything, inside = SignSpace(), SignSpace()
    merged = 0
    for family in families:
        every = family.all_flips()
        for flip in every:
            everything.add(flip.signs)
        for one, other in itertools.pairwise(every):
            both = one @ other
            if connected(both):
                inside.add(both.signs)
        for flip in every:
            if connected(flip):
                inside.add(flip.signs)
        merged += _merged(family, connected)
    for flip in flips:
        everything.add(flip.signs)
        if connected(flip):
            inside.add(flip.signs)
    return order * 2 ** (everything.rank - inside.rank - merged)


def _merged(family: LinkedViews, connected: Connected) -> int:
    """Classes in which a swap and a flip are no identity each but are the same one: det = −1, as in O(n)."""
    count = 0
    for members in family.classes:
        single = [family.flip(views, i) for views, i in family.flips if len(i) == 1 and i[0] in members]
        if len(members) > 1 and single:
            swap = family.swap(members[0], members[1])
            if not connected(swap):
                count += any(not connected(flip) and connected(swap @ flip) for flip in single)
    return count


def components(families: Sequence[LinkedViews]) -> list[list[LinkedViews]]:
    """Families in sets that share axes, directly or through others."""
    found: list[list[LinkedViews]] = []
    for family in families:
        near = [c for c in found if any(_share(family, other) for other in c)]
        found = [c for c in found if c not in near] + [[*(f for c in near for f in c), family]]
    return found


def _share(a: LinkedViews, b: LinkedViews) -> bool:
    pairs = [(v, w) for v in a.views for w in b.views if v.axis == w.axis]
    return any(bool(isin(v.slices, w.slices).any()) for v, w in pairs)


def _permutations(component: list[LinkedViews], connected: Connected) -> int:
    if len(component) == 1:
        family = component[0]
        return math.prod(_symmetric(family, members, connected) for members in family.classes)
    generators = [g for family in component for g in family.permutations()]
    cycles = [f.cycle(m[:3]) for f in component for m in f.classes if len(m) > 2]
    group, images = on_slices(component, [*generators, *cycles])
    inside = [image for g, image in zip([*generators, *cycles], images, strict=True) if connected(g)]
    order = int(group.order())
    return order // int(group.normal_closure(PermutationGroup(inside)).order()) if inside else order


def _symmetric(family: LinkedViews, members: list[int], connected: Connected) -> int:
    """S_k, or what is left of it when transpositions or three-cycles are connected to the identity."""
    if len(members) < 2 or connected(family.swap(members[0], members[1])):
        return 1
    if len(members) > 2 and connected(family.cycle(members[:3])):
        return 2
    return math.factorial(len(members))


def on_slices(
    families: Sequence[LinkedViews], generators: Sequence[Generator]
) -> tuple[PermutationGroup, list[Permutation]]:
    """The group as it permutes the slices of all views (as sets of entries), and those that they are sent to."""
    todo: list[Slice] = [frozenset(row) for f in families for v in f.views for row in v.slices.tolist()]
    inverses = [_inverse(g.permutation) for g in generators]
    numbers: dict[Slice, int] = {}
    while todo:
        part = todo.pop()
        if part not in numbers:
            numbers[part] = len(numbers)
            todo += [_image(part, inverse) for inverse in inverses]
    images = [Permutation([numbers[_image(part, inverse)] for part in numbers]) for inverse in inverses]
    return PermutationGroup(images), images


def _inverse(permutation: Tensor) -> list[int]:
    """Entry c of θ comes to this position in θ[permutation]."""
    return permutation.argsort().tolist()


def _image(part: Slice, places: list[int]) -> Slice:
    return frozenset(places[c] for c in part)
