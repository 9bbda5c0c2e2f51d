"""Ring operations, matrix products, sums and powers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.carrier import rule
from symgauge.arithmetic.jet import Calculus, Jet
from symgauge.arithmetic.rules._convert import as_jet, both
from symgauge.errors import UnsupportedOperation

aten = torch.ops.aten
Operand = Jet | Tensor | float


@rule(aten.add, aten.add_)
def _add(c: Calculus, a: Operand, b: Operand, *, alpha: float = 1) -> Jet:
    return c.add(*both(c, a, b), alpha)


@rule(aten.sub, aten.sub_)
def _sub(c: Calculus, a: Operand, b: Operand, *, alpha: float = 1) -> Jet:
    a, b = both(c, a, b)
    return c.sub(a, b if alpha == 1 else c.scale(b, alpha))


@rule(aten.rsub)
def _rsub(c: Calculus, a: Operand, b: Operand, alpha: float = 1) -> Jet:
    return _sub(c, b, a, alpha=alpha)


@rule(aten.neg)
def _neg(c: Calculus, a: Jet) -> Jet:
    return c.neg(a)


@rule(aten.mul, aten.mul_)
def _mul(c: Calculus, a: Operand, b: Operand) -> Jet:
    if isinstance(a, Jet) and isinstance(b, (int, float)) and not isinstance(b, bool):
        return c.scale(a, b)
    return c.mul(*both(c, a, b))


@rule(aten.div, aten.div_)
def _div(c: Calculus, a: Operand, b: Operand, *, rounding_mode: str | None = None) -> Jet:
    if rounding_mode is not None:
        raise UnsupportedOperation(f"division rounded by {rounding_mode!r} is not differentiable, so it has no rule")
    if isinstance(a, Jet) and isinstance(b, int) and not isinstance(b, bool):
        return c.divide_by_count(a, b)
    return c.div(*both(c, a, b))


@rule(aten.reciprocal)
def _reciprocal(c: Calculus, a: Jet) -> Jet:
    return c.reciprocal(a)


@rule(aten.addcmul)
def _addcmul(c: Calculus, a: Operand, b: Operand, d: Operand, *, value: float = 1) -> Jet:
    jets = [as_jet(c, x) for x in (a, b, d)]
    return c.add(jets[0], c.mul(jets[1], jets[2]), value)


@rule(aten.lerp)
def _lerp(c: Calculus, a: Operand, b: Operand, weight: Operand) -> Jet:
    a, b = both(c, a, b)
    return c.add(a, c.mul(c.sub(b, a), as_jet(c, weight, a.shadow.device)))


@rule(aten.mm, aten.bmm)
def _mm(c: Calculus, a: Operand, b: Operand) -> Jet:
    return c.matmul(*both(c, a, b))


@rule(aten.addmm)
def _addmm(c: Calculus, bias: Operand, a: Operand, b: Operand, *, beta: float = 1, alpha: float = 1) -> Jet:
    product = c.matmul(as_jet(c, a), as_jet(c, b))
    product = product if alpha == 1 else c.scale(product, alpha)
    bias = as_jet(c, bias)
    return c.add(product, bias if beta == 1 else c.scale(bias, beta)) if beta else product


@rule(aten.baddbmm)
def _baddbmm(c: Calculus, bias: Operand, a: Operand, b: Operand, *, beta: float = 1, alpha: float = 1) -> Jet:
    return _addmm(c, bias, a, b, beta=beta, alpha=alpha)


@rule(aten.mv)
def _mv(c: Calculus, a: Operand, b: Operand) -> Jet:
    column = c.move(lambda t: t.unsqueeze(-1), as_jet(c, b))
    return c.move(lambda t: t.squeeze(-1), c.matmul(as_jet(c, a), column))


@rule(aten.dot)
def _dot(c: Calculus, a: Operand, b: Operand) -> Jet:
    return c.sum(c.mul(*both(c, a, b)), [0])


def _dims(x: Jet, dim: Any) -> list[int]:
    if dim is None or dim == []:
        return list(range(x.shadow.dim()))
    return [d % x.shadow.dim() for d in ([dim] if isinstance(dim, int) else dim)]


@rule(aten.sum)
def _sum(c: Calculus, x: Jet, dim: Any = None, keepdim: bool = False, **_: Any) -> Jet:
    return c.sum(x, _dims(x, dim), keepdim)


@rule(aten.mean)
def _mean(c: Calculus, x: Jet, dim: Any = None, keepdim: bool = False, **_: Any) -> Jet:
    return c.mean(x, _dims(x, dim), keepdim)


@rule(aten.var)
def _var(c: Calculus, x: Jet, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Jet:
    dims = _dims(x, dim)
    centred = c.sub(x, c.mean(x, dims, keepdim=True))
    count = 1
    for d in dims:
        count *= x.shape[d]
    freedom = count - int(1 if correction is None else correction)
    return c.divide_by_count(c.sum(c.mul(centred, centred), dims, keepdim), freedom)


@rule(aten.cumsum)
def _cumsum(c: Calculus, x: Jet, dim: int, **_: Any) -> Jet:
    return c.cumsum(x, dim)


@rule(aten.pow)
def _pow(c: Calculus, base: Operand, exponent: Any) -> Jet:
    if not isinstance(base, Jet) or isinstance(exponent, (Jet, Tensor)):
        raise UnsupportedOperation("pow has a rule for a constant number as exponent only")
    if exponent == 0.5:
        return c.sqrt(base)
    if exponent == -0.5:
        return c.rsqrt(base)
    if exponent != int(exponent):
        raise UnsupportedOperation(f"pow with exponent {exponent}: integers and ±1/2 have rules")
    n = abs(int(exponent))
    result = as_jet(c, torch.ones_like(base.shadow))
    power, bits = base, n
    while bits:
        if bits & 1:
            result = c.mul(result, power)
        bits >>= 1
        if bits:
            power = c.mul(power, power)
    return c.reciprocal(result) if exponent < 0 else result


@rule(aten.sqrt)
def _sqrt(c: Calculus, x: Jet) -> Jet:
    return c.sqrt(x)


@rule(aten.rsqrt)
def _rsqrt(c: Calculus, x: Jet) -> Jet:
    return c.rsqrt(x)


@rule(aten.linalg_inv_ex)
def _inverse(c: Calculus, x: Jet, **_: Any) -> tuple[Jet, Tensor]:
    info = torch.zeros(x.shape[:-2], dtype=torch.int32, device=x.shadow.device)
    return c.matrix_inverse(x), info
