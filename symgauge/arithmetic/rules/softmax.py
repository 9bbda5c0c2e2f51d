"""Softmax with masks, and the logarithm of it."""

from __future__ import annotations

from typing import Any

import torch

from symgauge.arithmetic.carrier import rule
from symgauge.arithmetic.interface import Arithmetic, Element

aten = torch.ops.aten


@rule(aten._softmax)
def _softmax(c: Arithmetic, x: Element, dim: int, half_to_float: Any = False) -> Element:
    return c.softmax(x, dim % max(x.shadow.dim(), 1))


@rule(aten._safe_softmax)
def _safe_softmax(c: Arithmetic, x: Element, dim: int, dtype: Any = None) -> Element:
    return c.softmax(x, dim % max(x.shadow.dim(), 1), safe=True)


@rule(aten._log_softmax)
def _log_softmax(c: Arithmetic, x: Element, dim: int, half_to_float: Any = False) -> Element:
    return c.log_softmax(x, dim % max(x.shadow.dim(), 1))
