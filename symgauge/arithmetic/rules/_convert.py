"""Ordinary tensors and numbers as elements, for rules whose arguments may be either, and axes as torch counts them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.linear_maps import padded

_TINY, _HUGE = 1e-4, 1e4
"""Constants outside these are taken as guards, unless some entry meets them."""


def as_element(calculus: Arithmetic, x: Element | Tensor | float, device: torch.device | None = None) -> Element:
    """An element as it is; a tensor or a number as a constant one."""
    if isinstance(x, Element):
        return x
    return calculus.lift(x) if isinstance(x, Tensor) else calculus.number(x, device)


def both(calculus: Arithmetic, a: Element | Tensor | float, b: Element | Tensor | float) -> tuple[Element, Element]:
    """Two operands, at least one of them an element."""
    device = next(x.reference.device for x in (a, b) if isinstance(x, Element))
    return as_element(calculus, a, device), as_element(calculus, b, device)


def filled(calculus: Arithmetic, like: Element, value: float) -> Element:
    """A constant of the shape of ``like``."""
    return calculus.lift(torch.full_like(like.reference, value))


def is_guard(bound: Element) -> bool:
    """Whether a bound looks as if it were there against division by zero or overflow only."""
    return not bound.depends and bool((bound.reference != 0).all()) and (is_small(bound) or is_large(bound))


def is_small(x: Element) -> bool:
    return bool((x.reference.abs() <= _TINY).all())


def is_large(x: Element) -> bool:
    return bool((x.reference.abs() >= _HUGE).all())


def value_alone(x: Element) -> Element:
    """The same numbers as a constant: what a derivative is multiplied by."""
    return replace(x, node=None)


def total(calculus: Arithmetic, x: Element, dims: list[int], keepdim: bool = False) -> Element:
    """The sum over ``dims``; over none it is x itself."""
    return calculus.sum(x, dims, keepdim) if dims else x


def axes(x: Element, dim: Any) -> list[int]:
    """Axes as torch names them (a number, a list, nothing for all), counted from the front."""
    n = x.reference.dim()
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return list(range(n))
    return [d % max(n, 1) for d in ([dim] if isinstance(dim, int) else dim)][: n or 0]


def last(calculus: Arithmetic, x: Element, dim: int) -> Element:
    """The axis ``dim`` moved to the end."""
    return calculus.gather(lambda t: t.movedim(dim, -1), x)


def back(calculus: Arithmetic, x: Element, dim: int) -> Element:
    """The last axis moved to ``dim``."""
    return calculus.gather(lambda t: t.movedim(-1, dim), x)


def summed_rows(calculus: Arithmetic, x: Element, index: Tensor, n: int) -> Element:
    """(m, k) → (n, k): row i is added to row index[i]."""
    order = torch.argsort(index, stable=True)
    counts = torch.bincount(index, minlength=n)
    table = padded(order, counts, int(counts.max()) if len(counts) else 0, len(order))
    rows = calculus.gather(lambda t: torch.cat([t, t.new_zeros((1, t.shape[1]))])[table], x)
    return calculus.sum(rows, [1])
