"""Exponentials, logarithms, circular and hyperbolic functions.

Whatever one exponential or logarithm can express is built from it; sine and cosine share a half angle; the arc tangent
is the one further uninterpreted element, from which the other inverse functions follow.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.rules._convert import as_element, axes, both, filled
from symgauge.arithmetic.rules.algebra import _cumsum
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten
_OVERFLOW = 600.0
"""Above this the float64 reference of an exponential is close to infinity, so the largest term is taken out first."""


# ----- exponentials and logarithms


@rule(aten.exp)
def _exp(c: Arithmetic, x: Element) -> Element:
    return c.exp(x)


@rule(aten.exp2)
def _exp2(c: Arithmetic, x: Element) -> Element:
    return c.exp(c.scale(x, math.log(2)))


@rule(aten.expm1)
def _expm1(c: Arithmetic, x: Element) -> Element:
    return c.sub(c.exp(x), filled(c, x, 1.0))


@rule(aten.log)
def _log(c: Arithmetic, x: Element) -> Element:
    return c.log(x)


@rule(aten.log1p)
def _log1p(c: Arithmetic, x: Element) -> Element:
    return c.log(c.add(filled(c, x, 1.0), x))


@rule(aten.log2)
def _log2(c: Arithmetic, x: Element) -> Element:
    return c.div(c.log(x), as_element(c, math.log(2), x.reference.device))


@rule(aten.log10)
def _log10(c: Arithmetic, x: Element) -> Element:
    return c.div(c.log(x), as_element(c, math.log(10), x.reference.device))


def _weights(c: Arithmetic, x: Element, largest: Tensor) -> Element:
    """e^x, and 0 for what vanishes beside the largest entry (scores masked by −∞ or by any big number)."""
    nothing = torch.exp(x.reference - largest) == 0
    if not bool(nothing.any()):
        return c.exp(x)
    zero = filled(c, x, 0.0)
    return c.select(nothing, zero, c.exp(c.select(nothing, zero, x)))


@rule(aten.logsumexp)
def _logsumexp(c: Arithmetic, x: Element, dim: Any, keepdim: bool = False) -> Element:
    dims = axes(x, dim)
    if not dims:
        return x
    largest = x.reference.amax(tuple(dims), keepdim=True)
    if not bool((largest > _OVERFLOW).any()):
        return c.log(c.sum(_weights(c, x, largest), dims, keepdim))
    shift = c.lift(largest.round())
    below = _logsumexp(c, c.sub(x, shift), dims, keepdim=True)
    return c.gather(lambda t: t if keepdim else t.squeeze(tuple(dims)), c.add(below, shift))


@rule(aten.logcumsumexp)
def _logcumsumexp(c: Arithmetic, x: Element, dim: int) -> Element:
    largest = torch.cummax(x.reference, dim).values
    return c.log(_cumsum(c, _weights(c, x, largest), dim))


@rule(aten.logaddexp)
def _logaddexp(c: Arithmetic, a: Element | Tensor, b: Element | Tensor) -> Element:
    pair = torch.broadcast_shapes(a.shape, b.shape)
    both_of = c.concatenate(lambda parts: torch.stack([p.expand(pair) for p in parts], -1), list(both(c, a, b)))
    return _logsumexp(c, both_of, -1)


@rule(aten.logaddexp2)
def _logaddexp2(c: Arithmetic, a: Element | Tensor, b: Element | Tensor) -> Element:
    first, second = (c.scale(t, math.log(2)) for t in both(c, a, b))
    return c.div(_logaddexp(c, first, second), as_element(c, math.log(2), first.reference.device))


# ----- error function


@rule(aten.erf)
def _erf(c: Arithmetic, x: Element) -> Element:
    return c.erf(x)


@rule(aten.erfc)
def _erfc(c: Arithmetic, x: Element) -> Element:
    return c.sub(filled(c, x, 1.0), c.erf(x))


# ----- hyperbolic functions


def _halves(c: Arithmetic, x: Element) -> tuple[Element, Element]:
    e = c.exp(x)
    return c.scale(e, 0.5), c.scale(c.reciprocal(e), 0.5)


@rule(aten.sinh)
def _sinh(c: Arithmetic, x: Element) -> Element:
    return c.sub(*_halves(c, x))


@rule(aten.cosh)
def _cosh(c: Arithmetic, x: Element) -> Element:
    return c.add(*_halves(c, x))


def _odd(c: Arithmetic, x: Element, function: Any) -> Element:
    """f(x) from f(|x|) for an odd function, so that f(−x) = −f(x) holds exactly."""
    negative = x.reference < 0
    result = function(c.select(negative, c.neg(x), x))
    return c.select(negative, c.neg(result), result)


@rule(aten.asinh)
def _asinh(c: Arithmetic, x: Element) -> Element:
    return _odd(c, x, lambda y: c.log(c.add(y, c.sqrt(c.add(c.mul(y, y), filled(c, y, 1.0))))))


@rule(aten.acosh)
def _acosh(c: Arithmetic, x: Element) -> Element:
    return c.log(c.add(x, c.sqrt(c.sub(c.mul(x, x), filled(c, x, 1.0)))))


@rule(aten.atanh)
def _atanh(c: Arithmetic, x: Element) -> Element:
    one = filled(c, x, 1.0)
    return _odd(c, x, lambda y: c.scale(c.log(c.div(c.add(one, y), c.sub(one, y))), 0.5))


# ----- circular functions


@rule(aten.cos)
def _cos(c: Arithmetic, x: Element) -> Element:
    return c.cos_sin(x)[0]


@rule(aten.sin)
def _sin(c: Arithmetic, x: Element) -> Element:
    return c.cos_sin(x)[1]


@rule(aten.tan)
def _tan(c: Arithmetic, x: Element) -> Element:
    cos, sin = c.cos_sin(x)
    return c.div(sin, cos)


@rule(aten.sinc)
def _sinc(c: Arithmetic, x: Element) -> Element:
    """sin(πx)/(πx), and 1 at 0."""
    centre, one = x.reference == 0, filled(c, x, 1.0)
    angle = c.scale(c.select(centre, one, x), math.pi)
    return c.select(centre, one, c.div(c.cos_sin(angle)[1], angle))


@rule(aten.atan)
def _atan(c: Arithmetic, x: Element) -> Element:
    return c.atan(x)


@rule(aten.asin)
def _asin(c: Arithmetic, x: Element) -> Element:
    return c.atan(c.mul(x, c.rsqrt(c.sub(filled(c, x, 1.0), c.mul(x, x)))))


@rule(aten.acos)
def _acos(c: Arithmetic, x: Element) -> Element:
    return c.sub(filled(c, x, math.pi / 2), _asin(c, x))


@rule(aten.atan2)
def _atan2(c: Arithmetic, y: Element | Tensor, x: Element | Tensor) -> Element:
    """arctan(y/x), and half a turn more where x < 0; a right angle less arctan(x/y) where x is 0."""
    y, x = both(c, y, x)
    upright = x.reference == 0
    one = as_element(c, 1.0, x.reference.device)
    across = c.atan(c.div(y, c.select(upright, one, x)))
    along = c.neg(c.atan(c.div(x, c.select(upright, y, one))))
    turn = math.pi * (x.reference < 0).double() + math.pi / 2 * upright.double()
    return c.add(c.select(upright, along, across), c.lift(torch.where(y.reference < 0, -turn, turn)))
