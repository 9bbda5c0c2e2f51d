"""Sign flips that keep the function: of one index of linked views, of whole views, and of up to three whole tensors."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from symgauge.discovery.generators import Generator, LinkedViews
from symgauge.discovery.index_views import IndexView, positions
from symgauge.discovery.sameness import shaken

_SUBSETS = 8
"""Linked views of which all subsets are tried; of more, subsets of those whose names differ in numbers are."""
_TENSOR_SETS = 600
"""Sets of whole tensors that are tried, smallest first."""
Keeps = Callable[[Tensor], bool]


class SignSpace:
    """Independent sign patterns: a vector space over GF(2)."""

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}

    def add(self, signs: Tensor) -> bool:
        """Whether the pattern (P,) of ±1 is new."""
        bits = sum(1 << i for i in torch.nonzero(signs < 0).flatten().tolist())
        while bits:
            top = bits.bit_length()
            if top not in self._rows:
                self._rows[top] = bits
                return True
            bits ^= self._rows[top]
        return False

    @property
    def rank(self) -> int:
        return len(self._rows)


def add_flips(families: Sequence[LinkedViews], theta: Tensor, keeps: Keeps) -> None:
    """Give each family the independent flips of its views: at the first index of each class, or else at all indices."""
    for family in families:
        for members in family.classes:
            family.flips += _independent(family, members[:1], theta, keeps)
        if not family.flips:
            family.flips = _independent(family, list(range(family.n)), theta, keeps)


def _independent(
    family: LinkedViews, indices: list[int], theta: Tensor, keeps: Keeps
) -> list[tuple[list[IndexView], list[int]]]:
    space, found = SignSpace(), []
    for views in _subsets(family.views):
        flip = family.flip(views, indices)
        if keeps(flip(theta)) and space.add(flip.signs):
            found.append((views, indices))
    return found


def _subsets(views: list[IndexView]) -> Iterator[list[IndexView]]:
    """Those worth trying, smallest first; of many views, alike ones of all layers go together."""
    pieces = [piece for view in views for piece in view.pieces()]
    views = pieces if len(pieces) <= _SUBSETS else views
    kinds: dict[str, list[IndexView]] = {}
    for view in views:
        kind = view.tensor if len(views) <= _SUBSETS else re.sub(r"\d+", "*", view.tensor)
        kinds.setdefault(f"{kind} {view.mode} {view.label}", []).append(view)
    groups = list(kinds.values())
    if len(groups) > _SUBSETS:  # vectors (gains, offsets) may stay while all matrices change
        matrices = [v for v in views if v.slices.shape[1] > 1]
        vectors = [g for g in groups if g[0].slices.shape[1] == 1][: _SUBSETS - 1]
        groups = [matrices, *vectors]
    for count in range(1, len(groups) + 1):
        for chosen in itertools.combinations(groups, count):
            yield list(itertools.chain.from_iterable(chosen))


def tensor_flips(shapes: dict[str, torch.Size], theta: Tensor, keeps: Keeps) -> list[Generator]:
    """Whole tensors whose signs change together, up to three; one that the function does not depend on is left out."""
    places = positions(shapes)
    seen = []
    for name, place in places.items():
        if not keeps(shaken(theta, place.reshape(-1))):
            seen.append(name)
    space, found = SignSpace(), []
    sets = itertools.chain.from_iterable(itertools.combinations(seen, k) for k in (1, 2, 3))
    for names in itertools.islice(sets, _TENSOR_SETS):
        signs = torch.ones(len(theta), dtype=torch.int64)
        for name in names:
            signs[places[name].reshape(-1)] = -1
        if keeps(signs * theta) and space.add(signs):
            words = f"change the sign of all of {', '.join(names)}"
            parts = tuple((name, places[name].reshape(-1)) for name in names)
            found.append(Generator(words, torch.arange(len(theta)), signs, parts))
    return found
