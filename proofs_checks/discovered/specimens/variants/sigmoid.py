"""Sigmoid attention with all biases, a learned offset of the scores per head, and LayerScale (Ramapuram et al., 2024,
"Theory, Analysis, and Best Practices for Sigmoid Self-Attention", arXiv:2409.04431)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from symgauge import Vectors


class SigmoidAttention(nn.Module):
    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.heads, self.d_k = heads, d_k
        self.query, self.key = (nn.Linear(d_model, heads * d_k) for _ in range(2))
        self.value, self.output = nn.Linear(d_model, heads * d_v), nn.Linear(heads * d_v, d_model)
        self.offset = nn.Parameter(torch.randn(heads, 1, 1))
        self.scale = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        past = torch.ones(x.shape[1], x.shape[1], dtype=x.dtype).tril()
        weights = torch.sigmoid(q @ k.mT / self.d_k**0.5 + self.offset) * past
        return self.scale * self.output((weights @ v).transpose(1, 2).flatten(-2))


def factory(*, d_model: int = 5, heads: int = 2, d_k: int = 3, d_v: int = 4) -> tuple[nn.Module, Vectors]:
    return SigmoidAttention(d_model, heads, d_k, d_v), Vectors(length=4, width=d_model)


def by_hand(*, d_model: int, heads: int, d_k: int, d_v: int) -> dict[str, int]:
    """gl(d_k) and gl(d_v) per head, biases along; weights sum to no constant, so no shift is free. The output's rows
    and bias trade a factor per channel with LayerScale. The offset is seen while d_k ≤ d_model, as a sink is.
    For d_k, d_v ≤ d_model + 1."""
    return {
        "queries against keys, gl(d_k)": heads * d_k**2,
        "values against output, gl(d_v)": heads * d_v**2,
        "output channels against LayerScale, diagonal": d_model,
        "offsets against score forms of full rank": heads if d_k > d_model else 0,
    }
