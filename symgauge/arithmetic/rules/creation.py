"""New tensors in the likeness of a wrapper tensor: constants that can later receive exact values."""

from __future__ import annotations

from typing import Any

import torch

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten


def _constant(c: Arithmetic, shape: Any, value: float, like: Element, dtype: torch.dtype | None) -> Any:
    """A constant element, or an ordinary tensor if an integer or boolean one was asked for."""
    if dtype is not None and not dtype.is_floating_point:
        return torch.full(tuple(shape), value, dtype=dtype, device=like.reference.device)
    return c.lift(torch.full(tuple(shape), float(value), dtype=torch.float64, device=like.reference.device))


@rule(aten.zeros_like, aten.empty_like)
def _zeros_like(c: Arithmetic, x: Element, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _constant(c, x.shape, 0.0, x, dtype)


@rule(aten.ones_like)
def _ones_like(c: Arithmetic, x: Element, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _constant(c, x.shape, 1.0, x, dtype)


@rule(aten.full_like)
def _full_like(c: Arithmetic, x: Element, value: float, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _constant(c, x.shape, value, x, dtype)


@rule(aten.new_zeros, aten.new_empty)
def _new_zeros(c: Arithmetic, x: Element, size: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _constant(c, size, 0.0, x, dtype)


@rule(aten.new_ones)
def _new_ones(c: Arithmetic, x: Element, size: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _constant(c, size, 1.0, x, dtype)


@rule(aten.new_full)
def _new_full(c: Arithmetic, x: Element, size: Any, value: float, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _constant(c, size, value, x, dtype)
