"""Complex tensors as pairs of real ones, so that rotary embeddings and state spaces written in ℂ are followed exactly.

A :class:`Pair` looks like a complex tensor to Python code. Its two parts are ordinary or exact real tensors, and every
operation on it is written with real ones, which then go through the rule table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic import decompositions
from symgauge.arithmetic.arguments import leaves, mapped
from symgauge.errors import UnsupportedOperation

aten = torch.ops.aten
Part = Any
"""A real tensor, exact or not, or a number; the number 0 is a part that is not there."""


class Pair(Tensor):
    """A complex tensor: its real and imaginary part, of one shape."""

    re: Tensor
    im: Tensor

    @staticmethod
    def __new__(cls, re: Tensor, im: Tensor) -> Pair:
        dtype = torch.complex128 if re.dtype == torch.float64 else torch.complex64
        self: Pair = Tensor._make_wrapper_subclass(cls, re.shape, dtype=dtype, device=re.device)
        self.re, self.im = re, im
        return self

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"Pair(shape={tuple(self.shape)})"

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return dispatch(func, args, kwargs or {})


def involved(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether an operation on exact tensors takes or gives complex ones."""
    return func.overloadpacket in _MAKE_COMPLEX or any(map(_is_complex, leaves((args, kwargs))))


def _is_complex(x: Any) -> bool:
    if isinstance(x, Tensor):
        return x.is_complex()
    return isinstance(x, complex) or (isinstance(x, torch.dtype) and x.is_complex)


def dispatch(func: Any, args: Any, kwargs: Any) -> Any:
    """Carry an operation out on pairs."""
    packet = func.overloadpacket
    if packet in _LINEAR:
        return _on_both(func, args, kwargs)
    if packet in _FUNCTIONS:
        return _FUNCTIONS[packet](*args, **kwargs)
    plain = decompositions.plain_of_in_place(func)
    if plain is not None:
        return _write(args[0], plain(*args, **kwargs))
    if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
        return func.decompose(*args, **kwargs)
    raise UnsupportedOperation(f"no exact rule for {func} of complex tensors; write it with real ones")


def _write(target: Any, result: Any) -> Any:
    if not isinstance(target, Pair):
        raise UnsupportedOperation(
            "an exact complex value is written into an ordinary tensor; make it from an exact one"
        )
    re, im = _parts(result)
    target.re.copy_(re)
    target.im.copy_(im)
    return target


def _parts(x: Any) -> tuple[Part, Part]:
    if isinstance(x, Pair):
        return x.re, x.im
    if isinstance(x, complex) or (isinstance(x, Tensor) and x.is_complex()):
        return x.real, x.imag
    return x, 0


def _absent(x: Part) -> bool:
    return isinstance(x, (int, float)) and x == 0


def _add(a: Part, b: Part) -> Part:
    return b if _absent(a) else a if _absent(b) else a + b


def _sub(a: Part, b: Part) -> Part:
    return a if _absent(b) else -b if _absent(a) else a - b


def _mul(a: Part, b: Part) -> Part:
    return 0 if _absent(a) or _absent(b) else a * b


def _pair(re: Part, im: Part) -> Pair:
    """Two parts as one tensor; numbers and smaller parts are spread to the common shape."""
    like = re if isinstance(re, Tensor) else im
    re, im = (x if isinstance(x, Tensor) else torch.full_like(like, x) for x in (re, im))
    shape = torch.broadcast_shapes(re.shape, im.shape)
    return Pair(re.expand(shape), im.expand(shape))


# ----- operations that treat both parts alike

_LINEAR = {
    aten.view, aten._unsafe_view, aten.reshape, aten.permute, aten.transpose, aten.t, aten.expand, aten.slice,
    aten.select, aten.unsqueeze, aten.squeeze, aten.clone, aten.detach, aten.alias, aten.flip, aten.roll, aten.repeat,
    aten.index_select, aten.index, aten.gather, aten.split, aten.split_with_sizes, aten.unbind, aten.cat, aten.stack,
    aten.sum, aten.mean, aten.cumsum, aten.tril, aten.triu, aten.diagonal, aten.neg, aten.unfold,
    aten.embedding, aten.diag_embed, aten.zeros_like, aten.empty_like, aten.new_zeros, aten.index_put,
    aten.index_add, aten.scatter_add, aten.contiguous, aten.index_copy,
}  # fmt: skip


def _on_both(func: Any, args: Any, kwargs: Any) -> Any:
    kwargs = {k: v for k, v in kwargs.items() if k not in ("dtype", "layout", "pin_memory")}
    results = []
    for part in range(2):

        def of(x: Any, part: int = part) -> Any:
            if isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex()):
                return _real_tensor(x, _parts(x)[part])
            return x

        results.append(func.overloadpacket(*mapped(of, args), **mapped(of, kwargs)))
    re, im = results
    if isinstance(re, (tuple, list)):
        return tuple(_pair(r, i) for r, i in zip(re, im, strict=True))
    return _pair(re, im)


def _real_tensor(whole: Any, part: Part) -> Part:
    """A part of a tensor is a tensor, even where it is 0."""
    return part if isinstance(part, Tensor) else torch.zeros_like(whole)


# ----- algebra


