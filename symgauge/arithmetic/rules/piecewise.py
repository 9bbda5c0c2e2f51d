"""Functions made of pieces; the float64 reference says which one an entry is on. Others decompose into these."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.rules._convert import as_element, filled, is_guard
from symgauge.arithmetic.wrapper_tensor import rule
from symgauge.errors import UnsupportedOperation

aten = torch.ops.aten
Bound = Element | Tensor | float | None


@rule(aten.relu)
def _relu(c: Arithmetic, x: Element) -> Element:
    c.threshold("relu", x)
    return c.select(x.reference > 0, x, filled(c, x, 0.0))


@rule(aten.leaky_relu)
def _leaky_relu(c: Arithmetic, x: Element, negative_slope: float = 0.01) -> Element:
    c.threshold("leaky_relu", x)
    return c.select(x.reference > 0, x, c.scale(x, negative_slope))


@rule(aten.rrelu_with_noise)
def _rrelu(
    c: Arithmetic, x: Element, noise: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, *_: Any
) -> Element:
    """In evaluation mode the slope below zero is the mean of its bounds; in training it is random."""
    if training:
        raise UnsupportedOperation("rrelu draws random slopes in training: call module.eval() first")
    return _leaky_relu(c, x, (lower + upper) / 2)


@rule(aten.abs)
def _abs(c: Arithmetic, x: Element) -> Element:
    c.threshold("abs", x)
    return c.select(x.reference >= 0, x, c.neg(x))


@rule(aten.clamp)
def _clamp(c: Arithmetic, x: Element | Tensor, min: Bound = None, max: Bound = None) -> Element:
    """Clamping by numbers or tensors; torch lets the upper bound win where the two cross."""
    device = next(t.reference.device for t in (x, min, max) if isinstance(t, Element))
    result = as_element(c, x, device)
    if min is not None:
        low = as_element(c, min, device)
        c.threshold("clamp", c.sub(result, low), is_guard(low))
        result = c.select(result.reference >= low.reference, result, low)
    if max is not None:
        high = as_element(c, max, device)
        c.threshold("clamp", c.sub(high, result), is_guard(high))
        result = c.select(result.reference <= high.reference, result, high)
    return result


@rule(aten.clamp_min)
def _clamp_min(c: Arithmetic, x: Element | Tensor, min: Bound) -> Element:
    return _clamp(c, x, min=min)


@rule(aten.clamp_max)
def _clamp_max(c: Arithmetic, x: Element | Tensor, max: Bound) -> Element:
    return _clamp(c, x, max=max)


@rule(aten.nan_to_num)
def _nan_to_num(
    c: Arithmetic, x: Element, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Element:
    return c.select(torch.isfinite(x.reference), x, c.lift(torch.nan_to_num(x.reference, nan, posinf, neginf)))
