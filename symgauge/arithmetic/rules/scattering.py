"""Scatters with a reduction, bags of embeddings, and what writes where a mask says."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.rules._convert import as_element, both
from symgauge.arithmetic.rules.algebra import _prod
from symgauge.arithmetic.rules.comparison import _along
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten


def _reduced(c: Arithmetic, entries: Element, present: Tensor, how: str) -> Element:
    """Reduce the last axis over the entries that are present; sum, mean and product of none are 0, 0 and 1."""
    if how in ("amax", "amin", "max"):
        worst = -torch.inf if how != "amin" else torch.inf
        return _along(how != "amin")(c, c.select(present, entries, as_element(c, worst, present.device)), -1)[0]
    neutral = as_element(c, 1 if how == "prod" else 0, present.device)
    entries = c.select(present, entries, neutral)
    if how == "prod":
        return _prod(c, entries, -1)
    total = c.sum(entries, [-1])
    if how == "mean":
        total = c.div(total, c.lift(present.sum(-1).clamp_min(1)))
    return total


def _collected(groups: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Where the members of each group stand in ``groups``: positions and presence, (count, most members)."""
    order = torch.argsort(groups, stable=True)
    sizes = torch.bincount(groups, minlength=count)
    starts = sizes.cumsum(0) - sizes
    rank = torch.arange(int(sizes.max()) if groups.numel() else 0, device=groups.device)
    present = rank < sizes.unsqueeze(1)
    at = (starts.unsqueeze(1) + rank).clamp_max(max(groups.numel() - 1, 0))
    return order[at], present


def _scatter_into(c: Arithmetic, x: Element, numbers: Tensor, source: Element, how: str, include_self: bool) -> Element:
    """Every entry of ``source`` goes to the entry of x with its number; entries that none goes to stay."""
    positions, present = _collected(numbers.reshape(-1), x.reference.numel())
    hit = present.any(1)
    own = torch.ones_like(hit) if include_self else ~hit
    n = x.reference.numel()

    def gather(parts: Any) -> Tensor:
        flat = parts[0].reshape(-1, 1)
        return torch.cat([flat, parts[1].reshape(-1)[positions]], 1)

    entries = c.concatenate(gather, [x, source]) if n and numbers.numel() else c.gather(lambda t: t.reshape(-1, 1), x)
    present = torch.cat([own.unsqueeze(1), present], 1)[:, : entries.shape[1]]
    result = _reduced(c, entries, present, how)
    return c.gather(lambda t: t.reshape(x.shape), result)


def _numbers(x: Element, dim: int, index: Tensor) -> Tensor:
    """Entry numbers of x that ``index`` along ``dim`` points at."""
    numbers = torch.arange(x.reference.numel(), device=index.device).reshape(x.shape)
    region = numbers[tuple(slice(0, n) if d != dim else slice(None) for d, n in enumerate(index.shape))]
    return torch.gather(region, dim, index) if x.reference.dim() else numbers.expand(index.shape)


@rule(aten.scatter_add)
def _scatter_add(c: Arithmetic, x: Element | Tensor, dim: int, index: Tensor, source: Element | Tensor) -> Element:
    return _scatter_reduce(c, x, dim, index, source, "sum")


_NAMES = {"add": "sum", "multiply": "prod"}


@rule(aten.scatter.reduce, aten.scatter.value_reduce)
def _scatter_with(c: Arithmetic, x: Element | Tensor, dim: int, index: Tensor, source: Any, *, reduce: str) -> Element:
    return _scatter_reduce(c, x, dim, index, source, _NAMES[reduce])


@rule(aten.scatter_reduce)
def _scatter_reduce(
    c: Arithmetic, x: Element | Tensor, dim: int, index: Tensor, source: Any, reduce: str, *, include_self: bool = True
) -> Element:
    target, values = both(c, x, source)
    dim %= max(target.reference.dim(), 1)
    if values.reference.dim() == 0:
        values = c.expand(values, index.shape)
    values = c.gather(lambda t: t[tuple(slice(0, n) for n in index.shape)], values)
    return _scatter_into(c, target, _numbers(target, dim, index), values, reduce, include_self)


@rule(aten.index_reduce)
def _index_reduce(
    c: Arithmetic, x: Element | Tensor, dim: int, index: Tensor, source: Any, reduce: str, *, include_self: bool = True
) -> Element:
    target, values = both(c, x, source)
    dim %= max(target.reference.dim(), 1)
    spread = index.reshape(*[-1 if d == dim else 1 for d in range(values.reference.dim())]).expand(values.shape)
    return _scatter_into(c, target, _numbers(target, dim, spread), values, reduce, include_self)


@rule(aten.put)
def _put(
    c: Arithmetic, x: Element | Tensor, index: Tensor, source: Element | Tensor, accumulate: bool = False
) -> Element:
    target, values = both(c, x, source)
    if accumulate:
        return _scatter_into(c, target, index.reshape(-1) % target.reference.numel(), values, "sum", True)

    def put(parts: Any) -> Tensor:
        flat = parts[0].reshape(-1).index_put((index.reshape(-1),), parts[1].reshape(-1))
        return flat.reshape(target.shape)

    return c.concatenate(put, [target, values])


@rule(aten.masked_scatter)
def _masked_scatter(c: Arithmetic, x: Element | Tensor, mask: Tensor, source: Element | Tensor) -> Element:
    target, values = both(c, x, source)
    shape = torch.broadcast_shapes(target.shape, mask.shape)
    where = torch.nonzero(mask.expand(shape).reshape(-1)).flatten()

    def put(parts: Any) -> Tensor:
        flat = parts[0].expand(shape).reshape(-1).index_put((where,), parts[1].reshape(-1)[: where.numel()])
        return flat.reshape(shape)

    return c.concatenate(put, [target, values])


@rule(aten.masked_select)
def _masked_select(c: Arithmetic, x: Element, mask: Tensor) -> Element:
    shape = torch.broadcast_shapes(x.shape, mask.shape)
    where = torch.nonzero(mask.expand(shape).reshape(-1)).flatten()
    return c.gather(lambda t: t.expand(shape).reshape(-1)[where], x)


@rule(aten._embedding_bag, aten._embedding_bag_forward_only)
def _embedding_bag(
    c: Arithmetic,
    weight: Element | Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Element | Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Element, Tensor, Tensor, Tensor]:
    """Sum, mean or maximum (mode 0, 1, 2) of the rows in each bag; an empty bag is 0."""
    weight = weight if isinstance(weight, Element) else c.lift(weight)
    starts = offsets[:-1] if include_last_offset else offsets
    bags = torch.bucketize(torch.arange(indices.numel(), device=indices.device), starts, right=True) - 1
    positions, present = _collected(bags, starts.numel())
    rows = indices[positions] if indices.numel() else positions
    if padding_idx >= 0:
        present = present & (rows != padding_idx)
    entries = c.gather(lambda t: t[rows].movedim(-1, 1), weight)  # (bags, width, most rows)
    if per_sample_weights is not None:
        factor = c.gather(lambda t: t[positions].unsqueeze(1), as_element(c, per_sample_weights))
        entries = c.mul(entries, factor)
    result = _reduced(c, entries, present.unsqueeze(1), ("sum", "mean", "max")[mode])
    empty = ~present.any(1, keepdim=True)
    if mode == 2 and bool(empty.any()):
        result = c.select(empty, as_element(c, 0, indices.device), result)
    nothing = indices.new_empty(0)
    return result, nothing, nothing, nothing
