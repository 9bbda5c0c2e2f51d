"""Ring operations, matrix products, sums and products."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.rules._convert import as_element, axes, back, both, last, total
from symgauge.arithmetic.wrapper_tensor import rule
from symgauge.errors import UnsupportedOperation

aten = torch.ops.aten
Operand = Element | Tensor | float


@rule(aten.add)
def _add(c: Arithmetic, a: Operand, b: Operand, *, alpha: float = 1) -> Element:
    return c.add(*both(c, a, b), alpha)


@rule(aten.sub)
def _sub(c: Arithmetic, a: Operand, b: Operand, *, alpha: float = 1) -> Element:
    a, b = both(c, a, b)
    return c.sub(a, b if alpha == 1 else c.scale(b, alpha))


@rule(aten.rsub)
def _rsub(c: Arithmetic, a: Operand, b: Operand, alpha: float = 1) -> Element:
    return _sub(c, b, a, alpha=alpha)


@rule(aten.neg)
def _neg(c: Arithmetic, a: Element) -> Element:
    return c.neg(a)


@rule(aten.mul)
def _mul(c: Arithmetic, a: Operand, b: Operand) -> Element:
    if isinstance(a, Element) and isinstance(b, (int, float)) and not isinstance(b, bool):
        return c.scale(a, b)
    return c.mul(*both(c, a, b))


@rule(aten.div)
def _div(c: Arithmetic, a: Operand, b: Operand, *, rounding_mode: str | None = None) -> Element | Tensor:
    if rounding_mode is not None:  # a step function: the float64 reference decides, the derivative is 0
        return torch.div(*(x.reference if isinstance(x, Element) else x for x in (a, b)), rounding_mode=rounding_mode)
    if isinstance(a, Element) and isinstance(b, int) and not isinstance(b, bool):
        return c.divide_by_count(a, b)
    return c.div(*both(c, a, b))


@rule(aten.reciprocal)
def _reciprocal(c: Arithmetic, a: Element) -> Element:
    return c.reciprocal(a)


@rule(aten.addcmul)
def _addcmul(c: Arithmetic, a: Operand, b: Operand, d: Operand, *, value: float = 1) -> Element:
    elements = [as_element(c, x) for x in (a, b, d)]
    return c.add(elements[0], c.mul(elements[1], elements[2]), value)


@rule(aten.lerp)
def _lerp(c: Arithmetic, a: Operand, b: Operand, weight: Operand) -> Element:
    a, b = both(c, a, b)
    return c.add(a, c.mul(c.sub(b, a), as_element(c, weight, a.reference.device)))


@rule(aten.mm, aten.bmm)
def _mm(c: Arithmetic, a: Operand, b: Operand) -> Element:
    return c.matmul(*both(c, a, b))


@rule(aten.addmm)
def _addmm(c: Arithmetic, bias: Operand, a: Operand, b: Operand, *, beta: float = 1, alpha: float = 1) -> Element:
    product = c.matmul(as_element(c, a), as_element(c, b))
    product = product if alpha == 1 else c.scale(product, alpha)
    bias = as_element(c, bias)
    return c.add(product, bias if beta == 1 else c.scale(bias, beta)) if beta else product


@rule(aten.baddbmm)
def _baddbmm(c: Arithmetic, bias: Operand, a: Operand, b: Operand, *, beta: float = 1, alpha: float = 1) -> Element:
    return _addmm(c, bias, a, b, beta=beta, alpha=alpha)


@rule(aten.mv)
def _mv(c: Arithmetic, a: Operand, b: Operand) -> Element:
    column = c.gather(lambda t: t.unsqueeze(-1), as_element(c, b))
    return c.gather(lambda t: t.squeeze(-1), c.matmul(as_element(c, a), column))


@rule(aten.dot, aten.vdot)
def _dot(c: Arithmetic, a: Operand, b: Operand) -> Element:
    return c.sum(c.mul(*both(c, a, b)), [0])


@rule(aten.sum)
def _sum(c: Arithmetic, x: Element, dim: Any = None, keepdim: bool = False, **_: Any) -> Element:
    return total(c, x, axes(x, dim), keepdim)


@rule(aten.mean)
def _mean(c: Arithmetic, x: Element, dim: Any = None, keepdim: bool = False, **_: Any) -> Element:
    return c.mean(x, axes(x, dim), keepdim) if x.reference.dim() else x


@rule(aten.var)
def _var(
    c: Arithmetic, x: Element, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> Element:
    dims = axes(x, dim)
    centred = c.sub(x, _mean(c, x, dims, keepdim=True))
    count = math.prod(x.shape[d] for d in dims)
    freedom = count - (1 if correction is None else correction)
    squares = total(c, c.mul(centred, centred), dims, keepdim)
    if freedom == int(freedom):
        return c.divide_by_count(squares, int(freedom))
    return c.div(squares, as_element(c, float(freedom), x.reference.device))


@rule(aten.cumsum)
def _cumsum(c: Arithmetic, x: Element, dim: int, **_: Any) -> Element:
    return c.cumsum(x, dim)


@rule(aten.prod)
def _prod(c: Arithmetic, x: Element, dim: int | None = None, keepdim: bool = False, **_: Any) -> Element:
    """Neighbours are multiplied until one factor is left."""
    if dim is None:
        x, dim = c.gather(lambda t: t.reshape(-1), x), 0
    if x.reference.dim() == 0:
        return x
    x = last(c, x, dim)
    if x.shape[-1] == 0:
        return c.lift(x.reference.prod(-1, keepdim=keepdim))
    while x.shape[-1] > 1:
        left, right = (c.gather(lambda t, i=i: t[..., i::2], x) for i in range(2))  # type: ignore[misc]
        rest = c.gather(lambda t: t[..., t.shape[-1] & ~1 :], x)
        left = c.gather(lambda t, n=right.shape[-1]: t[..., :n], left)  # type: ignore[misc]
        x = c.concatenate(lambda parts: torch.cat(list(parts), -1), [c.mul(left, right), rest])
    return back(c, x, dim) if keepdim else c.gather(lambda t: t.squeeze(-1), x)


@rule(aten.cumprod)
def _cumprod(c: Arithmetic, x: Element, dim: int, **_: Any) -> Element:
    """Doubling: after step k each entry has the product of its last 2^k factors."""
    if x.reference.dim() == 0:
        return x
    x, step = last(c, x, dim), 1
    position = torch.arange(x.shape[-1], device=x.reference.device)
    while step < x.shape[-1]:
        earlier = c.gather(lambda t, step=step: t.roll(step, -1), x)  # type: ignore[misc]
        x = c.select(position >= step, c.mul(x, earlier), x)
        step *= 2
    return back(c, x, dim)


@rule(aten._trilinear)
def _trilinear(
    c: Arithmetic,
    a: Operand,
    b: Operand,
    d: Operand,
    new_a: list[int],
    new_b: list[int],
    new_d: list[int],
    summed: list[int],
    unroll_dim: int = 1,
) -> Element:
    """Σ a·b·d over ``summed``, each with new axes put in first (the bilinear layer)."""

    def spread(x: Operand, new: list[int]) -> Element:
        shape = list(as_element(c, x).shape)
        for axis in sorted(new):
            shape.insert(axis, 1)
        return c.gather(lambda t: t.reshape(shape), as_element(c, x))

    product = c.mul(c.mul(spread(a, new_a), spread(d, new_d)), spread(b, new_b))
    return c.sum(product, summed)


@rule(aten._grouped_mm)
def _grouped_mm(
    c: Arithmetic,
    a: Operand,
    b: Operand,
    offs: Tensor | None = None,
    bias: Operand | None = None,
    out_dtype: Any = None,
) -> Element:
    """Rows of a in consecutive groups, each times its own matrix (experts whose tokens were sorted)."""
    a, b = both(c, a, b)
    if offs is None or a.reference.dim() != 2 or b.reference.dim() != 3 or bias is not None:
        raise UnsupportedOperation("grouped products have a rule for (rows, k) by (groups, k, n) without bias only")
    ends = [int(end) for end in offs]
    pieces = [
        c.matmul(
            c.gather(lambda t, s=s, e=e: t[s:e], a),  # type: ignore[misc]
            c.gather(lambda t, g=g: t[g], b),  # type: ignore[misc]
        )
        for g, (s, e) in enumerate(zip([0, *ends], ends, strict=False))
    ]
    return c.concatenate(lambda parts: torch.cat(list(parts), 0), pieces)
