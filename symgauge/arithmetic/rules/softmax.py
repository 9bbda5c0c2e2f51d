"""Softmax with masks, and the logarithm of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten


def _along(c: Arithmetic, x: Element, dim: int, function: Callable[[Element, int], Element]) -> Element:
    """A function along an axis; one number counts as a vector with one entry, as in torch."""
    if x.reference.dim():
        return function(x, dim % x.reference.dim())
    return c.gather(lambda t: t.reshape(()), function(c.gather(lambda t: t.reshape(1), x), 0))


@rule(aten._softmax)
def _softmax(c: Arithmetic, x: Element, dim: int, half_to_float: Any = False) -> Element:
    return _along(c, x, dim, c.softmax)


@rule(aten._safe_softmax)
def _safe_softmax(c: Arithmetic, x: Element, dim: int, dtype: Any = None) -> Element:
    return _along(c, x, dim, lambda y, d: c.softmax(y, d, safe=True))


@rule(aten._log_softmax)
def _log_softmax(c: Arithmetic, x: Element, dim: int, half_to_float: Any = False) -> Element:
    return _along(c, x, dim, c.log_softmax)
