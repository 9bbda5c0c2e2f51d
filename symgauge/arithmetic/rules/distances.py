"""Lengths and distances."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.rules._convert import as_element, axes, both, filled, total
from symgauge.arithmetic.rules.comparison import _along
from symgauge.arithmetic.rules.piecewise import _abs
from symgauge.arithmetic.rules.powers import power
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten


@rule(aten.linalg_vector_norm)
def _vector_norm(
    c: Arithmetic, x: Element, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Element | Tensor:
    """(Σ |x|^p)^(1/p); the largest (smallest) size for p = ±∞, the number of non-zero entries for p = 0."""
    dims = axes(x, dim)
    if ord == 0:
        return torch.linalg.vector_norm(x.reference, 0, tuple(dims), keepdim)
    if math.isinf(ord):
        size = _abs(c, x)
        for d in sorted(dims, reverse=True):
            size = _along(ord > 0)(c, size, d, keepdim)[0]
        return size
    if ord == 2:
        return c.sqrt(total(c, c.mul(x, x), dims, keepdim))
    even = ord == int(ord) and int(ord) % 2 == 0
    powers = total(c, power(c, x if even else _abs(c, x), ord), dims, keepdim)
    return powers if ord == 1 else power(c, powers, 1 / ord)


@rule(aten._cdist_forward)
def _cdist(c: Arithmetic, a: Element | Tensor, b: Element | Tensor, p: float, mode: int | None = None) -> Element:
    """Distances of all rows of a to all of b. One that is 0 to the last digit is 0 everywhere: rows of one tensor."""
    a, b = both(c, a, b)
    difference = c.sub(c.gather(lambda t: t.unsqueeze(-2), a), c.gather(lambda t: t.unsqueeze(-3), b))
    same = (difference.reference == 0).all(-1)
    apart = c.select(same.unsqueeze(-1), filled(c, difference, 1.0), difference)
    distance = as_element(c, _vector_norm(c, apart, p, -1))
    return c.select(same, filled(c, distance, 0.0), distance)
