"""Activation functions. Their transcendental parts are fresh elements of the field; derivatives are exact."""

from __future__ import annotations

import math

import torch

from symgauge.arithmetic.carrier import rule
from symgauge.arithmetic.jet import Calculus, Jet
from symgauge.arithmetic.rules._convert import as_jet

aten = torch.ops.aten


@rule(aten.exp)
def _exp(c: Calculus, x: Jet) -> Jet:
    return c.exp(x)


@rule(aten.log)
def _log(c: Calculus, x: Jet) -> Jet:
    return c.log(x)


@rule(aten.erf)
def _erf(c: Calculus, x: Jet) -> Jet:
    return c.erf(x)


@rule(aten.tanh)
def _tanh(c: Calculus, x: Jet) -> Jet:
    return c.tanh(x)


@rule(aten.sigmoid)
def _sigmoid(c: Calculus, x: Jet) -> Jet:
    return c.sigmoid(x)


@rule(aten.cos)
def _cos(c: Calculus, x: Jet) -> Jet:
    return c.cos_sin(x)[0]


@rule(aten.sin)
def _sin(c: Calculus, x: Jet) -> Jet:
    return c.cos_sin(x)[1]


@rule(aten.silu)
def _silu(c: Calculus, x: Jet) -> Jet:
    return c.mul(x, c.sigmoid(x))


@rule(aten.softplus)
def _softplus(c: Calculus, x: Jet, beta: float = 1, threshold: float = 20) -> Jet:
    one = c.lift(torch.ones_like(x.shadow))
    return c.scale(c.log(c.add(one, c.exp(c.scale(x, beta)))), 1 / beta)


@rule(aten.gelu)
def _gelu(c: Calculus, x: Jet, *, approximate: str = "none") -> Jet:
    """x Φ(x), or its tanh form 0.5 x (1 + tanh(√(2/π)(x + 0.044715 x³)))."""
    if approximate == "tanh":
        inner = c.add(x, c.scale(c.mul(x, c.mul(x, x)), 0.044715))
        gate = c.tanh(c.scale(inner, math.sqrt(2 / math.pi)))
    else:
        gate = c.erf(c.scale(x, math.sqrt(0.5)))
    return c.scale(c.mul(x, c.add(c.lift(torch.ones_like(x.shadow)), gate)), 0.5)


@rule(aten.relu)
def _relu(c: Calculus, x: Jet) -> Jet:
    return c.select(x.shadow > 0, x, c.lift(torch.zeros_like(x.shadow)))


@rule(aten.leaky_relu)
def _leaky_relu(c: Calculus, x: Jet, negative_slope: float = 0.01) -> Jet:
    return c.select(x.shadow > 0, x, c.scale(x, negative_slope))


@rule(aten.abs)
def _abs(c: Calculus, x: Jet) -> Jet:
    return c.select(x.shadow >= 0, x, c.neg(x))


@rule(aten.clamp)
def _clamp(c: Calculus, x: Jet, min: float | None = None, max: float | None = None) -> Jet:
    """Clamping by numbers; which side an entry is on is decided by the shadow."""
    if min is not None:
        x = c.select(x.shadow > min, x, as_jet(c, torch.full_like(x.shadow, min)))
    if max is not None:
        x = c.select(x.shadow < max, x, as_jet(c, torch.full_like(x.shadow, max)))
    return x


@rule(aten.clamp_min)
def _clamp_min(c: Calculus, x: Jet, min: float) -> Jet:
    return _clamp(c, x, min=min)


@rule(aten.clamp_max)
def _clamp_max(c: Calculus, x: Jet, max: float) -> Jet:
    return _clamp(c, x, max=max)
