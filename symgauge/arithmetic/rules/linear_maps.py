"""Fixed linear maps along axes, exactly: interpolation and average pooling have rational weights, not floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten
Weights = list[dict[int, Fraction]]
"""For each output position the input positions it reads, with their weights."""


@dataclass(frozen=True)
class AxisMap:
    """Integer numerators (outputs, inputs) and the one denominator of a linear map along an axis."""

    numerators: Tensor
    denominator: int

    @classmethod
    def of(cls, weights: Weights, inputs: int) -> AxisMap:
        denominator = math.lcm(*(w.denominator for row in weights for w in row.values()), 1)
        numerators = torch.zeros(len(weights), inputs, dtype=torch.int64)
        for o, row in enumerate(weights):
            for i, w in row.items():
                numerators[o, i] += int(w * denominator)
        return cls(numerators, denominator)


def along_last_axes(c: Arithmetic, x: Element, maps: Sequence[AxisMap]) -> Element:
    """One map for each of the last axes of x, in order."""
    for back, axis_map in enumerate(reversed(maps), start=1):
        rows = c.gather(lambda t, back=back: t.movedim(-back, -1).unsqueeze(-2), x)  # type: ignore[misc]
        product = c.matmul(rows, c.lift(axis_map.numerators.mT.to(x.reference.device)))
        product = c.gather(lambda t, back=back: t.squeeze(-2).movedim(-1, -back), product)  # type: ignore[misc]
        x = product if axis_map.denominator == 1 else c.divide_by_count(product, axis_map.denominator)
    return x


# ----- interpolation


def _ratio(inputs: int, outputs: int, scale: float | None) -> Fraction:
    """Input steps per output step; a scale factor such as 0.3 means the fraction it is written as."""
    return Fraction(inputs, outputs) if scale is None or scale <= 0 else 1 / Fraction(repr(float(scale)))


def _source(o: int, inputs: int, outputs: int, align_corners: bool, scale: float | None) -> Fraction:
    if align_corners:
        return Fraction((inputs - 1) * o, outputs - 1) if outputs > 1 else Fraction(0)
    return _ratio(inputs, outputs, scale) * (o + Fraction(1, 2)) - Fraction(1, 2)


def _linear_weights(inputs: int, outputs: int, align_corners: bool, scale: float | None) -> AxisMap:
    rows: Weights = []
    for o in range(outputs):
        at = max(_source(o, inputs, outputs, align_corners, scale), Fraction(0))
        left = min(int(at), inputs - 1)
        right = min(left + 1, inputs - 1)
        part = at - left if right > left else Fraction(0)
        row = {left: 1 - part}
        row[right] = row.get(right, Fraction(0)) + part
        rows.append(row)
    return AxisMap.of(rows, inputs)


def _cubic_weights(inputs: int, outputs: int, align_corners: bool, scale: float | None) -> AxisMap:
    """The cubic convolution kernel with a = −3/4."""
    a = Fraction(-3, 4)

    def kernel(t: Fraction) -> Fraction:
        t = abs(t)
        if t <= 1:
            return ((a + 2) * t - (a + 3)) * t * t + 1
        return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a if t < 2 else Fraction(0)

    rows: Weights = []
    for o in range(outputs):
        at = _source(o, inputs, outputs, align_corners, scale)
        row: dict[int, Fraction] = {}
        for i in range(math.floor(at) - 1, math.floor(at) + 3):
            inside = min(max(i, 0), inputs - 1)
            row[inside] = row.get(inside, Fraction(0)) + kernel(at - i)
        rows.append(row)
    return AxisMap.of(rows, inputs)


def _interpolation(weights: Callable[..., AxisMap]) -> Any:
    def interpolate(c: Arithmetic, x: Element, size: list[int], align_corners: bool, *scales: float | None) -> Element:
        spatial = x.shape[2:]
        padded = [*scales, *[None] * len(spatial)]
        maps = [weights(i, o, align_corners, s) for i, o, s in zip(spatial, size, padded, strict=False)]
        return along_last_axes(c, x, maps)

    return interpolate


rule(aten.upsample_linear1d, aten.upsample_bilinear2d, aten.upsample_trilinear3d)(_interpolation(_linear_weights))
rule(aten.upsample_bicubic2d)(_interpolation(_cubic_weights))


# ----- average pooling


def _average(
    inputs: int, kernel: int, stride: int, padding: int, ceil_mode: bool, count_padding: bool, divide: bool
) -> AxisMap:
    span = inputs + 2 * padding - kernel
    outputs = (-(-span // stride) if ceil_mode else span // stride) + 1
    if ceil_mode and (outputs - 1) * stride >= inputs + padding:  # the last window must start inside
        outputs -= 1
    rows: Weights = []
    for o in range(outputs):
        start = o * stride - padding
        stop = min(start + kernel, inputs + padding)
        reads = range(max(start, 0), min(stop, inputs))
        count = (stop - start if count_padding else len(reads)) if divide else 1
        rows.append(dict.fromkeys(reads, Fraction(1, count)))
    return AxisMap.of(rows, inputs)


@rule(aten.avg_pool1d, aten.avg_pool2d, aten.avg_pool3d)
def _avg_pool(
    c: Arithmetic,
    x: Element,
    kernel: list[int],
    stride: list[int] | None = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Element:
    n = len(kernel)
    steps, pads = (
        [v[0] if len(v) == 1 else v[i] for i in range(n)] for v in (list(stride or kernel), _listed(padding))
    )
    maps = [
        _average(size, k, s, p, ceil_mode, count_include_pad, divisor_override is None)
        for size, k, s, p in zip(x.shape[-n:], kernel, steps, pads, strict=True)
    ]
    result = along_last_axes(c, x, maps)
    return result if divisor_override is None else c.divide_by_count(result, divisor_override)


def _listed(x: Any) -> list[int]:
    return [x] if isinstance(x, int) else list(x)


@rule(aten.adaptive_avg_pool1d, aten._adaptive_avg_pool2d, aten._adaptive_avg_pool3d)
def _adaptive_avg_pool(c: Arithmetic, x: Element, size: list[int]) -> Element:
    maps = []
    for inputs, outputs in zip(x.shape[-len(size) :], size, strict=True):
        windows = [range(o * inputs // outputs, -(-(o + 1) * inputs // outputs)) for o in range(outputs)]
        maps.append(AxisMap.of([dict.fromkeys(w, Fraction(1, len(w))) for w in windows], inputs))
    return along_last_axes(c, x, maps)
