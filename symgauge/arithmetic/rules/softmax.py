"""Softmax with masks, and the logarithm of it."""

from __future__ import annotations

from typing import Any

import torch

from symgauge.arithmetic.carrier import rule
from symgauge.arithmetic.jet import Calculus, Jet

aten = torch.ops.aten


@rule(aten._softmax)
def _softmax(c: Calculus, x: Jet, dim: int, half_to_float: Any = False) -> Jet:
    return c.softmax(x, dim % max(x.shadow.dim(), 1))


@rule(aten._safe_softmax)
def _safe_softmax(c: Calculus, x: Jet, dim: int, dtype: Any = None) -> Jet:
    return c.softmax(x, dim % max(x.shadow.dim(), 1), safe=True)


@rule(aten._log_softmax)
def _log_softmax(c: Calculus, x: Jet, dim: int, half_to_float: Any = False) -> Jet:
    return c.log_softmax(x, dim % max(x.shadow.dim(), 1))
