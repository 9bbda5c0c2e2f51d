"""Multi-query attention (Shazeer, 2019, "Fast Transformer Decoding: One Write-Head is All You Need", arXiv:1911.02150)
with rotary positions (Su et al., 2021, "RoFormer", arXiv:2104.09864), all planes turning by one frequency."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from symgauge import Vectors

ANGLE = 0.7
"""Radians a position."""


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model: int, heads: int, planes: int, d_v: int) -> None:
        super().__init__()
        self.heads, self.d_k = heads, 2 * planes
        self.query = nn.Linear(d_model, heads * self.d_k, bias=False)
        self.key, self.value = nn.Linear(d_model, self.d_k, bias=False), nn.Linear(d_model, d_v, bias=False)
        self.output = nn.Linear(heads * d_v, d_model, bias=False)

    def turned(self, x: Tensor) -> Tensor:
        """Channels (…, length, 2 planes), first halves of the planes before second halves."""
        first, second = x.chunk(2, -1)
        angle = ANGLE * torch.arange(x.shape[-2], dtype=x.dtype)[:, None]
        return torch.cat([first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()], -1)

    def forward(self, x: Tensor) -> Tensor:
        q = self.turned(self.query(x).unflatten(-1, (self.heads, self.d_k)).transpose(1, 2))
        k, v = self.turned(self.key(x))[:, None], self.value(x)[:, None]
        past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        weights = torch.softmax((q @ k.mT / self.d_k**0.5).masked_fill(~past, float("-inf")), -1)
        return self.output((weights @ v).transpose(1, 2).flatten(-2))


def factory(*, d_model: int = 5, heads: int = 3, planes: int = 2, d_v: int = 4) -> tuple[nn.Module, Vectors]:
    return MultiQueryAttention(d_model, heads, planes, d_v), Vectors(length=4, width=d_model)


def by_hand(*, d_model: int, heads: int, planes: int, d_v: int) -> dict[str, int]:
    """One key for all heads, and planes that turn alike: what commutes with the rotation is gl(planes, ℂ), one for all
    heads. One gl(d_v) on the value and all heads' outputs. For 2 planes ≤ d_model and d_v ≤ d_model."""
    return {
        "queries of all heads against the key, gl(planes, ℂ)": 2 * planes**2,
        "the value against outputs of all heads, gl(d_v)": d_v**2,
    }
