"""Normalisations, each as a single operation (RMSNorm decomposes by itself), and dropout, which must be off."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.rules._convert import as_element, both
from symgauge.arithmetic.wrapper_tensor import rule
from symgauge.errors import UnsupportedOperation

aten = torch.ops.aten
Operand = Element | Tensor | None


def _affine(c: Arithmetic, x: Element, weight: Operand, bias: Operand) -> Element:
    if weight is not None:
        x = c.mul(x, as_element(c, weight))
    return x if bias is None else c.add(x, as_element(c, bias))


def _centred(c: Arithmetic, x: Element, dims: list[int]) -> tuple[Element, Element, Element]:
    """(x − mean, mean, variance) over ``dims``, which are kept."""
    mean = c.mean(x, dims, keepdim=True)
    centred = c.sub(x, mean)
    return centred, mean, c.mean(c.mul(centred, centred), dims, keepdim=True)


def _inverse_root(c: Arithmetic, variance: Element, eps: float) -> Element:
    return c.rsqrt(c.add(variance, as_element(c, float(eps), variance.reference.device)))


def _along_axis(x: Operand, axis: int, dims: int) -> Any:
    """A function that puts the one axis of a vector at ``axis`` of ``dims``."""
    shape = [1] * dims
    shape[axis] = -1
    return lambda t: t.reshape(shape)


def _channels(c: Arithmetic, x: Operand, dims: int) -> Element | None:
    return None if x is None else c.gather(_along_axis(x, 1, dims), as_element(c, x))


@rule(aten.native_layer_norm)
def _layer_norm(
    c: Arithmetic, x: Element | Tensor, shape: list[int], weight: Operand, bias: Operand, eps: float
) -> tuple[Element, Element, Element]:
    x = as_element(c, x)
    dims = list(range(x.reference.dim() - len(shape), x.reference.dim()))
    centred, mean, variance = _centred(c, x, dims)
    scale = _inverse_root(c, variance, eps)
    return _affine(c, c.mul(centred, scale), weight, bias), mean, scale


@rule(aten.native_group_norm)
def _group_norm(
    c: Arithmetic,
    x: Element | Tensor,
    weight: Operand,
    bias: Operand,
    n: int,
    channels: int,
    size: int,
    groups: int,
    eps: float,
) -> tuple[Element, Element, Element]:
    x = as_element(c, x)
    whole = x.shape
    centred, mean, variance = _centred(c, c.gather(lambda t: t.reshape(n, groups, -1), x), [2])
    scale = _inverse_root(c, variance, eps)
    normal = c.gather(lambda t: t.reshape(whole), c.mul(centred, scale))
    weight, bias = (_channels(c, t, len(whole)) for t in (weight, bias))
    flat = [c.gather(lambda t: t.squeeze(-1), t) for t in (mean, scale)]
    return _affine(c, normal, weight, bias), flat[0], flat[1]


@rule(aten.native_batch_norm)
def _batch_norm(
    c: Arithmetic,
    x: Element | Tensor,
    weight: Operand,
    bias: Operand,
    running_mean: Operand,
    running_var: Operand,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Element, Element, Element]:
    """By running statistics in evaluation mode, by the batch's own without them (instance norm is one of these)."""
    x = as_element(c, x)
    n = x.reference.dim()
    if not training:
        mean, variance = _channels(c, running_mean, n), _channels(c, running_var, n)
        assert mean is not None
        assert variance is not None
        centred = c.sub(x, mean)
    elif running_mean is not None or running_var is not None:
        raise UnsupportedOperation("batch norm is in training mode and writes its statistics: call module.eval() first")
    else:
        centred, mean, variance = _centred(c, x, [d for d in range(n) if d != 1])
    scale = _inverse_root(c, variance, eps)
    result = _affine(c, c.mul(centred, scale), _channels(c, weight, n), _channels(c, bias, n))
    flat = [c.gather(lambda t: t.reshape(-1), t) for t in (mean, scale)]
    return result, flat[0], flat[1]


@rule(aten._weight_norm_interface)
def _weight_norm(c: Arithmetic, v: Element | Tensor, g: Element | Tensor, dim: int = 0) -> tuple[Element, Element]:
    """v·g/|v|, the length taken over all axes but ``dim`` (over all for dim = −1)."""
    v, g = both(c, v, g)
    dims = [d for d in range(v.reference.dim()) if d != dim]
    length = c.sqrt(c.sum(c.mul(v, v), dims, keepdim=True))
    return c.mul(v, c.div(g, length)), length


@rule(aten.native_dropout)
def _dropout(c: Arithmetic, x: Element, p: float, train: Any) -> tuple[Element, Tensor]:
    """Dropout in evaluation mode is the identity; in training mode the function is random and has no fibre."""
    if train and p > 0:
        raise UnsupportedOperation("dropout is active: call module.eval() first, a random function has no fibre")
    return x, torch.ones_like(x.reference, dtype=torch.bool)
