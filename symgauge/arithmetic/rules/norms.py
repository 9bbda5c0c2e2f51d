"""LayerNorm as a single operation (RMSNorm decomposes by itself), and dropout, which must be off."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.carrier import rule
from symgauge.arithmetic.jet import Calculus, Jet
from symgauge.arithmetic.rules._convert import as_jet
from symgauge.errors import UnsupportedOperation

aten = torch.ops.aten


@rule(aten.native_layer_norm)
def _layer_norm(
    c: Calculus, x: Jet, shape: list[int], weight: Jet | Tensor | None, bias: Jet | Tensor | None, eps: float
) -> tuple[Jet, Jet, Jet]:
    dims = list(range(x.shadow.dim() - len(shape), x.shadow.dim()))
    mean = c.mean(x, dims, keepdim=True)
    centred = c.sub(x, mean)
    variance = c.mean(c.mul(centred, centred), dims, keepdim=True)
    scale = c.rsqrt(c.add(variance, as_jet(c, float(eps), x.shadow.device)))
    result = c.mul(centred, scale)
    if weight is not None:
        result = c.mul(result, as_jet(c, weight))
    if bias is not None:
        result = c.add(result, as_jet(c, bias))
    return result, mean, scale


@rule(aten.native_dropout)
def _dropout(c: Calculus, x: Jet, p: float, train: Any) -> tuple[Jet, Tensor]:
    """Dropout in evaluation mode is the identity; in training mode the function is random and has no fibre."""
    if train and p > 0:
        raise UnsupportedOperation("dropout is active: call module.eval() first, a random function has no fibre")
    return x, torch.ones_like(x.shadow, dtype=torch.bool)
