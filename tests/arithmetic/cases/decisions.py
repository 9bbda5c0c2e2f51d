"""Roundings, comparisons, orders: what jumps."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.arithmetic.cases.inputs import CONSTANT, ROW, Case


def quantized(x: Tensor) -> Tensor:
    return x * (
        x.floor() + x.ceil() + x.round() + x.trunc() + torch.div(x, 0.4, rounding_mode="floor") + x.detach() // 0.3
    )


CASES: dict[str, Case] = {
    "steps": quantized,
    "straight through": lambda x: (x.round() - x) + x,
    "remainders": lambda x: torch.fmod(x, 0.4) + torch.remainder(x, 0.3) + torch.frac(x) + torch.fmod(x, CONSTANT + 3),
    "signs and sides": lambda x: (
        x * x.sgn() * torch.heaviside(x.detach(), x.detach()) * ~torch.signbit(x) + torch.copysign(x, CONSTANT)
    ),
    "fmax fmin ldexp": lambda x: torch.fmax(x, x * x) * torch.fmin(x, CONSTANT) + torch.ldexp(x, ROW[:, None]),
    "infinities": lambda x: (
        x
        * ~torch.isposinf(x)
        * ~torch.isneginf(x)
        * torch.isclose(x, x)
        * torch.logical_xor(x, x > 9)
        * ~torch.logical_not(x)
        * len(torch.nonzero(x))
    ),
    "buckets": lambda x: x * torch.bucketize(x, CONSTANT[0, 0].sort().values) * torch.isin(x, x) * torch.allclose(x, x),
    "sorted search": lambda x: x * torch.searchsorted(CONSTANT.sort(-1).values, x),
    "extremes": lambda x: (
        x.amin((0, 2), keepdim=True) * sum(torch.aminmax(x, dim=1, keepdim=True)) + x.cummax(1).values
    ),  # type: ignore[arg-type]
    "order statistics": lambda x: x.median(1).values + x.kthvalue(2, 1).values * x.median() + x.cummin(1).values[:, 0],
    "modes quantiles": lambda x: x.mode(1).values + torch.quantile(x, 0.3, 1) + x.nanmedian(1).values * x.nanmedian(),
}
