"""Sparse autoencoders, one per model, trained as one: ReLU with an L1 penalty as in the text, top-k as in the code."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Kind = Literal["ReLU + L1", "top-k"]
PENALTY = 3e-3  # λ of the text, which gives no value
RATE, BATCH = 3e-3, 256
STEPS = {"small": 300, "paper": 2500}  # 2500: code


@dataclass(frozen=True, eq=False)
class Dictionary:
    """encoder (S, d, L), bias (S, 1, L), decoder (S, L, d), centre (S, 1, d); active: k of top-k."""

    kind: Kind
    active: int
    encoder: Tensor
    bias: Tensor
    decoder: Tensor
    centre: Tensor

    def encode(self, x: Tensor) -> Tensor:
        """(S, N, d) → latents (S, N, L)."""
        before = (x - self.centre) @ self.encoder + self.bias
        if self.kind == "ReLU + L1":
            return before.relu()
        kept = before.topk(self.active, -1).indices
        return torch.zeros_like(before).scatter(-1, kept, before.gather(-1, kept))

    def decode(self, latents: Tensor) -> Tensor:
        return latents @ self.decoder + self.centre


def fit(x: Tensor, kind: Kind, seed: int, steps: int) -> Dictionary:
    """On activations (S, N, d): 2d latents, d/8 of them active for top-k, as in the source's code; Adam."""
    count, size, d = x.shape
    latents, active = 2 * d, max(1, d // 8)
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return (torch.randn(shape, generator=generator) / math.sqrt(d)).to(x.device)

    encoder = normal(count, d, latents)
    free = [encoder, torch.zeros(count, 1, latents, device=x.device), encoder.mT.clone(), x.mean(1, keepdim=True)]
    free = [p.detach().requires_grad_() for p in free]
    optimizer = torch.optim.Adam(free, RATE)
    for _ in range(steps):
        rows = torch.randint(size, (BATCH,), generator=generator).to(x.device)
        made = Dictionary(kind, active, *free)
        z = made.encode(x[:, rows])
        loss = (made.decode(z) - x[:, rows]).square().sum(-1).mean(-1)
        if kind == "ReLU + L1":
            # The decoder's lengths count, so that a latent cannot escape the penalty by being small.
            loss = loss + PENALTY * d * (z * made.decoder.norm(dim=-1).unsqueeze(1)).sum(-1).mean(-1)
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
    return Dictionary(kind, active, *(p.detach() for p in free))


def explained(x: Tensor, made: Dictionary) -> Tensor:
    """(S,) share of the variance that the reconstruction explains."""
    error = (made.decode(made.encode(x)) - x).square().sum((1, 2))
    return 1 - error / (x - x.mean(1, keepdim=True)).square().sum((1, 2))


def correlations(z: Tensor, values: Tensor) -> Tensor:
    """(S, L) absolute correlations of latents (S, N, L) with numbers (N,); 0 where a latent is constant."""
    v = values.to(z.dtype) - values.to(z.dtype).mean()
    centred = z - z.mean(1, keepdim=True)
    size = centred.norm(dim=1) * v.norm()
    return ((centred * v.unsqueeze(-1)).sum(1) / size.clamp_min(1e-12)).abs()
