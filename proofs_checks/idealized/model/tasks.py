"""Deterministic tasks: what token is to follow each sequence of T tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import xor

import torch
from torch import Tensor

from symgauge.errors import InvalidInput
from symgauge.exact.probes import Tokens


@dataclass(frozen=True)
class Task:
    """A function from token tuples to a token. A task of your own is `Task("name", V, T, rule)`.

    Raises InvalidInput when the rule gives anything but a token for some input.
    """

    name: str
    vocabulary: int
    length: int
    rule: Callable[[tuple[int, ...]], int]

    def __post_init__(self) -> None:
        for word in self.words():
            answer = self.rule(word)
            if answer not in range(self.vocabulary):
                raise InvalidInput(f"task {self.name!r}: {word} gives {answer!r}, no token below {self.vocabulary}")

    def words(self) -> list[tuple[int, ...]]:
        """All V^T inputs, in counting order."""
        return [tuple(word) for word in self.inputs.tolist()]

    @property
    def inputs(self) -> Tensor:
        """(V^T, T) int64."""
        return Tokens(self.vocabulary, self.length).all()

    @property
    def targets(self) -> Tensor:
        """(V^T,) int64."""
        return torch.tensor([self.rule(word) for word in self.words()])

    @property
    def best_accuracy(self) -> float:
        """Of any function of the last token and the multiset of the others: what one layer without positions can do."""
        answers: dict[tuple[int, tuple[int, ...]], Counter[int]] = {}
        for word in self.words():
            answers.setdefault(seen(word), Counter())[self.rule(word)] += 1
        return sum(max(counts.values()) for counts in answers.values()) / self.vocabulary**self.length

    def __str__(self) -> str:
        return f"{self.name} (V={self.vocabulary}, T={self.length})"


def seen(word: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """What one layer without positions can know of an input at its last position."""
    return word[-1], tuple(sorted(word[:-1]))


def copy_last(vocabulary: int = 2, length: int = 3) -> Task:
    """The last token again."""
    return Task("Copy-Last", vocabulary, length, lambda word: word[-1])


def parity(length: int = 3) -> Task:
    """XOR of all tokens."""
    return Task("XOR of all", 2, length, lambda word: reduce(xor, word))


def xor_last_two(length: int = 3) -> Task:
    return Task("XOR of the last two", 2, length, lambda word: word[-1] ^ word[-2])


def xor_first_two(length: int = 3) -> Task:
    return Task("XOR of the first two", 2, length, lambda word: word[0] ^ word[1])
