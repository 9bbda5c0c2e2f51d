"""A flow θ' = X(θ) run in sums and products alone, so that the exact engine can differentiate it.

Gragg's midpoint rule with more and more substeps, extrapolated to infinitely many (Hairer, Nørsett, Wanner, Solving
Ordinary Differential Equations I, II.9): its error is a series in even powers of the step.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

_SUBSTEPS = (2, 4, 6, 8, 10, 12)
_FEWEST, _MOST = 4, 32
"""Steps of a flow in float64, doubled until twice as many end at the same place."""
_SAME = 1e-14


def run_to_rounding(speed: Callable[[Tensor], Tensor], start: Tensor) -> tuple[Tensor, bool]:
    """Where a flow (P,) → (P,) is after a time of 1, in float64, and whether more steps end at the same place.

    They do not where it runs into a pole.
    """
    steps = _FEWEST
    after = run(speed, start, steps)
    while steps < _MOST:
        steps *= 2
        before, after = after, run(speed, start, steps)
        if float(torch.linalg.vector_norm(after - before)) <= _SAME * float(torch.linalg.vector_norm(after)):
            return after, True
    return after, False


def run(speed: Callable[[Tensor], Tensor], start: Tensor, steps: int) -> Tensor:
    """Where a flow (P,) → (P,) is after a time of 1, in so many steps of order twelve."""
    for _ in range(steps):
        rows: list[Tensor] = []
        first = speed(start)
        for j, n in enumerate(_SUBSTEPS):
            row = [_midpoint(speed, start, first, n, n * steps)]
            for k in range(1, j + 1):
                fine, coarse = n * n, _SUBSTEPS[j - k] ** 2
                row.append(row[-1] + (row[-1] - rows[k - 1]) * coarse / (fine - coarse))
            rows = row
        start = start + rows[-1]
    return start


def _midpoint(speed: Callable[[Tensor], Tensor], start: Tensor, first: Tensor, count: int, parts: int) -> Tensor:
    """How far ``count`` substeps lead, each 1/``parts`` of the time. A way rounds less than where it ends."""
    before, way = torch.zeros_like(first), first / parts
    for _ in range(count - 1):
        before, way = way, before + 2 * speed(start + way) / parts
    return way
