"""Attention with low-rank adapters on queries and values (Hu et al., 2021, "LoRA: Low-Rank Adaptation of Large Language
Models", arXiv:2106.09685), trained with the base or, as there, without."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from symgauge import Vectors


class Adapted(nn.Module):
    """x W + x A B: a base (wide → out) and an adapter of low rank."""

    def __init__(self, wide: int, out: int, rank: int) -> None:
        super().__init__()
        self.base = nn.Linear(wide, out, bias=False)
        self.down, self.up = nn.Linear(wide, rank, bias=False), nn.Linear(rank, out, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.up(self.down(x))


class AdaptedAttention(nn.Module):
    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int, rank: int) -> None:
        super().__init__()
        self.heads, self.d_k = heads, d_k
        self.query, self.value = Adapted(d_model, heads * d_k, rank), Adapted(d_model, heads * d_v, rank)
        self.key = nn.Linear(d_model, heads * d_k, bias=False)
        self.output = nn.Linear(heads * d_v, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        weights = torch.softmax((q @ k.mT / self.d_k**0.5).masked_fill(~past, float("-inf")), -1)
        return self.output((weights @ v).transpose(1, 2).flatten(-2))


def factory(
    *, d_model: int = 5, heads: int = 2, d_k: int = 3, d_v: int = 4, rank: int = 1
) -> tuple[nn.Module, Vectors]:
    """Base and adapters are trained."""
    return AdaptedAttention(d_model, heads, d_k, d_v, rank), Vectors(length=4, width=d_model)


def by_hand(*, d_model: int, heads: int, d_k: int, d_v: int, rank: int) -> dict[str, int]:
    """Adapters are wholly free, the base makes up for any change: A ↦ A + C, W ↦ W − C B, and so for B; two abelian
    algebras on which gl(rank) acts. gl(d_k) and gl(d_v) per head act on base and B alike. For d_k, d_v ≤ d_model."""
    return {
        "query adapter against its base": rank * (d_model + heads * d_k),
        "value adapter against its base": rank * (d_model + heads * d_v),
        "queries against keys, gl(d_k)": heads * d_k**2,
        "values against output, gl(d_v)": heads * d_v**2,
    }


def frozen_factory(
    *, d_model: int = 7, heads: int = 2, d_k: int = 3, d_v: int = 5, rank: int = 4
) -> tuple[nn.Module, Vectors]:
    """Only the adapters are trained."""
    module = AdaptedAttention(d_model, heads, d_k, d_v, rank)
    for name, parameter in module.named_parameters():
        parameter.requires_grad_("down" in name or "up" in name)
    return module, Vectors(length=4, width=d_model)


def frozen_by_hand(*, d_model: int, heads: int, d_k: int, d_v: int, rank: int) -> dict[str, int]:
    """gl(rank) in each adapter and no more: keys and output are fixed and pin the channels. For rank ≤ d_model,
    rank ≤ heads · d_k, rank ≤ heads · d_v, d_k ≤ d_model, d_v ≤ d_model."""
    return {"query adapter, gl(rank)": rank**2, "value adapter, gl(rank)": rank**2}
