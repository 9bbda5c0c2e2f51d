"""Whether two computations of the same outputs agree: up to rounding, and infinite or undefined in the same places.

Rounding in float64 changes outputs by some 1e-15 of their size, perhaps a thousandfold more through depth and logits;
another function changes them by a visible share. The tolerance stands far from both, so it needs no model of depth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

TOLERANCE = 1e-6
"""Of the scale: the largest entry of the same input's output, and no less than 1e-6 of the whole batch's."""
FLOOR = 1e-12
"""Differences as small as this are rounding whatever the scale: outputs that cancel have none."""


@dataclass(frozen=True)
class Agreement:
    """Whether outputs agree; if not, ``reason`` says where and by how much. ``worst``: largest difference / scale."""

    holds: bool
    worst: float
    reason: str = ""

    def __bool__(self) -> bool:
        return self.holds


def agreement(
    shadow: Tensor | Sequence[Tensor], plain: Tensor | Sequence[Tensor], *, tolerance: float = TOLERANCE
) -> Agreement:
    """Compare outputs (batch, …), or lists of them, entry by entry.

    Shapes, NaN and infinities must be the same; other entries may differ by ``tolerance`` times the scale of their
    input's output. It serves as well for a batch against its sequences run alone (concatenated), and for a second run.
    """
    found, expected = ([x] if isinstance(x, Tensor) else list(x) for x in (shadow, plain))
    if len(found) != len(expected):
        return Agreement(False, math.inf, f"{len(found)} output tensors against {len(expected)}")
    worst = 0.0
    for number, (x, y) in enumerate(zip(found, expected, strict=True)):
        of = f"output {number}: " if len(found) > 1 else ""
        if x.shape != y.shape:
            return Agreement(False, math.inf, f"{of}shape {tuple(x.shape)} against {tuple(y.shape)}")
        x, y = x.detach().double().cpu(), y.detach().double().cpu()
        one = _compare(x, y, tolerance)
        if not one.holds:
            return Agreement(False, one.worst, of + one.reason)
        worst = max(worst, one.worst)
    return Agreement(True, worst)


def _compare(x: Tensor, y: Tensor, tolerance: float) -> Agreement:
    if not x.numel():
        return Agreement(True, 0.0)
    finite = torch.isfinite(x) & torch.isfinite(y)
    same = finite | (x == y) | (x.isnan() & y.isnan())
    if not bool(same.all()):
        return Agreement(False, math.inf, _where(~same, x, y, "not finite in the same places"))
    x, y = x.where(finite, 0.0), y.where(finite, 0.0)
    sizes = torch.maximum(x.abs(), y.abs())
    own = sizes.reshape(len(x), -1).amax(1).reshape(-1, *[1] * (x.dim() - 1)) if x.dim() else sizes
    scale = torch.maximum(own, 1e-6 * sizes.max())
    difference = (x - y).abs()
    relative = torch.where(difference > FLOOR, difference / scale.clamp_min(FLOOR), 0.0)
    worst = float(relative.max())
    if worst <= tolerance:
        return Agreement(True, worst)
    return Agreement(False, worst, _where(relative == worst, x, y, f"they differ by {worst:.1e} of their scale"))


def _where(marked: Tensor, x: Tensor, y: Tensor, what: str) -> str:
    index = tuple(marked.nonzero()[0].tolist())
    return f"{what}, at index {index}: {float(x[index]):.6g} against {float(y[index]):.6g}"
