"""Differential attention: a head reads by the difference of two score maps (Ye et al., 2024, "Differential
Transformer", arXiv:2410.05258; λ, its reparametrisation and the norm of every head as there)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from symgauge import Vectors

LAMBDA_INIT = 0.25


class DifferentialAttention(nn.Module):
    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.heads, self.d_k = heads, d_k
        self.query, self.key = (nn.Linear(d_model, 2 * heads * d_k, bias=False) for _ in range(2))
        self.value = nn.Linear(d_model, heads * d_v, bias=False)
        self.output = nn.Linear(heads * d_v, d_model, bias=False)
        self.lambda_q1, self.lambda_k1, self.lambda_q2, self.lambda_k2 = (
            nn.Parameter(torch.randn(d_k) * 0.1) for _ in range(4)
        )
        self.norm = nn.RMSNorm(d_v, eps=1e-5)

    def forward(self, x: Tensor) -> Tensor:
        q, k = (f(x).unflatten(-1, (self.heads, 2, self.d_k)).permute(0, 2, 3, 1, 4) for f in (self.query, self.key))
        v = self.value(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        scores = (q @ k.mT / self.d_k**0.5).masked_fill(~past, float("-inf"))
        weights = torch.softmax(scores, -1)
        factor = (
            torch.exp((self.lambda_q1 * self.lambda_k1).sum())
            - torch.exp((self.lambda_q2 * self.lambda_k2).sum())
            + LAMBDA_INIT
        )
        read = self.norm((weights[:, :, 0] - factor * weights[:, :, 1]) @ v) * (1 - LAMBDA_INIT)
        return self.output(read.transpose(1, 2).flatten(-2))


def factory(*, d_model: int = 5, heads: int = 2, d_k: int = 3, d_v: int = 4) -> tuple[nn.Module, Vectors]:
    return DifferentialAttention(d_model, heads, d_k, d_v), Vectors(length=4, width=d_model)


def by_hand(*, d_model: int, heads: int, d_k: int, d_v: int) -> dict[str, int]:
    """gl(d_k) on every score map; d_v gains of the norm against the rows of W_O in all heads, and with the gains held
    at one so(d_v) per head on values against W_O. λ = e^a − e^b + c with a = λ_q1·λ_k1, b = λ_q2·λ_k2 is one number of
    4 d_k: each product is kept by so(d_k, d_k), whose orbits have 2 d_k − 1 directions, and one direction more moves
    both products along e^a − e^b. No affine field X gives it: X(a) e^a = X(b) e^b with polynomials X(a), X(b).
    For d_k ≤ d_model, d_v ≤ d_model."""
    return {
        "queries against keys, gl(d_k) for each of two maps": 2 * heads * d_k**2,
        "gains against output": d_v,
        "values against output, so(d_v)": heads * d_v * (d_v - 1) // 2,
        "λ-vectors, so(d_k, d_k) twice": 2 * (2 * d_k - 1),
        "both exponents of λ at once": 1,
    }
