"""Smooth activation functions, all from the one exponential, so that what relates them is kept."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.rules._convert import as_element, filled
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten


@rule(aten.tanh)
def _tanh(c: Arithmetic, x: Element) -> Element:
    return c.tanh(x)


@rule(aten.sigmoid)
def _sigmoid(c: Arithmetic, x: Element) -> Element:
    return c.sigmoid(x)


@rule(aten.silu)
def _silu(c: Arithmetic, x: Element) -> Element:
    return c.mul(x, c.sigmoid(x))


@rule(aten.softplus)
def _softplus(c: Arithmetic, x: Element, beta: float = 1, threshold: float = 20) -> Element:
    """log(1 + e^βx)/β; above the threshold torch returns x itself, and so does this."""
    inner = x if beta == 1 else c.scale(x, beta)
    smooth = c.log(c.add(filled(c, x, 1.0), c.exp(inner)))
    if beta != 1:
        smooth = c.div(smooth, as_element(c, float(beta), x.reference.device))
    linear = inner.reference > threshold
    return c.select(linear, x, smooth) if bool(linear.any()) else smooth


@rule(aten.log_sigmoid_forward)
def _log_sigmoid(c: Arithmetic, x: Element) -> tuple[Element, Tensor]:
    """−log(1 + e^−x)."""
    return c.neg(c.log(c.add(filled(c, x, 1.0), c.exp(c.neg(x))))), x.reference.new_empty(0)


@rule(aten.mish)
def _mish(c: Arithmetic, x: Element) -> Element:
    """x tanh(log(1 + e^x)) = x (u² − 1)/(u² + 1) with u = 1 + e^x."""
    one = filled(c, x, 1.0)
    u = c.add(one, c.exp(x))
    square = c.mul(u, u)
    return c.mul(x, c.div(c.sub(square, one), c.add(square, one)))


@rule(aten.gelu)
def _gelu(c: Arithmetic, x: Element, *, approximate: str = "none") -> Element:
    """x Φ(x), or its tanh form 0.5 x (1 + tanh(√(2/π)(x + 0.044715 x³)))."""
    if approximate == "tanh":
        inner = c.add(x, c.scale(c.mul(x, c.mul(x, x)), 0.044715))
        gate = c.tanh(c.scale(inner, math.sqrt(2 / math.pi)))
    else:
        gate = c.erf(c.scale(x, math.sqrt(0.5)))
    return c.scale(c.mul(x, c.add(filled(c, x, 1.0), gate)), 0.5)
