"""Ways to read the parameters of a module as n equal slices: what a permutation of n indices may move.

A mode of size N is N = outer · n · inner with the middle index permuted: single rows, heads inside fused rows (inner =
d_k), gate and up fused (outer = 2), fused queries, keys and values (outer = 3). Where the module cuts a mode in pieces
of different widths (queries of many heads beside keys of few), pieces are read by themselves and together. Tensors
whose names differ in one number (``experts.0.up``, ``experts.1.up``) are n slices as well.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

_PIECES = 4
"""A mode cut in more pieces than this is not read in pieces: their subsets are too many."""
Shapes = Mapping[str, torch.Size]


@dataclass(frozen=True, eq=False)
class IndexView:
    """The entries of one mode of one tensor (or of a list of tensors) as n slices of equal size.

    ``slices`` (n, m) are positions in θ; entries at the same place of two slices are exchanged with each other.
    """

    tensor: str
    mode: int | None
    """The axis of the tensor; None for a list of tensors whose names differ in a number."""
    slices: Tensor
    label: str
    """What is numbered: rows, columns, a piece of an axis."""
    outer: int = 1
    inner: int = 1
    widths: tuple[int, ...] = ()
    """Columns of ``slices`` in each piece of the mode (gate and up; queries, keys and values), if there are several."""

    @property
    def n(self) -> int:
        return len(self.slices)

    @property
    def axis(self) -> tuple[str, int | None]:
        """Views of one axis exclude each other."""
        return self.tensor, self.mode

    def said(self) -> str:
        """The view in words, such as ``q.weight axis 0 (blocks of 4)``."""
        shape = [f"blocks of {self.inner}"] if self.inner > 1 else []
        shape += [f"in each of {self.outer}"] if self.outer > 1 else []
        label = self.label.removeprefix("rows").strip() if self.mode is None else self.label
        return f"{self.tensor} {label}".strip() + (f" ({', '.join(shape)})" if shape else "")

    def pieces(self) -> list[IndexView]:
        """The view on each piece of the mode by itself."""
        if len(self.widths) < 2:
            return [self]
        parts = self.slices.split(list(self.widths), 1)
        return [
            replace(self, slices=part, outer=1, widths=(), label=f"{self.label}, part {k} of {len(parts)}")
            for k, part in enumerate(parts)
        ]

    def restricted(self, entries: Tensor, label: str) -> IndexView:
        """The view on those places only at which every slice lies in ``entries`` (positions in θ)."""
        inside = torch.isin(self.slices, entries).all(0)
        return replace(self, slices=self.slices[:, inside], widths=(), label=f"{self.label} {label}")


def positions(shapes: Shapes) -> dict[str, Tensor]:
    """Where the entries of each tensor lie in θ, in the tensor's shape."""
    start, found = 0, {}
    for name, shape in shapes.items():
        found[name] = torch.arange(start, start + shape.numel()).reshape(shape)
        start += shape.numel()
    return found


def index_views(shapes: Shapes, cuts: Mapping[int, set[int]]) -> dict[int, list[IndexView]]:
    """Every view by its number of slices n ≥ 2; ``cuts`` are the places where the module cuts a mode of size N."""
    found: dict[int, list[IndexView]] = defaultdict(list)
    where = positions(shapes)
    for name, place in where.items():
        for mode, size in enumerate(place.shape):
            if size > 1:
                for view in (*_factored(name, mode, place), *_pieces(name, mode, place, cuts.get(size, set()))):
                    found[view.n].append(view)
    for view in _lists(where):
        found[view.n].append(view)
    return dict(found)


def seen(views: Mapping[int, list[IndexView]], unseen: Tensor) -> dict[int, list[IndexView]]:
    """The views without entries that the function does not depend on, whose permutations mean nothing; each once."""
    found: dict[int, list[IndexView]] = {}
    for n, several in views.items():
        kept: dict[tuple[object, ...], IndexView] = {}
        for view in several:
            hidden = torch.isin(view.slices, unseen)
            shown = ~hidden.all(0)
            if not bool(shown.any()) or bool(hidden[:, shown].any()):
                continue
            parts = shown.split(list(view.widths)) if view.widths else ()
            widths = tuple(int(part.sum()) for part in parts if bool(part.any()))
            view = replace(view, slices=view.slices[:, shown], widths=widths)
            kept.setdefault((view.axis, *view.slices.sort(1).values.reshape(-1).tolist()), view)
        if kept:
            found[n] = list(kept.values())
    return found


