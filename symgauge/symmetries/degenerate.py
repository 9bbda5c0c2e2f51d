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
    that is in no case, where both agree.
    """

    reason: str
    met: Callable[[Architecture], bool]
    example: Architecture
    beside: Architecture
    seed: int = 0
