"""Ideals that are the same but for an index (a head, a neuron, a layer), told together."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symgauge.discovery.ideals import Ideal

_INDEX = re.compile(
    r"(?<=[\[ ])(?:\d+(?::\d+)?|\{[\d,]+\})(?=[,\]])"
    r"|(?<![\w\[])\d+(?=\.)|(?<=\.)\d+(?=[.\[ ,;\n]|$)|(?<=__)\d+(?=__)"
)
"""An index in a slice, v[0, 2:4], or in a tensor's name, layers.0.v."""
_LETTERS = "ijkmnpqr"


@dataclass(frozen=True)
class Alike:
    """Ideals with one action but for indices, which are letters in ``tensors`` and ``action``."""

    ideals: tuple[Ideal, ...]
    tensors: tuple[str, ...]
    action: str
    where: str
    """What the letters stand for: "i = 0…3"; empty where there are none."""

    @property
    def algebra(self) -> str:
        return self.ideals[0].algebra

    @property
    def dimension(self) -> int:
        """Of all together."""
        return sum(ideal.dimension for ideal in self.ideals)


def without_indices(text: str) -> str:
    """Indices of slices and in names left out."""
    return _INDEX.sub("#", text)


def alike(ideals: Sequence[Ideal]) -> list[Alike]:
    """Ideals in groups, in the order in which they come."""
    groups: dict[tuple[str, int, str], list[Ideal]] = {}
    for ideal in ideals:
        groups.setdefault((ideal.algebra, ideal.dimension, without_indices(_text(ideal))), []).append(ideal)
    return [_group(members) for members in groups.values()]


def _text(ideal: Ideal) -> str:
    return "\n".join([*ideal.tensors, ideal.action])


def _group(members: Sequence[Ideal]) -> Alike:
    """Indices in which members differ become letters; those that go together have one letter."""
    columns = list(zip(*(_INDEX.findall(_text(ideal)) for ideal in members), strict=True))
    differing = list(dict.fromkeys(column for column in columns if len(set(column)) > 1))
    if len(differing) > len(_LETTERS):
        differing = []
    letters = dict(zip(differing, _LETTERS, strict=False))
    written = iter([letters.get(column, column[0]) for column in columns])
    *tensors, action = _INDEX.sub(lambda _: next(written), _text(members[0])).split("\n")
    return Alike(tuple(members), tuple(tensors), action, _where(letters))


def _where(letters: dict[tuple[str, ...], str]) -> str:
    """ "i = 0…3", or "(i, j) = (0, 0), (1, 0), …"."""
    if not letters:
        return ""
    values = list(zip(*letters, strict=True))
    if len(letters) == 1:
        names, shown = "".join(letters.values()), _shortened([value for (value,) in values])
    else:
        names = f"({', '.join(letters.values())})"
        shown = _shortened([f"({', '.join(value)})" for value in values])
    return f"{names} = {shown}"


def _shortened(values: Sequence[str]) -> str:
    """Consecutive numbers as a range, others by the first few and the last."""
    if all(value.isdigit() for value in values):
        numbers = [int(value) for value in values]
        if len(numbers) > 2 and all(b - a == 1 for a, b in itertools.pairwise(numbers)):
            return f"{numbers[0]}…{numbers[-1]}"
    return ", ".join(values if len(values) <= 4 else [*values[:3], "…", values[-1]])
