"""Softmax with masks, and the logarithm of it."""

from __future__ import annotations

from typing import Any

import torch

from symgauge.arithmetic.carrier import rule
from symgauge.arithmetic.jet import Calculus, Jet

aten = torch.ops.aten
MASKED = -1e29
"""A score whose shadow is below this is masked: −∞, or the most negative float plus something."""


@rule(aten._softmax, aten._safe_softmax)
def _softmax(c: Calculus, x: Jet, dim: int, half_to_float: Any = False) -> Jet:
    return c.softmax(x, x.shadow < MASKED, dim % x.shadow.dim())


@rule(aten._log_softmax)
def _log_softmax(c: Calculus, x: Jet, dim: int, half_to_float: Any = False) -> Jet:
    return c.log(_softmax(c, x, dim))
