"""Rotary position encoding as a table of cosines and sines, exact at multiples of a quarter turn."""

from __future__ import annotations

import math
from fractions import Fraction

import torch
from torch import Tensor

from symgauge.architecture import Rotary, Turn

_QUARTERS = {0: (1.0, 0.0), 1: (0.0, 1.0), 2: (-1.0, 0.0), 3: (0.0, -1.0)}


def cos_sin(turn: Turn, position: int) -> tuple[float, float]:
    """Cosine and sine of ``turn · position`` full turns.

    The product is reduced modulo 1 in rational arithmetic first. Angles that agree up to full turns then give the same
    two numbers, opposite angles give opposite sines, and quarter turns give 0 and ±1, without rounding.
    """
    fraction = Fraction(turn) * position % 1
    if 4 % fraction.denominator == 0:
        return _QUARTERS[int(4 * fraction)]
    sign = 1
    if fraction * 2 > 1:
        fraction, sign = 1 - fraction, -1
    angle = 2 * math.pi * float(fraction)
    return math.cos(angle), sign * math.sin(angle)


def tables(rotary: Rotary, length: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of shape (length, planes) on the device of ``like``, in its floating type."""
    values = torch.tensor(
        [[cos_sin(turn, position) for turn in rotary.turns] for position in range(length)], dtype=torch.float64
    ).to(device=like.device, dtype=like.dtype)
    return values[..., 0], values[..., 1]


def rotate(x: Tensor, rotary: Rotary | None, scale: float = 1.0) -> Tensor:
    """Turn the planes of ``x`` (..., T, channels) by their angle times the position; other channels pass unchanged.

    ``scale`` multiplies the rotated channels (the "attention factor" of some context extensions; 1 otherwise).
    """
    if rotary is None or not rotary.turns:
        return x
    n = len(rotary.turns)
    cos, sin = (scale * table for table in tables(rotary, x.shape[-2], x))
    if rotary.interleaved:
        first, second = x[..., 0 : 2 * n : 2], x[..., 1 : 2 * n : 2]
    else:
        first, second = x[..., :n], x[..., n : 2 * n]
    turned = (first * cos - second * sin, second * cos + first * sin)
    joined = torch.stack(turned, dim=-1).flatten(-2) if rotary.interleaved else torch.cat(turned, dim=-1)
    return torch.cat((joined, x[..., 2 * n :]), dim=-1) if rotary.unrotated else joined
