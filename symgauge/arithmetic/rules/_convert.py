"""Ordinary tensors and numbers as jets, for rules whose arguments may be either."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.arithmetic.jet import Calculus, Jet


def as_jet(calculus: Calculus, x: Jet | Tensor | float, device: torch.device | None = None) -> Jet:
    """A jet as it is; a tensor or a number as a constant jet."""
    if isinstance(x, Jet):
        return x
    if not isinstance(x, Tensor):
        x = torch.tensor(x, dtype=torch.int64 if isinstance(x, int) else torch.float64, device=device)
    return calculus.lift(x)


def both(calculus: Calculus, a: Jet | Tensor | float, b: Jet | Tensor | float) -> tuple[Jet, Jet]:
    """Two operands, at least one of them a jet."""
    device = next(x.shadow.device for x in (a, b) if isinstance(x, Jet))
    return as_jet(calculus, a, device), as_jet(calculus, b, device)
