"""Operations that only move entries: views, permutations, slices, concatenations. One line each, for every part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.record import STEP
from symgauge.arithmetic.rules._convert import as_element
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten


def _axis(x: Element, dim: int, extra: int = 0) -> int:
    return dim % max(x.reference.dim() + extra, 1)


@rule(aten._unsafe_view)
def _unsafe_view(c: Arithmetic, x: Element, shape: list[int]) -> Element:
    return _view(c, x, shape)


@rule(aten.view, view=True)
def _view(c: Arithmetic, x: Element, shape: list[int]) -> Element:
    target = x.reference.reshape(shape).shape
    return c.gather(lambda t: t.reshape(target), x)


@rule(aten.permute, view=True)
def _permute(c: Arithmetic, x: Element, dims: list[int]) -> Element:
    order = [_axis(x, d) for d in dims]
    return c.gather(lambda t: t.permute(order), x)


@rule(aten.transpose, view=True)
def _transpose(c: Arithmetic, x: Element, a: int, b: int) -> Element:
    a, b = _axis(x, a), _axis(x, b)
    return c.gather(lambda t: t.transpose(a, b), x)


@rule(aten.t, view=True)
def _t(c: Arithmetic, x: Element) -> Element:
    return _transpose(c, x, 0, 1) if x.reference.dim() == 2 else x


@rule(aten.expand, view=True)
def _expand(c: Arithmetic, x: Element, shape: list[int], **_: Any) -> Element:
    return c.expand(x, x.reference.expand(shape).shape)


@rule(aten.slice, view=True)
def _slice(
    c: Arithmetic, x: Element, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Element:
    dim = _axis(x, dim)
    cut = slice(start, end, step)
    where = (slice(None),) * dim + (cut,)
    return c.gather(lambda t: t[where], x)


@rule(aten.select, view=True)
def _select(c: Arithmetic, x: Element, dim: int, index: int) -> Element:
    dim = _axis(x, dim)
    return c.gather(lambda t: t.select(dim, index), x)


@rule(aten.unsqueeze, view=True)
def _unsqueeze(c: Arithmetic, x: Element, dim: int) -> Element:
    dim = _axis(x, dim, extra=1)
    return c.gather(lambda t: t.unsqueeze(dim), x)


@rule(aten.squeeze, view=True)
def _squeeze(c: Arithmetic, x: Element, *dim: Any) -> Element:
    target = x.reference.squeeze(*dim).shape
    return c.gather(lambda t: t.reshape(target), x)


@rule(aten.detach, aten.alias, view=True)
def _alias(c: Arithmetic, x: Element) -> Element:
    return x


@rule(aten.clone, aten.contiguous, aten.lift_fresh)
def _clone(c: Arithmetic, x: Element, **_: Any) -> Element:
    return x


def _traced(operation: Any) -> Callable[..., Element]:
    """A rule that follows an operation by entry numbers."""

    def move(c: Arithmetic, x: Element, *args: Any, **kwargs: Any) -> Element:
        return c.gather(lambda t: operation(t, *args, **kwargs), x)

    return move


for _operation in (aten.diagonal, aten.unfold, aten.as_strided):
    rule(_operation, view=True)(_traced(_operation))
for _operation in (aten.index_select, aten.flip, aten.roll, aten.repeat, aten.tril, aten.triu):
    rule(_operation)(_traced(_operation))


def _copying(operation: Any) -> Callable[..., Element]:
    """A rule for an operation that copies entries, which torch has for floats only: numbers below 2⁵³ fit in them."""

    def move(c: Arithmetic, x: Element, *args: Any, **kwargs: Any) -> Element:
        return c.gather(lambda t: operation(t.double(), *args, **kwargs).to(t.dtype), x)

    return move


for _operation in (
    aten.reflection_pad1d, aten.reflection_pad2d, aten.reflection_pad3d,
    aten.replication_pad1d, aten.replication_pad2d, aten.replication_pad3d,
    aten.upsample_nearest1d, aten.upsample_nearest2d, aten.upsample_nearest3d,
    aten._upsample_nearest_exact1d, aten._upsample_nearest_exact2d, aten._upsample_nearest_exact3d,
):  # fmt: skip
    rule(_operation)(_copying(_operation))


@rule(aten._to_copy)
def _to_copy(calculus: Arithmetic, x: Element, *, dtype: torch.dtype | None = None, **_: Any) -> Element | Tensor:
    """Casts between float types change nothing in exact arithmetic; a cast to integers or booleans is a decision."""
    if dtype is not None and not dtype.is_floating_point:
        if dtype != torch.bool:
            calculus.jump(STEP, x, ordered=True)
        return x.reference.to(dtype)
    return x


def _pieces(operation: Any) -> Callable[..., tuple[Element, ...]]:
    def split(calculus: Arithmetic, x: Element, *args: Any, **kwargs: Any) -> tuple[Element, ...]:
        def piece(i: int) -> Element:
            return calculus.gather(lambda t: operation(t, *args, **kwargs)[i], x)

        return tuple(piece(i) for i in range(len(operation(x.reference, *args, **kwargs))))

    return split


for _operation in (aten.split, aten.split_with_sizes, aten.unbind):
    rule(_operation, view=True)(_pieces(_operation))


def _device(elements: list[Any]) -> torch.device:
    return next(j.reference.device for j in elements if isinstance(j, Element))


@rule(aten.cat)
def _cat(calculus: Arithmetic, tensors: list[Element | Tensor], dim: int = 0) -> Element:
    elements = [as_element(calculus, x) for x in tensors]
    elements = [j for j in elements if j.reference.dim() != 1 or j.shape[0]] or elements[:1]
    dim %= elements[0].reference.dim()
    return calculus.concatenate(lambda parts: torch.cat(list(parts), dim), elements)


@rule(aten.stack)
def _stack(calculus: Arithmetic, tensors: list[Element | Tensor], dim: int = 0) -> Element:
    elements = [as_element(calculus, x) for x in tensors]
    dim %= elements[0].reference.dim() + 1
    return calculus.concatenate(lambda parts: torch.stack(list(parts), dim), elements)


@rule(aten.constant_pad_nd)
def _pad(calculus: Arithmetic, x: Element, pad: list[int], value: float = 0) -> Element:
    if value != 0:
        ones = aten.constant_pad_nd(torch.zeros_like(x.reference), pad, 1.0)
        padded = calculus.gather(lambda t: aten.constant_pad_nd(t, pad, 0), x)
        return calculus.add(padded, calculus.lift(ones * value))
    return calculus.gather(lambda t: aten.constant_pad_nd(t, pad, 0), x)
