"""Decisions: comparisons, maxima, orderings. The shadow decides; values follow by look-up."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.carrier import rule
from symgauge.arithmetic.jet import Calculus, Jet
from symgauge.arithmetic.rules._convert import both

aten = torch.ops.aten


def _shadow(x: Any) -> Any:
    return x.shadow if isinstance(x, Jet) else x


def _decide(operation: Any) -> Any:
    def decide(calculus: Calculus, *args: Any, **kwargs: Any) -> Any:
        return operation(*(_shadow(a) for a in args), **kwargs)

    return decide


for _operation in (
    aten.gt, aten.ge, aten.lt, aten.le, aten.eq, aten.ne, aten.isnan, aten.isinf, aten.argmax,
    aten.argmin, aten.nonzero, aten.sign, aten._local_scalar_dense, aten.logical_not,
    aten.any, aten.all, aten.equal, aten.bitwise_not, aten.logical_and, aten.logical_or,
):  # fmt: skip
    rule(_operation)(_decide(_operation))


@rule(aten.topk)
def _topk(c: Calculus, x: Jet, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Jet, Tensor]:
    dim %= x.shadow.dim()
    index = torch.topk(x.shadow, k, dim, largest, sorted).indices
    return c.move(lambda t: torch.gather(t, dim, index), x), index


@rule(aten.sort)
def _sort(c: Calculus, x: Jet, dim: int = -1, descending: bool = False, **_: Any) -> tuple[Jet, Tensor]:
    dim %= x.shadow.dim()
    index = torch.sort(x.shadow, dim=dim, descending=descending).indices
    return c.move(lambda t: torch.gather(t, dim, index), x), index


def _along(largest: bool) -> Any:
    def extreme(c: Calculus, x: Jet, dim: int, keepdim: bool = False) -> tuple[Jet, Tensor]:
        dim %= x.shadow.dim()
        index = (torch.argmax if largest else torch.argmin)(x.shadow, dim, keepdim=True)
        value = c.move(lambda t: torch.gather(t, dim, index), x)
        if keepdim:
            return value, index
        return c.move(lambda t: t.squeeze(dim), value), index.squeeze(dim)

    return extreme


def _over_all(largest: bool) -> Any:
    def extreme(c: Calculus, x: Jet) -> Jet:
        index = int((torch.argmax if largest else torch.argmin)(x.shadow))
        return c.move(lambda t: t.reshape(-1)[index], x)

    return extreme


rule(aten.max.dim)(_along(True))
rule(aten.min.dim)(_along(False))
rule(aten.max.default)(_over_all(True))
rule(aten.min.default)(_over_all(False))


@rule(aten.amax)
def _amax(c: Calculus, x: Jet, dim: Any = (), keepdim: bool = False) -> Jet:
    dims = [dim] if isinstance(dim, int) else list(dim) or list(range(x.shadow.dim()))
    for d in sorted((d % x.shadow.dim() for d in dims), reverse=True):
        x = _along(True)(c, x, d, keepdim)[0]
    return x


def _pick(largest: bool) -> Any:
    def pick(c: Calculus, a: Any, b: Any) -> Jet:
        a, b = both(c, a, b)
        return c.select((a.shadow > b.shadow) == largest, a, b)

    return pick


rule(aten.maximum)(_pick(True))
rule(aten.minimum)(_pick(False))
