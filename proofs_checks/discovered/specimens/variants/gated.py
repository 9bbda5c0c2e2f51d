"""Attention whose heads are gated, channel by channel, before the output map (Qiu et al., 2025, "Gated Attention for
Large Language Models", arXiv:2505.06708)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from symgauge import Vectors


class GatedAttention(nn.Module):
    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.heads, self.d_k = heads, d_k
        self.query, self.key = (nn.Linear(d_model, heads * d_k, bias=False) for _ in range(2))
        self.value, self.gate = (nn.Linear(d_model, heads * d_v, bias=False) for _ in range(2))
        self.output = nn.Linear(heads * d_v, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        weights = torch.softmax((q @ k.mT / self.d_k**0.5).masked_fill(~past, float("-inf")), -1)
        return self.output(torch.sigmoid(self.gate(x)) * (weights @ v).transpose(1, 2).flatten(-2))


def factory(*, d_model: int = 5, heads: int = 2, d_k: int = 3, d_v: int = 4) -> tuple[nn.Module, Vectors]:
    return GatedAttention(d_model, heads, d_k, d_v), Vectors(length=4, width=d_model)


def by_hand(*, d_model: int, heads: int, d_k: int, d_v: int) -> dict[str, int]:
    """gl(d_k) per head on queries and keys. What acts on values has to commute with the gates, which differ by channel:
    of gl(d_v) its diagonal stays. For d_k ≤ d_model."""
    return {
        "queries against keys, gl(d_k)": heads * d_k**2,
        "value channels against output, diagonal": heads * d_v,
    }
