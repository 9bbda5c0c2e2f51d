"""The log-bilinear model as a torch module, and the dimension of its fibre by formula: the tie to the gauge view.

The parameters are the tables f (n, d) and g (V, d) themselves. GL(d) acts by (f C, g C^(−⊤)), and where only
probabilities are seen one vector may be added to every g(y): d² + d directions, and more when diversity fails.
"""

from __future__ import annotations

from fractions import Fraction

import torch
from torch import Tensor, nn

from proofs_checks.linear_properties.model import Model
from symgauge.errors import InvalidInput
from symgauge.symmetries.base import Output


class LogBilinear(nn.Module):
    """Context ids (B, T) → logits f(x)·g(y) (B, T, V), each position on its own; with ``tied`` tables f = g."""

    def __init__(self, contexts: int, tokens: int, width: int, *, tied: bool = False) -> None:
        super().__init__()
        self.f = nn.Embedding(contexts, width, dtype=torch.float64)
        self.g = self.f if tied else nn.Embedding(tokens, width, dtype=torch.float64)

    @classmethod
    def of(cls, model: Model) -> LogBilinear:
        """The module at an exact rational model's parameters. Raises InvalidInput for numbers that float64 would round,
        because a rounded table has another rank."""
        if any(Fraction(float(x)) != x for table in (model.f, model.g) for row in table.table for x in row):
            raise InvalidInput("a module holds float64 numbers; give a model with integers or dyadic fractions")
        made = cls(model.contexts, model.tokens, model.dimension)
        with torch.no_grad():
            for table, exact in ((made.f.weight, model.f), (made.g.weight, model.g)):
                table.copy_(torch.tensor([[float(x) for x in row] for row in exact.table], dtype=torch.float64))
        return made

    def forward(self, ids: Tensor) -> Tensor:
        return self.f(ids) @ self.g.weight.T


def generic_fibre_dimension(contexts: int, tokens: int, width: int, output: Output = "probabilities") -> int:
    """Dimension of the fibre through general tables: parameters less the dimension of the matrices of rank ≤ width.

    It is d² + d (probabilities) or d² (logits) as soon as both tables are tall enough for diversity.
    """
    free = tokens - (output == "probabilities")
    rank = min(width, contexts, free)
    return (contexts + tokens) * width - rank * (contexts + free - rank)


def nullity_at(model: Model) -> int:
    """Kernel dimension, at these tables, of the derivative of (f, g) ↦ p, whether or not they are in general position.

    The image of (df, dg₀) ↦ df g₀ᵀ + f dg₀ᵀ is every matrix but those that pair the left kernel of f with that of g₀.
    """
    contexts, tokens, width = model.contexts, model.tokens - 1, model.dimension
    blind = (contexts - model.F.shape[0]) * (tokens - model.G.shape[0])
    return (contexts + tokens + 1) * width - contexts * tokens + blind
