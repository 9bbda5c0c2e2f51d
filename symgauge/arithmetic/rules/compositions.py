"""Operations as other torch operations, where torch has no decomposition or one that rounds or leaves aten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.decompositions import decomposition

aten = torch.ops.aten


@decomposition(aten.var_mean.correction)
def _var_mean(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    return torch.var(x, dim, correction=correction, keepdim=keepdim), aten.mean(x, dim, keepdim)


@decomposition(aten.std_mean.correction)
def _std_mean(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    return torch.std(x, dim, correction=correction, keepdim=keepdim), aten.mean(x, dim, keepdim)


@decomposition(aten.fmax)
def _fmax(a: Tensor, b: Tensor) -> Tensor:
    return torch.maximum(a, b)


@decomposition(aten.fmin)
def _fmin(a: Tensor, b: Tensor) -> Tensor:
    return torch.minimum(a, b)


@decomposition(aten.fmod)
def _fmod(a: Any, b: Any) -> Any:
    return a - torch.div(a, b, rounding_mode="trunc") * b


@decomposition(aten.remainder)
def _remainder(a: Any, b: Any) -> Any:
    return a - torch.floor(a / b) * b


@decomposition(aten.copysign)
def _copysign(a: Any, b: Any) -> Tensor:
    size = a.abs() if isinstance(a, Tensor) else torch.tensor(abs(a), dtype=torch.float64)
    negative = torch.signbit(b) if isinstance(b, Tensor) else torch.tensor(b < 0)
    return torch.where(negative, -size, size)


@decomposition(aten.angle)
def _angle(x: Tensor) -> Tensor:
    return torch.pi * (x < 0).double()


@decomposition(aten.celu)
def _celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    return torch.where(x > 0, x, torch.expm1(x / alpha) * alpha)


@decomposition(aten.addbmm)
def _addbmm(x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    product = torch.bmm(a, b).sum(0) * alpha
    return x * beta + product if beta else product


def _into(part: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A copy of x with ``source`` in the place of what ``part`` takes out."""

    def scatter(x: Tensor, source: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        numbers = torch.arange(x.numel(), device=x.device).reshape(x.shape)
        where = part(numbers, *args, **kwargs)
        return x.reshape(-1).index_put((where.reshape(-1),), source.expand(where.shape).reshape(-1)).reshape(x.shape)

    return scatter


decomposition(aten.diagonal_scatter)(_into(aten.diagonal))
decomposition(aten.select_scatter)(_into(aten.select))
decomposition(aten.slice_scatter)(_into(aten.slice))


@decomposition(aten.hypot)
def _hypot(a: Tensor, b: Tensor) -> Tensor:
    return torch.sqrt(a * a + b * b)


@decomposition(aten._native_batch_norm_legit.default)
def _batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float
) -> Any:
    return torch.native_batch_norm(x, weight, bias, mean, var, training, momentum, eps)


@decomposition(aten._native_batch_norm_legit.no_stats)
def _batch_norm_by_itself(x: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float) -> Any:
    return torch.native_batch_norm(x, weight, bias, None, None, True, momentum, eps)


@decomposition(aten._native_batch_norm_legit_no_training)
def _batch_norm_off(x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> Any:
    return torch.native_batch_norm(x, weight, bias, mean, var, False, momentum, eps)
