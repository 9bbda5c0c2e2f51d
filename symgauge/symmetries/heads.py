"""Heads: what is given per group taken to each head, and a change of basis inside it."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Map
from symgauge.symmetries.base import Roles


def per_head(a: Architecture, x: Tensor, copies: int) -> Tensor:
    """One entry per head from one per group (or one for all heads): (copies, …) → (h, …)."""
    return x[torch.arange(a.heads, device=x.device) // (a.heads // copies)]


def times(m: Map, roles: Roles, right: Tensor) -> dict[str, Tensor]:
    """A map followed by ``right`` (heads, n, n); a map without a head axis takes the only matrix."""
    weight = roles[m.weight]
    changed = {m.weight: weight @ (right if weight.dim() == 3 else right[0])}
    if m.bias is not None:
        changed[m.bias] = (roles[m.bias].unsqueeze(-2) @ right).squeeze(-2)
    return changed
