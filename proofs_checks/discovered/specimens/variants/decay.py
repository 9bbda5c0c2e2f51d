"""Linear attention with decay by input (Yang et al., 2023, "Gated Linear Attention Transformers with Hardware-Efficient
Training", arXiv:2312.06635): every key channel of the state is multiplied by a gate of low rank at each step."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from symgauge import Vectors


class GatedLinearAttention(nn.Module):
    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int, rank: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = (nn.Linear(d_model, heads * d_k, bias=False) for _ in range(2))
        self.value = nn.Linear(d_model, heads * d_v, bias=False)
        self.gate = nn.Sequential(nn.Linear(d_model, rank, bias=False), nn.Linear(rank, heads * d_k))
        self.output = nn.Linear(heads * d_v, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.query, self.key, self.value))
        keep = torch.sigmoid(self.gate(x)).unflatten(-1, (self.heads, -1))
        state = torch.zeros(1, dtype=x.dtype)
        read = []
        for t in range(x.shape[1]):
            state = keep[:, t, :, :, None] * state + k[:, t, :, :, None] * v[:, t, :, None, :]
            read.append((q[:, t, :, None, :] @ state).flatten(-3))
        return self.output(torch.stack(read, 1))


def factory(
    *, d_model: int = 5, heads: int = 2, d_k: int = 3, d_v: int = 4, rank: int = 1
) -> tuple[nn.Module, Vectors]:
    return GatedLinearAttention(d_model, heads, d_k, d_v, rank), Vectors(length=4, width=d_model)


def by_hand(*, d_model: int, heads: int, d_k: int, d_v: int, rank: int) -> dict[str, int]:
    """gl(rank) inside the gate. Gates differ by key channel, so of gl(d_k) its diagonal stays. gl(d_v) on values and
    output. Without softmax a factor can leave a head's scores for its output: one more per head, a torus of d_k + 1 in
    all. For rank ≤ d_model and rank ≤ heads · d_k, d_v ≤ d_model."""
    return {
        "inside the gate, gl(rank)": rank**2,
        "query channels against key channels, diagonal": heads * d_k,
        "values against output, gl(d_v)": heads * d_v**2,
        "scores against outputs": heads,
    }