def _divisors(n: int) -> list[int]:
    return [k for k in range(1, n + 1) if n % k == 0]


def _axis_name(mode: int, rank: int) -> str:
    return {(0, 1): "entries", (0, 2): "rows", (1, 2): "columns"}.get((mode, rank), f"axis {mode}")


def _factored(name: str, mode: int, place: Tensor) -> list[IndexView]:
    """N = outer · n · inner in all ways."""
    lead, size, found = place.movedim(mode, 0), place.shape[mode], []
    for n in _divisors(size)[1:]:
        for inner in _divisors(size // n):
            outer = size // n // inner
            slices = lead.reshape(outer, n, inner, -1).movedim(1, 0).reshape(n, -1)
            widths = (slices.shape[1] // outer,) * outer if outer <= _PIECES else ()
            found.append(IndexView(name, mode, slices, _axis_name(mode, place.dim()), outer, inner, widths))
    return found


def _pieces(name: str, mode: int, place: Tensor, cuts: set[int]) -> list[IndexView]:
    """The pieces of a mode that the module cuts, and several together: index i has the i-th part of each."""
    lead, size = place.movedim(mode, 0), place.shape[mode]
    ends = sorted({0, size} | {c for c in cuts if 0 < c < size})
    spans = list(itertools.pairwise(ends))
    if not 2 <= len(spans) <= _PIECES:
        return []
    found = []
    for count in range(1, len(spans) + 1):
        for chosen in itertools.combinations(spans, count):
            lengths = {b - a for a, b in chosen}
            if count == len(spans) and len(lengths) == 1:
                continue  # equal pieces together are outer · n · inner
            for n in _divisors(min(lengths))[1:]:
                if any(length % n for length in lengths):
                    continue
                words = f"{_axis_name(mode, place.dim())} {', '.join(f'{a}–{b - 1}' for a, b in chosen)}"
                parts = [lead[a:b].reshape(n, (b - a) // n, -1).reshape(n, -1) for a, b in chosen]
                widths = tuple(part.shape[1] for part in parts)
                found.append(IndexView(name, mode, torch.cat(parts, 1), words, widths=widths))
                if any(length > n for length in lengths):
                    parts = [lead[a:b].reshape((b - a) // n, n, -1).movedim(1, 0).reshape(n, -1) for a, b in chosen]
                    found.append(IndexView(name, mode, torch.cat(parts, 1), f"{words} interleaved", widths=widths))
    return found


def _lists(where: Mapping[str, Tensor]) -> list[IndexView]:
    """Tensors of one shape whose names differ in one number."""
    groups: dict[tuple[str, torch.Size], list[tuple[int, Tensor]]] = defaultdict(list)
    for name, place in where.items():
        for match in re.finditer(r"\d+", name):
            template = f"{name[: match.start()]}*{name[match.end() :]}"
            groups[template, place.shape].append((int(match.group()), place))
    found = []
    for (template, _), members in groups.items():
        if len(members) > 1:
            stack = torch.stack([place.reshape(-1) for _, place in sorted(members, key=lambda m: m[0])])
            found += [replace(view, mode=None) for view in _factored(template, 0, stack)]
    return found


def moved(size: int, views: Sequence[IndexView], order: Sequence[int]) -> Tensor:
    """The permutation π of P positions, θ ↦ θ[π], that puts slice ``order[i]`` in the place of slice i in each view."""
    whole = torch.arange(size)
    for view in views:
        step = torch.arange(size)
        step[view.slices] = view.slices[list(order)]
        whole = whole[step]
    return whole


def swapped(n: int, i: int, j: int) -> list[int]:
    """The transposition of i and j."""
    order = list(range(n))
    order[i], order[j] = j, i
    return order
