"""Cosine attention: queries and keys of length one and a learned temperature per head (Henry, Dachapally, Pawar, Chen,
2020, "Query-Key Normalization for Transformers", arXiv:2010.04245; per head in Liu et al., 2021, "Swin Transformer V2",
arXiv:2111.09883)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from symgauge import Vectors


class CosineAttention(nn.Module):
    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = (nn.Linear(d_model, heads * d_k, bias=False) for _ in range(2))
        self.value = nn.Linear(d_model, heads * d_v, bias=False)
        self.output = nn.Linear(heads * d_v, d_model, bias=False)
        self.log_temperature = nn.Parameter(torch.zeros(heads, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        scores = normalize(q, dim=-1) @ normalize(k, dim=-1).mT * self.log_temperature.exp()
        return self.output(
            (torch.softmax(scores.masked_fill(~past, float("-inf")), -1) @ v).transpose(1, 2).flatten(-2)
        )


def factory(*, d_model: int = 5, heads: int = 2, d_k: int = 3, d_v: int = 4) -> tuple[nn.Module, Vectors]:
    return CosineAttention(d_model, heads, d_k, d_v), Vectors(length=4, width=d_model)


def by_hand(*, d_model: int, heads: int, d_k: int, d_v: int) -> dict[str, int]:
    """Of gl(d_k) the rotations stay, so(d_k), and the lengths of queries and of keys are free each by itself; the
    temperature is seen. gl(d_v) on values and output. For 1 < d_k ≤ d_model, d_v ≤ d_model."""
    return {
        "queries and keys, so(d_k)": heads * d_k * (d_k - 1) // 2,
        "lengths of queries": heads,
        "lengths of keys": heads,
        "values against output, gl(d_v)": heads * d_v**2,
    }
