"""Talking-heads attention: heads are mixed before and after the softmax (Shazeer, Lan, Cheng, Ding, Hou, 2020,
"Talking-Heads Attention", arXiv:2003.02436)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from symgauge import Vectors


class TalkingHeads(nn.Module):
    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.heads, self.d_k = heads, d_k
        self.query, self.key = (nn.Linear(d_model, heads * d_k, bias=False) for _ in range(2))
        self.value = nn.Linear(d_model, heads * d_v, bias=False)
        self.output = nn.Linear(heads * d_v, d_model, bias=False)
        self.mix_scores, self.mix_weights = (nn.Parameter(torch.randn(heads, heads)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        scores = torch.einsum("bhqk,hg->bgqk", q @ k.mT / self.d_k**0.5, self.mix_scores)
        weights = torch.softmax(scores.masked_fill(~past, float("-inf")), -1)
        weights = torch.einsum("bhqk,hg->bgqk", weights, self.mix_weights)
        return self.output((weights @ v).transpose(1, 2).flatten(-2))


def factory(*, d_model: int = 5, heads: int = 2, d_k: int = 3, d_v: int = 4) -> tuple[nn.Module, Vectors]:
    return TalkingHeads(d_model, heads, d_k, d_v), Vectors(length=4, width=d_model)


def by_hand(*, d_model: int, heads: int, d_k: int, d_v: int) -> dict[str, int]:
    """gl(d_k) and gl(d_v) per head, and a factor per head between its row of mix_scores and its queries, its column of
    mix_weights and its output. Beyond that softmax sees the span of ``heads`` matrices W_Q W_Kᵀ of rank d_k; another
    matrix of this rank in the span may take the place of each. Rank at most r is (d_model − r)² conditions on a
    projective space of dimension heads − 1, so the surplus per head is heads − 1 − (d_model − r)² where that is
    positive. At three heads of d_k = 2 in three channels each score map slides along a plane cubic, det = 0. At
    r = d_model the surplus is heads − 1: all of gl(heads) mixes the heads, by W_Q ↦ W_Q + c M_b W_K⁻ᵀ, rational in θ.
    The same for W_V W_O. For d_k, d_v ≤ d_model."""

    def rest(rank: int) -> int:
        return heads * max(0, heads - 1 - (d_model - rank) ** 2)

    return {
        "queries against keys, gl(d_k)": heads * d_k**2,
        "values against output, gl(d_v)": heads * d_v**2,
        "scores against their mixture": heads,
        "outputs against the mixture of weights": heads,
        "score maps for others in their span": rest(d_k),
        "value maps for others in their span": rest(d_v),
    }