def _plus(a: Any, b: Any, *, alpha: Any = 1) -> Pair:
    (p, q), (r, s) = _parts(a), _parts(b if alpha == 1 else b * alpha)
    return _pair(_add(p, r), _add(q, s))


def _minus(a: Any, b: Any, *, alpha: Any = 1) -> Pair:
    (p, q), (r, s) = _parts(a), _parts(b if alpha == 1 else b * alpha)
    return _pair(_sub(p, r), _sub(q, s))


def _times(a: Any, b: Any) -> Pair:
    (p, q), (r, s) = _parts(a), _parts(b)
    return _pair(_sub(_mul(p, r), _mul(q, s)), _add(_mul(p, s), _mul(q, r)))


def _reciprocal(z: Pair) -> Pair:
    size = z.re * z.re + z.im * z.im
    return _pair(z.re / size, -z.im / size)


def _divided(a: Any, b: Any, *, rounding_mode: str | None = None) -> Pair:
    (p, q), (r, s) = _parts(a), _parts(b)
    if _absent(s):
        return _pair(p / r, 0 if _absent(q) else q / r)
    if not isinstance(b, Pair):  # the squares of a constant would be rounded, were they not exact numbers
        zero = torch.zeros_like((p if isinstance(p, Tensor) else q).reshape(-1)[0])
        b = _pair(zero + r, zero + s)
    return _times(a, _reciprocal(b))


def _product(operation: Callable[..., Tensor]) -> Callable[[Any, Any], Pair]:
    """A bilinear operation on pairs."""

    def product(a: Any, b: Any) -> Pair:
        (p, q), (r, s) = _parts(a), _parts(b)

        def of(x: Part, y: Part) -> Part:
            return 0 if _absent(x) or _absent(y) else operation(x, y)

        return _pair(_sub(of(p, r), of(q, s)), _add(of(p, s), of(q, r)))

    return product


def _plus_product(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    product = torch.matmul(a, b)
    product = product if alpha == 1 else product * alpha
    return product + (x if beta == 1 else x * beta)


def _power(base: Any, exponent: Any) -> Any:
    if not isinstance(exponent, (int, float)) or exponent != int(exponent):
        if isinstance(base, Tensor) and base.is_complex():
            return torch.exp(torch.log(base) * exponent)
        raise UnsupportedOperation(
            "a real base has no exact rule for complex exponents; write exp(exponent · log(base))"
        )
    n, result = abs(int(exponent)), None
    while n:
        if n & 1:
            result = base if result is None else result * base
        n >>= 1
        base = base * base if n else base
    if result is None:
        return torch.ones_like(base)
    return torch.reciprocal(result) if exponent < 0 else result


def _polar(size: Part, angle: Tensor) -> Pair:
    return _pair(size * torch.cos(angle), size * torch.sin(angle))


def _exp(z: Pair) -> Pair:
    return _polar(torch.exp(z.re), z.im)


def _log(z: Pair) -> Pair:
    return _pair(torch.log(z.re * z.re + z.im * z.im) / 2, torch.atan2(z.im, z.re))


def _where(condition: Tensor, a: Any, b: Any) -> Pair:
    (p, q), (r, s) = _parts(a), _parts(b)
    return _pair(torch.where(condition, p, r), torch.where(condition, q, s))


def _pad(z: Any, pad: list[int], value: Any = 0) -> Pair:
    re, im = _parts(value)
    return _pair(aten.constant_pad_nd(z.re, pad, re), aten.constant_pad_nd(z.im, pad, im))


def _cast(x: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    """To complex a real tensor gets a zero part; to real a complex one loses its imaginary part, as in torch."""
    re, im = _parts(x)
    return re if dtype is not None and not dtype.is_complex else _pair(re, im)


def _ones(x: Any, **_: Any) -> Pair:
    like = _parts(x)[0]
    return _pair(torch.ones_like(like), torch.zeros_like(like))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    aten.add: _plus,
    aten.sub: _minus,
    aten.rsub: lambda a, b, alpha=1: _minus(b, a, alpha=alpha),
    aten.mul: _times,
    aten.div: _divided,
    aten.reciprocal: _reciprocal,
    aten.mm: _product(torch.mm),
    aten.bmm: _product(torch.bmm),
    aten.mv: _product(torch.mv),
    aten.dot: _product(torch.dot),
    aten.addmm: _plus_product,
    aten.baddbmm: _plus_product,
    aten.pow: _power,
    aten.exp: _exp,
    aten.log: _log,
    aten.abs: lambda z: torch.sqrt(z.re * z.re + z.im * z.im),
    aten.angle: lambda z: torch.atan2(z.im, z.re),
    aten._conj: lambda z: _pair(z.re, -z.im),
    aten._conj_physical: lambda z: _pair(z.re, -z.im),
    aten.complex: _pair,
    aten.polar: _polar,
    aten.view_as_complex: lambda x: Pair(x[..., 0], x[..., 1]),
    aten.view_as_real: lambda z: torch.stack([z.re, z.im], -1),
    aten._to_copy: _cast,
    aten.ones_like: _ones,
    aten.where: _where,
    aten.masked_fill: lambda z, mask, value: _where(mask, value, z),
    aten.constant_pad_nd: _pad,
}
_MAKE_COMPLEX = {aten.complex, aten.polar, aten.view_as_complex}
