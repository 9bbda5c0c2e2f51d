"""Ordinary tensors and numbers as jets, for rules whose arguments may be either, and axes as torch counts them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.jet import Calculus, Jet
from symgauge.arithmetic.linear_maps import padded


def as_jet(calculus: Calculus, x: Jet | Tensor | float, device: torch.device | None = None) -> Jet:
    """A jet as it is; a tensor or a number as a constant jet."""
    if isinstance(x, Jet):
        return x
    return calculus.lift(x) if isinstance(x, Tensor) else calculus.number(x, device)


def both(calculus: Calculus, a: Jet | Tensor | float, b: Jet | Tensor | float) -> tuple[Jet, Jet]:
    """Two operands, at least one of them a jet."""
    device = next(x.shadow.device for x in (a, b) if isinstance(x, Jet))
    return as_jet(calculus, a, device), as_jet(calculus, b, device)


def filled(calculus: Calculus, like: Jet, value: float) -> Jet:
    """A constant of the shape of ``like``."""
    return calculus.lift(torch.full_like(like.shadow, value))


def value_alone(x: Jet) -> Jet:
    """The same numbers as a constant: what a derivative is multiplied by."""
    return replace(x, node=None)


def total(calculus: Calculus, x: Jet, dims: list[int], keepdim: bool = False) -> Jet:
    """The sum over ``dims``; over none it is x itself."""
    return calculus.sum(x, dims, keepdim) if dims else x


def axes(x: Jet, dim: Any) -> list[int]:
    """Axes as torch names them (a number, a list, nothing for all), counted from the front."""
    n = x.shadow.dim()
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return list(range(n))
    return [d % max(n, 1) for d in ([dim] if isinstance(dim, int) else dim)][: n or 0]


def last(calculus: Calculus, x: Jet, dim: int) -> Jet:
    """The axis ``dim`` moved to the end."""
    return calculus.move(lambda t: t.movedim(dim, -1), x)


def back(calculus: Calculus, x: Jet, dim: int) -> Jet:
    """The last axis moved to ``dim``."""
    return calculus.move(lambda t: t.movedim(-1, dim), x)


def summed_rows(calculus: Calculus, x: Jet, index: Tensor, n: int) -> Jet:
    """(m, k) → (n, k): row i is added to row index[i]."""
    order = torch.argsort(index, stable=True)
    counts = torch.bincount(index, minlength=n)
    table = padded(order, counts, int(counts.max()) if len(counts) else 0, len(order))
    rows = calculus.move(lambda t: torch.cat([t, t.new_zeros((1, t.shape[1]))])[table], x)
    return calculus.sum(rows, [1])
