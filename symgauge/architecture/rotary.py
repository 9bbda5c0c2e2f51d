"""Rotary position encodings, and the classes of planes that their rotations do not tell apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from symgauge.architecture.sizes import at_least
from symgauge.checks import is_integer, shown
from symgauge.errors import InvalidInput
from symgauge.fields import check_fields

Turn = Fraction | float
"""A rotation angle per position, in full turns (ω / 2π): exact coincidences (0, π, aliases) are then exact."""


@dataclass(frozen=True)
class RotationClass:
    """Planes whose rotations are equal up to direction, so that one commutant block mixes them (Remark D.3, completed).

    ``kind`` is "complex" (angle not a multiple of π), or "real" (angle 0 or π: the rotation is ±1, and every linear
    map of the channels commutes with it). ``channels`` lists the head channels, plane by plane for "complex" (first and
    second coordinate of each plane; ``signs`` says which planes turn the other way).

    Example:
        >>> from symgauge.architecture import Rotary
        >>> [(block.kind, block.channels) for block in Rotary.standard(4, unrotated=1).classes()]
        [('complex', (0, 2)), ('complex', (1, 3)), ('real', (4,))]
    """

    kind: Literal["complex", "real"]
    channels: tuple[int, ...]
    signs: tuple[int, ...] = ()

    @property
    def dimension(self) -> int:
        """Real dimension of this block of the commutant: 2r² for r planes, n² for n channels with a real rotation."""
        if self.kind == "complex":
            return 2 * len(self.signs) ** 2
        return len(self.channels) ** 2


@dataclass(frozen=True)
class Rotary:
    """Rotary position encoding of a head: one angle per rotated plane, the other channels left alone.

    ``turns[j]`` is the angle of plane j per position, in full turns. ``interleaved`` planes are the channels
    (2j, 2j+1); otherwise ("rotate half") plane j is (j, j + n), n the number of planes. Unrotated channels come last.

    Source: Su et al., RoFormer (arXiv:2104.09864), §3.2; rotate-half and partial rotation as in GPT-NeoX.

    Example:
        >>> import symgauge
        >>> rotary = symgauge.Rotary.standard(4, unrotated=1)
        >>> rotary.channels, rotary.commutant_dimension   # a complex number for each of two planes, and a real one
        (5, 5)
    """

    turns: tuple[Turn, ...]
    unrotated: int = 0
    interleaved: bool = False

    def __post_init__(self) -> None:
        check_fields(self, "rotary field")
        at_least(0, "rotary field", unrotated=self.unrotated)

    @classmethod
    def standard(cls, channels: int, *, base: float = 10000.0, unrotated: int = 0, interleaved: bool = False) -> Rotary:
        """The usual frequencies ω_j = base^(−2j / channels) on ``channels`` rotated channels."""
        if not is_integer(channels) or channels % 2 or channels <= 0:
            asked = f"{shown(channels)} rotated channels were asked for"
            raise InvalidInput(f"rotary encoding turns channels in pairs; {asked}")
        if isinstance(base, bool) or not isinstance(base, int | float) or not 0 < base < math.inf:
            raise InvalidInput(f"the base of rotary frequencies must be a positive number, not {shown(base)}")
        turns = tuple(base ** (-2 * j / channels) / (2 * math.pi) for j in range(channels // 2))
        return cls(turns, unrotated, interleaved)

    @property
    def channels(self) -> int:
        """Number of channels of a head, rotated and not."""
        return 2 * len(self.turns) + self.unrotated

    def plane(self, j: int) -> tuple[int, int]:
        """The two channels that plane ``j`` turns."""
        return (2 * j, 2 * j + 1) if self.interleaved else (j, j + len(self.turns))

    def classes(self) -> tuple[RotationClass, ...]:
        """Group planes by angle modulo sign and full turns; angles 0 (with the unrotated channels) and π are real."""
        still: list[int] = []
        half: list[int] = []
        moving: dict[Fraction, list[tuple[int, int]]] = {}
        for j, turn in enumerate(self.turns):
            reduced = Fraction(turn) % 1  # exact, so that turns of opposite sign meet
            if reduced == 0:
                still.extend(self.plane(j))
            elif reduced * 2 == 1:
                half.extend(self.plane(j))
            else:
                sign = 1 if reduced * 2 < 1 else -1
                moving.setdefault(reduced if sign == 1 else 1 - reduced, []).append((j, sign))
        still.extend(range(2 * len(self.turns), self.channels))
        classes = [
            RotationClass("complex", tuple(c for j, _ in planes for c in self.plane(j)), tuple(s for _, s in planes))
            for planes in moving.values()
        ]
        classes += [RotationClass("real", tuple(sorted(channels))) for channels in (half, still) if channels]
        return tuple(classes)

    @property
    def commutant_dimension(self) -> int:
        """Real dimension of the matrices that commute with every rotation."""
        return sum(block.dimension for block in self.classes())
