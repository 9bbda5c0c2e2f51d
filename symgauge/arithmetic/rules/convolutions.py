"""Convolutions in any number of dimensions, as one matrix product of patches by kernels."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.rules._convert import both
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten


def _every(values: list[int], n: int) -> list[int]:
    return list(values) * n if len(values) == 1 else list(values)


@rule(aten.convolution)
def _convolution(
    c: Arithmetic,
    x: Element | Tensor,
    weight: Element | Tensor,
    bias: Element | Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
) -> Element:
    """x (batch, channels, *space); weight (out, in per group, *kernel), or (in, out per group, *kernel) transposed."""
    if not isinstance(x, Element) and not isinstance(weight, Element):
        x = c.lift(x)  # only the bias is exact
    x, weight = both(c, x, weight)
    n, device = x.reference.dim() - 2, x.reference.device
    stride, padding, dilation, output_padding = (_every(v, n) for v in (stride, padding, dilation, output_padding))
    kernel = weight.shape[2:]
    before = after = padding
    if transposed:  # an ordinary convolution of the input with gaps, by the reversed kernel
        x = c.gather(lambda t: _with_gaps(t, stride), x)
        before = [d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding, strict=True)]
        after = [b + o for b, o in zip(before, output_padding, strict=True)]
        stride = [1] * n

        def reverse(t: Tensor) -> Tensor:
            grouped = t.unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1)
            return grouped.flip(list(range(2, 2 + n)))

        weight = c.gather(reverse, weight)
    pads = [p for pair in zip(reversed(before), reversed(after), strict=True) for p in pair]
    sizes = [size + b + a for size, b, a in zip(x.shape[2:], before, after, strict=True)]
    where = [
        (torch.arange(0, size - d * (k - 1), s).unsqueeze(1) + d * torch.arange(k)).to(device)
        for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True)
    ]  # (outputs, kernel) along each axis
    space = [w.shape[0] for w in where]

    def patches(t: Tensor) -> Tensor:
        """(…, channels, *space) → (…, groups, channels per group · kernel, positions)."""
        t = F.pad(t, pads)
        for i, w in enumerate(where):
            t = t.index_select(i - n, w.flatten()).unflatten(i - n, tuple(w.shape))
        channels = t.dim() - 1 - 2 * n
        order = [*range(channels + 1), *range(channels + 2, t.dim(), 2), *range(channels + 1, t.dim(), 2)]
        return t.permute(order).reshape(*t.shape[:channels], groups, -1, math.prod(space))

    x = c.gather(patches, x)
    filters = c.gather(lambda t: t.reshape(1, groups, t.shape[0] // groups, -1), weight)
    result = c.matmul(filters, x)
    result = c.gather(lambda t: t.reshape(t.shape[0], weight.shape[0], *space), result)
    if bias is not None:
        bias = both(c, x, bias)[1]
        result = c.add(result, c.gather(lambda t: t.reshape(-1, *[1] * n), bias))
    return result


def _with_gaps(t: Tensor, steps: list[int]) -> Tensor:
    """Zeros between the entries of the last axes: the steps between outputs of a transposed convolution."""
    space = t.shape[t.dim() - len(steps) :]
    spread = [(size - 1) * step + 1 for size, step in zip(space, steps, strict=True)]
    result = t.new_zeros((*t.shape[: t.dim() - len(steps)], *spread))
    where: tuple[Any, ...] = (..., *(slice(None, None, step) for step in steps))
    result[where] = t
    return result
