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
    """p_j = E_j / Σ E with E_j = exp(s_j) a fresh element and dp_j = p_j (ds_j − Σ p ds); masked entries exactly 0."""
    field = c.field
    dim %= x.shadow.dim()
    masked = x.shadow < MASKED
    weights = field.exp(x.value).re.masked_fill(masked, 0)
    total = field.sum(type(x.value)(weights), [dim], keepdim=True)
    value = field.mul(type(x.value)(weights), field.inverse(total))
    shadow = torch.softmax(torch.where(masked, -torch.inf, x.shadow), dim)
    failed = field.is_zero(total)  # by bad luck, or because a whole row is masked
    row_taint = failed if bool(failed.any()) else None
    if x.taint is not None:
        inherited = (x.taint & ~masked).any(dim, keepdim=True)
        row_taint = inherited if row_taint is None else inherited | row_taint
    taint = None if row_taint is None else row_taint & ~masked
    tangent = None
    if x.tangent is not None:
        weighted = field.mul(x.tangent, value)
        total_slope = field.sum(weighted, [dim + 1], keepdim=True)
        tangent = field.sub(weighted, field.mul(total_slope, value))
    return Jet(value, shadow, tangent, x.span if tangent is not None else (0, 0), taint, 1, x.slope + 3)


@rule(aten._log_softmax)
def _log_softmax(c: Calculus, x: Jet, dim: int, half_to_float: Any = False) -> Jet:
    return c.log(_softmax(c, x, dim))
