"""Attention with relative positions that add to the scores."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.models.reference import random_parameters


class Biased(torch.nn.Module):
    """Attention with an additive table b of relative positions: scores q·k/√d_k + b_(i, t − s)."""

    def __init__(self, a: Architecture, learned: bool, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.a, self.names = a, list(random_parameters(a, seed))
        self.weights = torch.nn.ParameterList(random_parameters(a, seed).values())
        table = torch.randn((a.heads, 2 * a.context - 1), generator=generator, dtype=torch.float64)
        self.learned = torch.nn.Parameter(table) if learned else None
        self.fixed = table

    def forward(self, x: Tensor) -> Tensor:
        query, key, value, output = self.weights
        length = x.shape[-2]
        steps = torch.arange(length)
        table = self.fixed if self.learned is None else self.learned
        offsets = table[:, (steps[:, None] - steps[None, :]) + self.a.context - 1]
        x = x.unsqueeze(-3)
        scores = (x @ query) @ (x @ key).transpose(-2, -1) * self.a.d_k**-0.5 + offsets
        return ((scores.softmax(-1) @ (x @ value)) @ output).sum(-3)
