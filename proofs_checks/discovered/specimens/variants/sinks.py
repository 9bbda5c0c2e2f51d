"""Attention with a learned sink logit per head and all biases (Xiao et al., 2023, "Efficient Streaming Language Models
with Attention Sinks", arXiv:2309.17453, has sinks; as one learned logit per head in gpt-oss, OpenAI, 2025)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from symgauge import Vectors


class AttentionWithSinks(nn.Module):
    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.heads, self.d_k = heads, d_k
        self.query, self.key = (nn.Linear(d_model, heads * d_k) for _ in range(2))
        self.value, self.output = nn.Linear(d_model, heads * d_v), nn.Linear(heads * d_v, d_model)
        self.sinks = nn.Parameter(torch.randn(heads))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        scores = (q @ k.mT / self.d_k**0.5).masked_fill(~past, float("-inf"))
        sinks = self.sinks[:, None, None].expand(x.shape[0], -1, x.shape[1], 1)
        weights = torch.softmax(torch.cat([scores, sinks], -1), -1)[..., :-1]
        return self.output((weights @ v).transpose(1, 2).flatten(-2))


def factory(*, d_model: int = 5, heads: int = 2, d_k: int = 3, d_v: int = 4) -> tuple[nn.Module, Vectors]:
    return AttentionWithSinks(d_model, heads, d_k, d_v), Vectors(length=4, width=d_model)


def by_hand(*, d_model: int, heads: int, d_k: int, d_v: int) -> dict[str, int]:
    """gl(d_k) on queries and keys and gl(d_v) on values and output, per head, biases along. The two shifts of softmax
    attention are gone: a key bias moves the scores against the sink, and weights that do not sum to one show the value
    bias. Scores less the sink are one bilinear form of rank d_k on (x, 1), a number taken off its corner; the number
    is seen while d_k ≤ d_model. At d_k = d_model + 1 the form is any matrix and hides the sink: one per head.
    For d_k, d_v ≤ d_model + 1."""
    return {
        "queries against keys, gl(d_k)": heads * d_k**2,
        "values against output, gl(d_v)": heads * d_v**2,
        "sinks against score forms of full rank": heads if d_k > d_model else 0,
    }
