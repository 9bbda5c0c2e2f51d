"""Floats that stand for a simple fraction: 1/3 is no float, but whoever writes the nearest one to it means 1/3."""

from __future__ import annotations

import torch
from torch import Tensor

_LARGEST_DENOMINATOR = {torch.float64: 10_000, torch.float32: 100}
"""By chance a random float64 is nearest to such a fraction once in 10⁸ times, a float32 once in some thousands."""
_STEPS = 24
"""The slowest continued fraction, of Fibonacci numbers, is past the largest denominator by then."""


def simple_fractions(x: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """(numerators, denominators, found) of the entries that are nearest to a fraction but no dyadic rational.

    ``x`` is float64 or float32, any shape; the three results have its shape. None where no entry is.
    """
    largest = _LARGEST_DENOMINATOR.get(x.dtype)
    if largest is None:
        return None
    open_ = torch.isfinite(x) & (x.abs() < 2**20) & (x != (x * 2**20).round() / 2**20)
    if not bool(open_.any()):
        return None
    number = torch.where(open_, x, 0.0).double()
    # Convergents h/k of the continued fraction, from (h, k) = (1, 0) and (0, 1).
    h, k = torch.ones_like(number), torch.zeros_like(number)
    h_before, k_before = torch.zeros_like(number), torch.ones_like(number)
    rest, found = number, torch.zeros_like(open_)
    numerator, denominator = torch.zeros_like(number), torch.ones_like(number)
    for _ in range(_STEPS):
        whole = torch.floor(rest)
        h, h_before = whole * h + h_before, h
        k, k_before = whole * k + k_before, k
        open_ = open_ & (k <= largest)
        hit = open_ & ((h / k).to(x.dtype) == x)
        numerator, denominator = torch.where(hit, h, numerator), torch.where(hit, k, denominator)
        found, open_ = found | hit, open_ & ~hit
        if not bool(open_.any()):
            break
        fraction = rest - whole
        rest = torch.where(fraction > 1e-12, 1 / fraction.clamp_min(1e-12), 1e18)
    if not bool(found.any()):
        return None
    return numerator.to(torch.int64), denominator.to(torch.int64), found
