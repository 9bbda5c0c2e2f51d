"""Powers: integers by multiplication, halves and quarters by roots, all others by exponential and logarithm."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.rules._convert import filled
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten
_LONGEST = 2**16
"""Integer exponents up to here are multiplied out."""


@rule(aten.sqrt)
def _sqrt(c: Arithmetic, x: Element) -> Element:
    return c.sqrt(x)


@rule(aten.rsqrt)
def _rsqrt(c: Arithmetic, x: Element) -> Element:
    return c.rsqrt(x)


@rule(aten.pow)
def _pow(c: Arithmetic, base: Element | Tensor | float, exponent: Element | Tensor | float) -> Element:
    if isinstance(base, Element) and isinstance(exponent, Tensor):
        return _tensor_power(c, base, exponent)
    if isinstance(base, Element) and isinstance(exponent, (int, float)):
        return power(c, base, exponent)
    if isinstance(base, (int, float)):  # one factor log(base), as in exp(x · log(base)) written out
        assert isinstance(exponent, Element)
        return c.exp(c.scale(exponent, math.log(base)))
    if isinstance(base, Tensor):
        base = c.lift(base.double().log())
        return c.exp(c.mul(base, exponent))
    return c.exp(c.mul(exponent, c.log(base)))


def power(c: Arithmetic, base: Element, exponent: float) -> Element:
    """base^exponent for a number."""
    quarters = 4 * exponent
    if quarters != int(quarters) or abs(exponent) > _LONGEST:
        return c.exp(c.scale(c.log(base), exponent))
    whole, quarter = divmod(int(abs(quarters)), 4)
    negative = exponent < 0
    if quarter == 2:
        root = c.rsqrt(base) if negative else c.sqrt(base)
        if whole == 0:
            return root
    elif quarter:
        root = c.sqrt(c.sqrt(base))
        root = root if quarter == 1 else c.mul(root, c.mul(root, root))
        root = c.reciprocal(root) if negative else root
    result = _integer_power(c, base, torch.full_like(base.reference, whole, dtype=torch.int64))
    result = c.reciprocal(result) if negative and whole else result
    return c.mul(result, root) if quarter else result


def _integer_power(c: Arithmetic, base: Element, exponent: Tensor) -> Element:
    """base^n entry by entry for integers n ≥ 0, by repeated squaring."""
    result = c.expand(filled(c, base, 1.0), exponent.shape)
    while bool((exponent > 0).any()):
        odd = exponent & 1 == 1
        if bool(odd.all()):
            result = c.mul(result, base)
        elif bool(odd.any()):
            result = c.select(odd, c.mul(result, base), result)
        exponent = exponent >> 1
        if bool((exponent > 0).any()):
            base = c.mul(base, base)
    return result


def _tensor_power(c: Arithmetic, base: Element, exponent: Tensor) -> Element:
    """A power per entry; when all are integers, so that γ^n needs no logarithm (decays of a retention, say)."""
    exponent = exponent.double()
    if not bool((exponent == exponent.round()).all()) or bool((exponent.abs() > _LONGEST).any()):
        return c.exp(c.mul(c.log(base), c.lift(exponent)))
    shape = torch.broadcast_shapes(base.shape, exponent.shape)
    base, exponent = c.expand(base, shape), exponent.expand(shape).to(torch.int64)
    result = _integer_power(c, base, exponent.abs())
    if not bool((exponent < 0).any()):
        return result
    return c.select(exponent < 0, c.reciprocal(result), result)
