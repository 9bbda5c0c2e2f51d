"""Decisions: comparisons, maxima, orderings. The float64 reference decides; values follow by look-up."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.places import where
from symgauge.arithmetic.rules._convert import both, is_guard, is_small
from symgauge.arithmetic.wrapper_tensor import rule
from symgauge.errors import UnsupportedOperation

aten = torch.ops.aten


def _reference(x: Any) -> Any:
    return x.reference if isinstance(x, Element) else x


def _decide(operation: Any) -> Any:
    def decide(calculus: Arithmetic, *args: Any, **kwargs: Any) -> Any:
        return operation(*(_reference(a) for a in args), **kwargs)

    return decide


def _distance(c: Arithmetic, a: Element, b: Element) -> tuple[Element, bool]:
    """a − b and whether one of them is a guard; if so, what it guards is away from zero, or no overflow, above 0."""
    if not (is_guard(a) or is_guard(b)):
        return c.sub(a, b), False
    value, bound = (b, a) if is_guard(a) else (a, b)
    safe_is_larger = is_small(bound) == bool((bound.reference > 0).all())
    return (c.sub(value, bound) if safe_is_larger else c.sub(bound, value)), True


def _compare(name: str, operation: Any) -> Any:
    """An inequality: the function may jump where the two sides are equal."""

    def compare(c: Arithmetic, a: Any, b: Any) -> Tensor:
        if isinstance(b, (Element, Tensor)) or math.isfinite(b):
            left, right = both(c, a, b)
            distance, guard = _distance(c, left, right)
            c.jump(name, distance, guard=guard)
        return operation(_reference(a), _reference(b))

    return compare


for _name in ("gt", "ge", "lt", "le"):
    rule(getattr(aten, _name))(_compare(_name, getattr(aten, _name)))


def _first(largest: bool, operation: Any) -> Any:
    """Where an extreme entry stands: it jumps where the first two are equal."""

    def find(c: Arithmetic, x: Element, dim: int | None = None, keepdim: bool = False) -> Tensor:
        flat = c.gather(lambda t: t.reshape(-1), x) if dim is None else x
        _note_choice(c, "argmax", flat, 1, -1 if dim is None else dim, largest)
        return operation(x.reference, dim, keepdim)

    return find


rule(aten.argmax)(_first(True, torch.argmax))
rule(aten.argmin)(_first(False, torch.argmin))


def _note_choice(c: Arithmetic, name: str, x: Element, k: int, dim: int, largest: bool) -> None:
    """Note which k entries are chosen, and the distance between the last chosen and the first that is not."""
    if not c.watcher.thresholds or not x.depends or not x.reference.dim() or not 0 < k < x.shape[dim]:
        return
    index = torch.topk(x.reference, k + 1, dim, largest).indices
    chosen = torch.zeros_like(x.reference, dtype=torch.bool).scatter(dim, index.narrow(dim, 0, k), True)
    c.chosen(name, x, chosen)
    last, following = (c.gather(lambda t, i=i: torch.gather(t, dim, index.narrow(dim, i, 1)), x) for i in (k - 1, k))  # type: ignore[misc]
    c.jump(name, c.sub(last, following) if largest else c.sub(following, last), ordered=True)


for _operation in (
    aten.eq, aten.ne, aten.isnan, aten.isinf, aten.nonzero, aten.logical_not,
    aten.any, aten.all, aten.equal, aten.bitwise_not, aten.logical_and, aten.logical_or,
):  # fmt: skip
    rule(_operation)(_decide(_operation))


@rule(aten._local_scalar_dense)
def _item(c: Arithmetic, x: Element) -> Any:
    """A Python number has left exact arithmetic; of a value that depends on parameters it would
    lose their derivatives."""
    if x.depends:
        raise UnsupportedOperation(
            f".item(), float(), int() or bool() of a value that depends on parameters{where()} takes it out of exact "
            "arithmetic, and its derivatives would be lost; keep it a tensor"
        )
    return x.reference.item()


@rule(aten.sign)
def _sign(c: Arithmetic, x: Element) -> Tensor:
    c.jump("sign", x)
    return torch.sign(x.reference)


@rule(aten.topk)
def _topk(
    c: Arithmetic, x: Element, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Element, Tensor]:
    dim %= x.reference.dim()
    _note_choice(c, "topk", x, k, dim, largest)
    index = torch.topk(x.reference, k, dim, largest, sorted).indices
    return c.gather(lambda t: torch.gather(t, dim, index), x), index


@rule(aten.sort)
def _sort(c: Arithmetic, x: Element, dim: int = -1, descending: bool = False, **_: Any) -> tuple[Element, Tensor]:
    dim %= x.reference.dim()
    index = torch.sort(x.reference, dim=dim, descending=descending).indices
    return c.gather(lambda t: torch.gather(t, dim, index), x), index


def _along(largest: bool) -> Any:
    def extreme(c: Arithmetic, x: Element, dim: int, keepdim: bool = False) -> tuple[Element, Tensor]:
        dim %= x.reference.dim()
        index = (torch.argmax if largest else torch.argmin)(x.reference, dim, keepdim=True)
        value = c.gather(lambda t: torch.gather(t, dim, index), x)
        if keepdim:
            return value, index
        return c.gather(lambda t: t.squeeze(dim), value), index.squeeze(dim)

    return extreme


def _over_all(largest: bool) -> Any:
    def extreme(c: Arithmetic, x: Element) -> Element:
        index = int((torch.argmax if largest else torch.argmin)(x.reference))
        return c.gather(lambda t: t.reshape(-1)[index], x)

    return extreme


rule(aten.max.dim)(_along(True))
rule(aten.min.dim)(_along(False))
rule(aten.max.default)(_over_all(True))
rule(aten.min.default)(_over_all(False))


@rule(aten.amax)
def _amax(c: Arithmetic, x: Element, dim: Any = (), keepdim: bool = False) -> Element:
    n = x.reference.dim()
    dims = ([dim] if isinstance(dim, int) else list(dim) or list(range(n))) if n else []
    for d in sorted((d % n for d in dims), reverse=True):
        x = _along(True)(c, x, d, keepdim)[0]
    return x


def _pick(largest: bool) -> Any:
    def pick(c: Arithmetic, a: Any, b: Any) -> Element:
        a, b = both(c, a, b)
        c.threshold("maximum" if largest else "minimum", *_distance(c, a, b))
        return c.select((a.reference > b.reference) == largest, a, b)

    return pick


rule(aten.maximum)(_pick(True))
rule(aten.minimum)(_pick(False))
