"""Look-ups and scatters by ordinary integer or boolean tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.rules._convert import as_element, both, summed_rows
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten


@rule(aten.embedding)
def _embedding(c: Arithmetic, weight: Element, indices: Tensor, *_: Any, **__: Any) -> Element:
    return c.gather(lambda t: t[indices], weight)


def _whole(indices: list[Tensor | None]) -> tuple[Any, ...]:
    """Index tuple with None as a full slice; boolean masks become positions (their count may not vary under vmap)."""
    result: list[Any] = []
    for index in indices:
        if index is None:
            result.append(slice(None))
        elif index.dtype in (torch.bool, torch.uint8):
            result.extend(torch.nonzero(index, as_tuple=True))
        else:
            result.append(index)
    return tuple(result)


@rule(aten.index)
def _index(c: Arithmetic, x: Element, indices: list[Tensor | None]) -> Element:
    where = _whole(indices)
    return c.gather(lambda t: t[where], x)


@rule(aten.gather)
def _gather(c: Arithmetic, x: Element, dim: int, index: Tensor, **_: Any) -> Element:
    dim %= max(x.reference.dim(), 1)
    return c.gather(lambda t: torch.gather(t, dim, index), x)


@rule(aten.index_put)
def _index_put(
    c: Arithmetic, x: Element, indices: list[Tensor | None], values: Element | Tensor, accumulate: bool = False
) -> Element:
    target, source = both(c, x, values)
    numbers = torch.arange(target.reference.numel(), device=target.reference.device).reshape(target.shape)[
        _whole(indices)
    ]
    source = c.expand(source, numbers.shape)
    if accumulate:
        return c.add(target, _summed_at(c, numbers, source, target.shape))

    def put(parts: Any) -> Tensor:
        flat = parts[0].reshape(-1).index_put((numbers.flatten(),), parts[1].reshape(-1))
        return flat.reshape(target.shape)

    return c.concatenate(put, [target, source])


def _summed_at(c: Arithmetic, numbers: Tensor, source: Element, shape: torch.Size) -> Element:
    """Σ of the values that fall on the same entry."""
    column = c.gather(lambda t: t.reshape(-1, 1), source)
    return c.gather(lambda t: t.reshape(shape), summed_rows(c, column, numbers.flatten(), shape.numel()))


@rule(aten.index_add)
def _index_add(
    c: Arithmetic, x: Element, dim: int, index: Tensor, source: Element | Tensor, *, alpha: float = 1
) -> Element:
    target, added = both(c, x, source)
    front = c.gather(lambda t: t.movedim(dim, 0).reshape(index.numel(), -1), c.scale(added, alpha))
    shape = target.reference.movedim(dim, 0).shape
    summed = summed_rows(c, front, index, target.shape[dim])
    return c.add(target, c.gather(lambda t: t.reshape(shape).movedim(0, dim), summed))


@rule(aten.scatter)
def _scatter(c: Arithmetic, x: Element, dim: int, index: Tensor, source: Any, **_: Any) -> Element:
    target, values = both(c, x, source)
    if values.reference.dim() == 0:
        values = c.expand(values, index.shape)
    dim %= target.reference.dim()
    return c.concatenate(lambda parts: torch.scatter(parts[0], dim, index, parts[1]), [target, values])


@rule(aten.where)
def _where(c: Arithmetic, condition: Tensor, a: Any, b: Any) -> Element:
    a, b = both(c, a, b)
    return c.select(condition, a, b)


@rule(aten.masked_fill)
def _masked_fill(c: Arithmetic, x: Element, mask: Tensor, value: Any) -> Element:
    return c.select(mask, as_element(c, value, x.reference.device), x)


@rule(aten.copy_)
def _copy(c: Arithmetic, x: Element, source: Element | Tensor, non_blocking: bool = False) -> Element:
    return c.expand(as_element(c, source), x.shape)


@rule(aten.fill, aten.fill_, aten.zero_)
def _fill(c: Arithmetic, x: Element, value: Any = 0) -> Element:
    return c.expand(as_element(c, value, x.reference.device), x.shape)
