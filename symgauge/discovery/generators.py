"""Permutations of parameter entries with signs, and the family of views that one comes from."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from symgauge.discovery.index_views import IndexView, moved, swapped


@dataclass(frozen=True, eq=False)
class Generator:
    """θ ↦ signs · θ[permutation], entry by entry: ``permutation`` (P,) int64, ``signs`` (P,) of ±1."""

    name: str
    permutation: Tensor
    signs: Tensor
    tensors: tuple[str, ...]

    def __call__(self, theta: Tensor) -> Tensor:
        """The image of a parameter vector (P,)."""
        return self.signs.to(theta) * theta[self.permutation]

    def __matmul__(self, other: Generator) -> Generator:
        """First the other, then this."""
        signs = self.signs * other.signs[self.permutation]
        name, tensors = f"{self.name}; {other.name}", tuple(dict.fromkeys((*self.tensors, *other.tensors)))
        return Generator(name, other.permutation[self.permutation], signs, tensors)


@dataclass(eq=False)
class LinkedViews:
    """Views of one n whose indices are permuted together, by the symmetric group on each class of indices."""

    views: list[IndexView]
    classes: list[list[int]]
    size: int
    flips: list[Generator] = field(default_factory=list)
    """Sign flips of these views: at the first index of each class, from which permutations make the others, or of all."""

    @property
    def n(self) -> int:
        return self.views[0].n

    @property
    def tensors(self) -> tuple[str, ...]:
        return tuple(view.tensor for view in self.views)

    def said(self) -> str:
        return ", ".join(view.said() for view in self.views)

    def permuted(self, order: list[int], words: str) -> Generator:
        permutation = moved(self.size, self.views, order)
        return Generator(f"{words} of {self.said()}", permutation, torch.ones(self.size, dtype=torch.int64), self.tensors)

    def generators(self) -> list[Generator]:
        """A transposition and a cycle for each class of indices."""
        found = []
        for members in self.classes:
            if len(members) > 1:
                found.append(self.swap(members[0], members[1]))
            if len(members) > 2:
                found.append(self.cycle(members))
        return found

    def swap(self, i: int, j: int) -> Generator:
        return self.permuted(swapped(self.n, i, j), f"swap {i} and {j}")

    def cycle(self, members: list[int]) -> Generator:
        order = list(range(self.n))
        for i, j in zip(members, (*members[1:], members[0]), strict=True):
            order[i] = j
        return self.permuted(order, f"cycle {' '.join(map(str, members))}")

    def flip(self, views: list[IndexView], indices: list[int]) -> Generator:
        """The sign of these indices of some of the views."""
        signs = torch.ones(self.size, dtype=torch.int64)
        for view in views:
            signs[view.slices[indices].reshape(-1)] *= -1
        where = "all" if len(indices) == self.n else " ".join(map(str, indices))
        words = f"change the sign of {where} of {', '.join(view.said() for view in views)}"
        return Generator(words, torch.arange(self.size), signs, tuple(view.tensor for view in views))

    def makes(self, permutation: Tensor) -> bool:
        """Whether a permutation of entries moves whole slices of some view inside their classes, and so is known."""
        owner = {i: k for k, members in enumerate(self.classes) for i in members}
        for view in self.views:
            rows = {tuple(row): i for i, row in enumerate(view.slices.tolist())}
            images = [rows.get(tuple(row)) for row in permutation[view.slices].tolist()]
            if None not in images and any(i != j for i, j in enumerate(images)):
                return all(owner[i] == owner[j] for i, j in enumerate(images) if j is not None)
        return False
