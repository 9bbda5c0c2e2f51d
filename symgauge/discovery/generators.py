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
    parts: tuple[tuple[str, Tensor], ...]
    """What moves, by tensor (or list of tensors), with its positions in θ."""

    @property
    def tensors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in self.parts))

    def __call__(self, theta: Tensor) -> Tensor:
        """The image of a parameter vector (P,)."""
        return self.signs.to(theta) * theta[self.permutation]

    def __matmul__(self, other: Generator) -> Generator:
        """First the other, then this."""
        signs = self.signs * other.signs[self.permutation]
        permutation = other.permutation[self.permutation]
        return Generator(f"{other.name}; {self.name}", permutation, signs, (*self.parts, *other.parts))

    def controls(self, theta: Tensor) -> list[Tensor]:
        """Images in which one tensor is put back: each must change the function, if more than one moves."""
        found = []
        for name in self.tensors if len(self.tensors) > 1 else ():
            image = self(theta)
            for part, entries in self.parts:
                if part == name:
                    image[entries] = theta[entries]
            found.append(image)
        return found


@dataclass(eq=False)
class LinkedViews:
    """Views of one n whose indices are permuted together, by the symmetric group on each class of indices."""

    views: list[IndexView]
    classes: list[list[int]]
    size: int
    flips: list[tuple[list[IndexView], list[int]]] = field(default_factory=list)
    """Sign flips of some of the views, at one index of a class, from which permutations make the others, or at all."""

    @property
    def n(self) -> int:
        return self.views[0].n

    @property
    def parts(self) -> tuple[tuple[str, Tensor], ...]:
        return tuple((view.tensor, view.slices.reshape(-1)) for view in self.views)

    @property
    def tensors(self) -> tuple[str, ...]:
        return tuple(view.tensor for view in self.views)

    def said(self) -> str:
        return ", ".join(view.said() for view in self.views)

    def permuted(self, order: list[int], words: str) -> Generator:
        permutation = moved(self.size, self.views, order)
        return Generator(f"{words} of {self.said()}", permutation, torch.ones(self.size, dtype=torch.int64), self.parts)

    def permutations(self) -> list[Generator]:
        """A transposition and a cycle for each class of indices: they generate its symmetric group."""
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
        parts = tuple((view.tensor, view.slices[indices].reshape(-1)) for view in views)
        return Generator(words, torch.arange(self.size), signs, parts)

    def all_flips(self) -> list[Generator]:
        """With those that permutations make of them."""
        found = []
        for views, indices in self.flips:
            alike = next(members for members in self.classes if indices[0] in members)
            found += [self.flip(views, [i]) for i in alike] if len(indices) == 1 else [self.flip(views, indices)]
        return found

    def makes(self, permutation: Tensor) -> bool:
        """Whether a permutation of entries moves whole slices of some view inside their classes, and so is known."""
        owner = {i: k for k, members in enumerate(self.classes) for i in members}
        for view in self.views:
            rows = {tuple(row): i for i, row in enumerate(view.slices.tolist())}
            images = [rows.get(tuple(row)) for row in permutation[view.slices].tolist()]
            if None not in images and any(i != j for i, j in enumerate(images)):
                return all(owner[i] == owner[j] for i, j in enumerate(images) if j is not None)
        return False
