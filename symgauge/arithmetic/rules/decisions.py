"""Step functions and orderings. The float64 reference decides; a step has derivative 0, an ordering looks up."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.record import STEP
from symgauge.arithmetic.rules._convert import axes
from symgauge.arithmetic.rules.comparison import _along, _decide
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten


def _step(operation: Any) -> Any:
    """A step function: its derivative is 0, and it jumps."""

    def step(c: Arithmetic, *args: Any, **kwargs: Any) -> Any:
        for x in args:
            if isinstance(x, Element):
                c.jump(STEP, x, ordered=True)
        return operation(*(x.reference if isinstance(x, Element) else x for x in args), **kwargs)

    return step


for _operation in (aten.floor, aten.ceil, aten.round, aten.trunc, aten.floor_divide, aten.bucketize, aten.searchsorted):
    rule(_operation)(_step(_operation))

for _operation in (
    aten.sgn, aten.signbit, aten.heaviside,
    aten.isneginf, aten.isposinf, aten.logical_xor, aten.isin, aten.allclose,
):  # fmt: skip
    rule(_operation)(_decide(_operation))


@rule(aten.amin)
def _amin(c: Arithmetic, x: Element, dim: Any = (), keepdim: bool = False) -> Element:
    for d in sorted(axes(x, dim), reverse=True):
        x = _along(False)(c, x, d, keepdim)[0]
    return x


def _looked_up(operation: Any) -> Any:
    """A rule for an operation along an axis that returns entries and where they stood."""

    def find(c: Arithmetic, x: Element, *args: Any, **kwargs: Any) -> tuple[Element, Tensor]:
        values, index = operation(x.reference, *args, **kwargs)
        if x.reference.dim() == 0:
            return x, index
        dim = next((a for a in args[1 if operation is aten.kthvalue else 0 :] if type(a) is int), -1)
        dim = kwargs.get("dim", dim) % x.reference.dim()
        kept = index if index.dim() == x.reference.dim() else index.unsqueeze(dim)
        found = c.gather(lambda t: torch.gather(t, dim, kept), x)
        return c.gather(lambda t: t.reshape(values.shape), found), index

    return find


for _ordering in (aten.median.dim, aten.nanmedian.dim, aten.mode, aten.cummax, aten.cummin, aten.kthvalue):
    rule(_ordering)(_looked_up(_ordering))


@rule(aten.median.default, aten.nanmedian.default)
def _median(c: Arithmetic, x: Element) -> Element:
    index = torch.median(x.reference.reshape(-1), 0).indices
    return c.gather(lambda t: t.reshape(-1)[index], x)
