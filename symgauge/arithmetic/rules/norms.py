"""LayerNorm and RMSNorm as single operations."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.carrier import rule
from symgauge.arithmetic.jet import Calculus, Jet
from symgauge.arithmetic.rules._convert import as_jet

aten = torch.ops.aten


def _standardise(c: Calculus, x: Jet, dims: list[int], eps: float, centre: bool) -> tuple[Jet, Jet, Jet | None]:
    """(x − mean) / √(mean of squares + eps) over ``dims``, the reciprocal root, and the mean."""
    mean = c.mean(x, dims, keepdim=True) if centre else None
    centred = x if mean is None else c.sub(x, mean)
    variance = c.mean(c.mul(centred, centred), dims, keepdim=True)
    scale = c.rsqrt(c.add(variance, as_jet(c, float(eps), x.shadow.device)))
    return c.mul(centred, scale), scale, mean


@rule(aten.native_layer_norm)
def _layer_norm(
    c: Calculus, x: Jet, shape: list[int], weight: Jet | Tensor | None, bias: Jet | Tensor | None, eps: float
) -> tuple[Jet, Jet, Jet]:
    dims = list(range(x.shadow.dim() - len(shape), x.shadow.dim()))
    result, scale, mean = _standardise(c, x, dims, eps, centre=True)
    if weight is not None:
        result = c.mul(result, as_jet(c, weight))
    if bias is not None:
        result = c.add(result, as_jet(c, bias))
    assert mean is not None
    return result, mean, scale


@rule(aten._fused_rms_norm)
def _rms_norm(c: Calculus, x: Jet, shape: list[int], weight: Jet | Tensor | None, eps: float | None) -> tuple[Jet, Jet]:
    dims = list(range(x.shadow.dim() - len(shape), x.shadow.dim()))
    result, scale, _ = _standardise(c, x, dims, torch.finfo(torch.float64).eps if eps is None else eps, centre=False)
    return (result if weight is None else c.mul(result, as_jet(c, weight))), scale


@rule(aten.native_dropout)
def _dropout(c: Calculus, x: Jet, p: float, train: Any) -> tuple[Jet, Tensor]:
    """Dropout in evaluation mode is the identity; in training mode the function is random and has no fibre."""
    if train and p > 0:
        from symgauge.errors import UnsupportedOperation

        raise UnsupportedOperation("dropout is active: call module.eval() first, a random function has no fibre")
    return x, torch.ones_like(x.shadow, dtype=torch.bool)
