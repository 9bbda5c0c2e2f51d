"""The tasks: sequences of tokens with a sum modulo C as their label."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb
from typing import Protocol

import torch
from torch import Tensor

from symgauge.errors import InvalidInput


class Task(Protocol):
    """Tokens below `vocabulary`, `length` of them, with a label below `classes`."""

    @property
    def vocabulary(self) -> int: ...

    @property
    def length(self) -> int: ...

    @property
    def classes(self) -> int: ...

    def batches(self, generator: torch.Generator, count: int, size: int) -> tuple[Tensor, Tensor, Tensor]:
        """Ids (count, size, T), labels (count, size), number of summands (count, size)."""
        ...


@dataclass(frozen=True)
class MarkedSum:
    """m marker tokens, no two of them adjacent, each followed by a value below C; label: the sum of the values mod C.

    Tokens: values 0 … C−1; markers C … C + max(markers) − 1, the i-th marker of a sequence is C + i; above them
    distractors, drawn independently and uniformly. Markers stand at positions 1 … T−2, as in the source's code, which
    also gives all sequences of a batch the same m and the same positions (``shared``). There is no token that ends a
    sequence: the answer is read at the last position, whatever stands there.

    noise: labels drawn at random instead, which leaves nothing to learn. Raises InvalidInput where markers do not fit.

    Source: section 3.1; positions and batches: the source's code, helpers.py.
    """

    length: int = 16
    classes: int = 8
    markers: tuple[int, ...] = (1, 2, 3, 4)
    vocabulary: int = 256
    shared: bool = True
    noise: bool = False

    def __post_init__(self) -> None:
        if not self.markers or min(self.markers) < 1 or max(self.markers) > (self.length - 1) // 2:
            raise InvalidInput(
                f"numbers of markers {self.markers} for {self.length} tokens: from 1 to {(self.length - 1) // 2} fit, "
                "no two adjacent, between the first and the last token"
            )
        if self.vocabulary <= self.first_distractor:
            raise InvalidInput(
                f"{self.vocabulary} tokens leave no distractor: values and markers are {self.first_distractor} tokens"
            )

    @property
    def first_distractor(self) -> int:
        return self.classes + max(self.markers)

    def placements(self, m: int) -> list[tuple[int, ...]]:
        """All sets of m positions from 1 to T−2 without neighbours; C(T−1−m, m) of them."""
        found = [
            places
            for places in combinations(range(1, self.length - 1), m)
            if all(b - a > 1 for a, b in pairwise(places))
        ]
        assert len(found) == comb(self.length - 1 - m, m)
        return found

    def label(self, ids: Tensor) -> Tensor:
        """(…, T) → (…): the sum of the tokens after markers, mod C, from the tokens alone."""
        marked = (ids >= self.classes) & (ids < self.first_distractor)
        return (ids[..., 1:] * marked[..., :-1]).sum(-1) % self.classes

    def batches(self, generator: torch.Generator, count: int, size: int) -> tuple[Tensor, Tensor, Tensor]:
        groups = count if self.shared else count * size
        choice = torch.randint(len(self.markers), (groups,), generator=generator)
        marked = torch.zeros(groups, self.length, dtype=torch.long)  # 1 + the number of the marker that stands here
        number = torch.tensor(self.markers)[choice]
        for m in self.markers:
            rows = (number == m).nonzero().flatten()
            # m of T−1−m places at random, then one more place before each further marker keeps them apart.
            order = torch.rand(len(rows), self.length - 1 - m, generator=generator).argsort(-1)[:, :m]
            places = order.sort(-1).values + torch.arange(m) + 1
            marked[rows.unsqueeze(-1), places] = torch.arange(m) + 1
        marked = marked.reshape(count, -1, self.length).expand(count, size, self.length)
        shape = (count, size, self.length)
        ids = torch.randint(self.first_distractor, self.vocabulary, shape, generator=generator)
        values = torch.randint(self.classes, shape, generator=generator)
        after = torch.zeros_like(marked)
        after[..., 1:] = marked[..., :-1]
        ids = torch.where(marked > 0, self.classes + marked - 1, torch.where(after > 0, values, ids))
        labels = self.label(ids)
        if self.noise:
            labels = torch.randint(self.classes, labels.shape, generator=generator)
        return ids, labels, number.reshape(count, -1).expand(count, size)


@dataclass(frozen=True)
class ModularAddition:
    """a, b and a token "=", C of the numbers; label a + b mod C. All pairs are drawn alike: nothing is held out."""

    classes: int = 8

    @property
    def vocabulary(self) -> int:
        return self.classes + 1

    @property
    def length(self) -> int:
        return 3

    def batches(self, generator: torch.Generator, count: int, size: int) -> tuple[Tensor, Tensor, Tensor]:
        pair = torch.randint(self.classes, (count, size, 2), generator=generator)
        ids = torch.cat([pair, torch.full((count, size, 1), self.classes)], -1)
        return ids, pair.sum(-1) % self.classes, torch.full((count, size), 2)
