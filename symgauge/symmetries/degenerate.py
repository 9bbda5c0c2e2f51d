"""Degenerate cases: architectures whose fibre is not what the known families say, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from symgauge.architecture import Architecture


@dataclass(frozen=True)
class DegenerateCase:
    """A condition under which the families' dimension is not the fibre's: nearly always more is free than they count.

    reason: one clause that says what happens. met: whether an architecture is in the case. example: a small one that is
    and whose exact nullity (at the random point of ``seed``) differs from the families' dimension; beside: a neighbour
    that is in no case, where both agree. of_point: whether the parameter point decides; where the exact run finds every
    unit on both sides and every expert chosen, the count is right.
    """

    reason: str
    met: Callable[[Architecture], bool]
    example: Architecture
    beside: Architecture
    seed: int = 0
    of_point: bool = False
