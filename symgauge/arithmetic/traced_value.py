"""A value and how it depends on others: what a wrapper tensor holds, and the calculus on it.

A traced value has a *value* (residues), a float64 *reference* (the same computation in ordinary arithmetic, which
decides every branch), a *node* (its place in the chain rule, see :mod:`symgauge.arithmetic.tape`; None if constant or
not wanted) and a mask of *undefined* entries (they rest on a square root that does not exist in the field, and are
thrown away; None if none). ``degree`` and ``derivative_degree`` bound the degrees of value and derivative,
uninterpreted elements, roots and reciprocals counting as 1; degree 0 says that no parameter is involved.

Logarithms and exponentials remember each other. A logarithm is an uninterpreted element of the field, so it carries
its *power*, the value whose logarithm it is: sums multiply powers, and exp gives the power back. An exponential
carries its *logarithm*, its argument. So softmax may be written as exp(log_softmax(x)), as exp(x − logsumexp(x)), or in
blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues, gathered
from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.linear_maps import ByLeft, ByRight, Gather, Kept, LinearMap, Softmax, Times, Total, gathers
from symgauge.arithmetic.tape import Node

_LARGEST_POWER = 64
"""Multiples of a logarithm up to this keep their power."""
_EXP_UNDERFLOW = 746.0
"""exp(−x) is exactly 0 in float64 for x at least this."""


@dataclass(frozen=True)
class TracedValue(Element):
    """An element over a field, with what its derivatives take."""

    value: Residues
    derivative_degree: int = 0
    power: Residues | None = None
    """exp of the value, where it is known otherwise than from the value's residues."""
    logarithm: Residues | None = None
    """The argument of the exponential that this is."""


def _any_undefined(*elements: TracedValue) -> Tensor | None:
    masks = [j.undefined for j in elements if j.undefined is not None]
    if not masks:
        return None
    result = masks[0]
    for mask in masks[1:]:
        result = result | mask
    shape = torch.broadcast_shapes(*(j.shape for j in elements))
    return result.expand(shape)


def _origins(fn: Callable[[Sequence[Tensor]], Tensor], like: Sequence[Tensor]) -> Tensor:
    """Where an operation takes its entries from, numbered through all arrays; −1 for a zero that it puts in."""
    numbers, start = [], 1
    for x in like:
        numbers.append(torch.arange(start, start + x.numel(), device=x.device).reshape(x.shape))
        start += x.numel()
    return fn(numbers) - 1


class Calculus(Arithmetic[TracedValue]):
    """Operations on traced values over one field."""

    def __init__(self, field: FiniteField) -> None:
        super().__init__()
        self.field = field

    # ----- construction

    def lift(self, x: Tensor, exact: bool = False) -> TracedValue:
        """A constant from an ordinary tensor. Non-finite entries keep their reference (masks) and the residue 0.

        A constant of the code that is the nearest float to a simple fraction means that fraction; ``exact`` (for
        parameters and inputs, which are drawn or trained) takes the float for the dyadic rational it is.
        """
        return TracedValue(self.field.lift(x, exact), x.double() if x.is_floating_point() else x.to(torch.float64))

    def variable(self, x: Tensor | TracedValue, derivatives: bool = True) -> TracedValue:
        """An independent variable, of which derivatives are wanted or not."""
        element = replace(x if isinstance(x, TracedValue) else self.lift(x, exact=True), degree=1)
        return replace(element, node=Node(element.shape)) if derivatives else element

    # ----- the chain rule

    def _node(self, shape: torch.Size, *parents: tuple[TracedValue, LinearMap | None]) -> Node | None:
        """The node of a value of this shape; parents of smaller shapes are broadcast to it before their map."""
        known = tuple((node, by) for element, by in parents if (node := self._broadcast(element, shape)) is not None)
        return Node(shape, known) if known else None

    def _broadcast(self, a: TracedValue, shape: torch.Size) -> Node | None:
        if a.node is None or a.shape == shape:
            return a.node
        index = _origins(lambda parts: parts[0].expand(shape), [a.reference])
        return Node(shape, ((a.node, Gather(index, a.shape)),))

    # ----- ring operations

    def power(self, a: TracedValue) -> Residues:
        """exp of the value: what a logarithm remembers, else its homomorphism; 0 where float64 has
        exactly 0 (masks)."""
        result = self.field.exp(a.value) if a.power is None else a.power
        vanishing = torch.exp(a.reference) == 0
        if self.watcher.thresholds:
            self.watcher.flat("exponential", vanishing & torch.isfinite(a.reference))
        return result.map(lambda t: t.masked_fill(vanishing, 0)) if bool(vanishing.any()) else result

    def add(self, a: TracedValue, b: TracedValue, alpha: float = 1) -> TracedValue:
        if alpha == -1:
            return self.sub(a, b)
        if alpha != 1:
            b = self.scale(b, alpha)
        power = None
        if a.power is not None or b.power is not None:
            power = self.field.mul(self.power(a), self.power(b))
        reference = a.reference + b.reference
        node = self._node(reference.shape, (a, None), (b, None))
        degree, derivative_degree = max(a.degree, b.degree), max(a.derivative_degree, b.derivative_degree)
        return TracedValue(
            self.field.add(a.value, b.value), reference, node, _any_undefined(a, b), degree, derivative_degree, power
        )

    def neg(self, a: TracedValue) -> TracedValue:
        node = self._node(a.shape, (a, Times(self.field.constant(-1, a.reference))))
        power = None if a.power is None else self.field.inverse(a.power)
        return replace(a, value=self.field.neg(a.value), reference=-a.reference, node=node, power=power, logarithm=None)

    def scale(self, a: TracedValue, factor: float) -> TracedValue:
        """Multiply by a constant of the code."""
        if factor == 1:
            return a
        node = self._node(a.shape, (a, Times(self.field.constant(factor, a.reference))))
        value = self.field.scale(a.value, factor)
        degree, power = (a.degree, None) if factor else (0, None)
        if a.power is not None and factor == int(factor) and 0 < abs(factor) <= _LARGEST_POWER:
            power = a.power
            for _ in range(int(abs(factor)) - 1):
                power = self.field.mul(power, a.power)
            power = power if factor > 0 else self.field.inverse(power)
        return replace(
            a, value=value, reference=a.reference * factor, node=node, degree=degree, power=power, logarithm=None
        )

    def divide_by_count(self, a: TracedValue, n: int) -> TracedValue:
        """Divide by an integer, exactly in the field (1/n is no float)."""
        one = self.field.constant(1, a.reference)
        node = self._node(a.shape, (a, Times(self.field.divide(one, n))))
        value = self.field.divide(a.value, n)
        return replace(a, value=value, reference=a.reference / n, node=node, power=None, logarithm=None)

    def _undefined_in_product(
        self, a: TracedValue, b: TracedValue, product: Callable[[Tensor, Tensor], Tensor]
    ) -> Tensor | None:
        """Entries that an undefined factor reaches; an exact zero stops it (0 · x = 0, as masked attention needs)."""
        if a.undefined is None and b.undefined is None:
            return None
        bad = [
            j.undefined if j.undefined is not None else torch.zeros_like(j.reference, dtype=torch.bool) for j in (a, b)
        ]
        live = [~self.field.is_zero(j.value) | t for j, t in zip((a, b), bad, strict=True)]
        bad_f, live_f = ([t.to(torch.float32) for t in pair] for pair in (bad, live))
        return (product(bad_f[0], live_f[1]) + product(live_f[0], bad_f[1])) > 0

    def _product(
        self, a: TracedValue, b: TracedValue, value: Residues, product: Callable[[Tensor, Tensor], Tensor]
    ) -> TracedValue:
        """A bilinear operation but for its node: ``product`` is the operation on floats."""
        undefined = self._undefined_in_product(a, b, product)
        derivative_degree = max(
            [a.derivative_degree + b.degree] * a.depends + [a.degree + b.derivative_degree] * b.depends + [0]
        )
        return TracedValue(
            value, product(a.reference, b.reference), None, undefined, a.degree + b.degree, derivative_degree
        )

    def mul(self, a: TracedValue, b: TracedValue) -> TracedValue:
        result = self._product(a, b, self.field.mul(a.value, b.value), torch.mul)
        node = self._node(result.shape, (a, Times(b.value)), (b, Times(a.value)))
        if a.logarithm is None or b.logarithm is None:
            return replace(result, node=node)
        return replace(result, node=node, logarithm=self.field.add(a.logarithm, b.logarithm))

    def matmul(self, a: TracedValue, b: TracedValue) -> TracedValue:
        """Matrix product over the last two axes; both at least two-dimensional."""
        result = self._product(a, b, self.field.matmul(a.value, b.value), torch.matmul)
        lead, parents = result.shape[:-2], []
        for element, by in ((a, ByRight(b.value)), (b, ByLeft(a.value))):
            if (node := self._broadcast(element, lead + element.shape[-2:])) is not None:
                parents.append((node, by))
        return replace(result, node=Node(result.shape, tuple(parents)) if parents else None)

    def sum(self, a: TracedValue, dims: Sequence[int], keepdim: bool = False) -> TracedValue:
        dims = [d % a.reference.dim() for d in dims]
        undefined = None if a.undefined is None else a.undefined.float().sum(tuple(dims), keepdim=keepdim) > 0
        reference = a.reference.sum(tuple(dims), keepdim=keepdim)
        value = self.field.sum(a.value, dims, keepdim)
        power = None if a.power is None else self._product_over(self.power(a), dims, keepdim)
        node = None if a.node is None else Node(reference.shape, ((a.node, Total(a.shape, tuple(dims), keepdim)),))
        return replace(a, value=value, reference=reference, node=node, undefined=undefined, power=power, logarithm=None)

    def _product_over(self, x: Residues, dims: Sequence[int], keepdim: bool) -> Residues:
        """Product of residues over axes, halving each in turn."""
        for dim in sorted(dims, reverse=True):
            while (n := x.shape[dim]) > 1:
                odd = x.map(lambda t, dim=dim, n=n: t.narrow(dim, n - 1, n % 2))  # type: ignore[misc]
                half = [x.map(lambda t, d=dim, i=i, n=n: t.narrow(d, i, n // 2)) for i in (0, n // 2)]  # type: ignore[misc]
                x = self.field.mul(half[0], half[1])
                x = gathered(lambda parts, dim=dim: torch.cat(parts, dim), [x, odd]) if n % 2 else x  # type: ignore[misc]
            x = x if keepdim else x.map(lambda t, dim=dim: t.squeeze(dim))  # type: ignore[misc]
        return x

    def cumsum(self, a: TracedValue, dim: int) -> TracedValue:
        """Running sums over an axis; powers are multiplied along."""
        if not a.reference.dim():
            return a
        dim %= a.reference.dim()
        n = a.shape[dim]
        ones = self.lift(torch.ones(n, n, dtype=torch.float64, device=a.reference.device).triu())
        last = self.gather(lambda t: t.movedim(dim, -1).reshape(-1, n), a)
        shape = a.reference.movedim(dim, -1).shape
        result = self.gather(lambda t: t.reshape(shape).movedim(-1, dim), self.matmul(last, ones))
        if a.power is None:
            return result
        running, so_far = [], None
        for i in range(n):
            each = self.power(a).map(lambda t, i=i: t.narrow(dim, i, 1))  # type: ignore[misc]
            so_far = each if so_far is None else self.field.mul(so_far, each)
            running.append(so_far)
        return replace(result, power=gathered(lambda parts: torch.cat(parts, dim), running))

    # ----- functions of one variable

    def apply(
        self,
        a: TracedValue,
        value: Residues,
        reference: Tensor,
        derivative: Residues,
        *,
        undefined: Tensor | None = None,
        degree: int = 1,
        derivative_degree: int = 1,
    ) -> TracedValue:
        """f(a) entry by entry from f's value and derivative at a; ``derivative_degree`` is the derivative's degree."""
        if undefined is not None:
            undefined = undefined if a.undefined is None else undefined | a.undefined
            undefined = undefined if bool(undefined.any()) else None
        else:
            undefined = a.undefined
        node = self._node(a.shape, (a, Times(derivative)))
        return TracedValue(
            value, reference, node, undefined, degree if a.depends else 0, a.derivative_degree + derivative_degree
        )

    def reciprocal(self, a: TracedValue) -> TracedValue:
        """1/a; division by zero leaves the entry undefined."""
        value = self.field.inverse(a.value)
        minus_square = self.field.neg(self.field.mul(value, value))
        result = self.apply(
            a, value, 1 / a.reference, minus_square, undefined=self.field.is_zero(a.value), derivative_degree=2
        )
        return result if a.logarithm is None else replace(result, logarithm=self.field.neg(a.logarithm))

    def _root(self, a: TracedValue) -> tuple[Residues, Tensor]:
        self.watcher.root(a)
        root, failed = self.field.root(a.value)
        return root, failed | self.field.is_zero(a.value)

    def rsqrt(self, a: TracedValue) -> TracedValue:
        """a^(−1/2); undefined where the radicand has no root in the field, or is zero."""
        root, failed = self._root(a)
        value = self.field.inverse(root)
        cube = self.field.mul(value, self.field.mul(value, value))
        return self.apply(
            a, value, a.reference.rsqrt(), self.field.scale(cube, -0.5), undefined=failed, derivative_degree=3
        )

    def sqrt(self, a: TracedValue) -> TracedValue:
        """a^(1/2), as :meth:`rsqrt`."""
        root, failed = self._root(a)
        half_inverse = self.field.scale(self.field.inverse(root), 0.5)
        return self.apply(a, root, a.reference.sqrt(), half_inverse, undefined=failed)

    def exp(self, a: TracedValue) -> TracedValue:
        self.watcher.hashed("exp")
        value = self.power(a)
        return replace(self.apply(a, value, a.reference.exp(), value), logarithm=a.value)

    def log(self, a: TracedValue) -> TracedValue:
        """The argument of an exponential, else an uninterpreted element that remembers ``a``; undefined at zero."""
        self.watcher.hashed("log")
        value = self.field.log(a.value) if a.logarithm is None else a.logarithm
        masked = a.reference == 0
        undefined = self.field.is_zero(a.value) & ~masked
        result = self.apply(a, value, a.reference.log(), self.field.inverse(a.value), undefined=undefined)
        return replace(result, power=a.value)

    def erf(self, a: TracedValue) -> TracedValue:
        """erf is an uninterpreted odd element; its derivative (2/√π) exp(−a²) uses the exponential of all others."""
        self.watcher.hashed("erf")
        field = self.field
        bell = field.exp(field.neg(field.mul(a.value, a.value)))
        derivative = field.scale(bell, 2 / math.sqrt(math.pi))
        return self.apply(a, field.odd(a.value, "erf"), torch.erf(a.reference), derivative)

    def atan(self, a: TracedValue) -> TracedValue:
        """The arc tangent is an uninterpreted odd element; its derivative 1/(1 + a²) is rational."""
        self.watcher.hashed("atan")
        field = self.field
        bottom = field.add(field.lift(torch.ones_like(a.reference)), field.mul(a.value, a.value))
        value, undefined = field.odd(a.value, "arc tangent"), field.is_zero(bottom)
        return self.apply(
            a, value, torch.atan(a.reference), field.inverse(bottom), undefined=undefined, derivative_degree=2
        )

    def sigmoid(self, a: TracedValue) -> TracedValue:
        """E/(1 + E) with E = exp(a), so that every relation to exp, tanh and silu is kept; derivative s(1 − s)."""
        self.watcher.hashed("exp")
        field, e = self.field, self.power(a)
        one = field.ones_like(e)
        denominator = field.add(one, e)
        s = field.mul(e, field.inverse(denominator))
        # Beyond exp's range float64 has exactly 0 or 1: gates that are masked, not functions.
        s = self._saturated(s, a.reference > _EXP_UNDERFLOW, 1)
        if self.watcher.thresholds:
            self.watcher.flat("sigmoid", a.reference.abs() > _EXP_UNDERFLOW)
        undefined = field.is_zero(denominator)
        derivative = field.mul(s, field.sub(one, s))
        return self.apply(a, s, torch.sigmoid(a.reference), derivative, undefined=undefined, derivative_degree=2)

    def tanh(self, a: TracedValue) -> TracedValue:
        """(E² − 1)/(E² + 1) with E = exp(a); derivative 1 − tanh²."""
        self.watcher.hashed("exp")
        field, e = self.field, self.power(a)
        square, one = field.mul(e, e), field.ones_like(e)
        denominator = field.add(square, one)
        t = field.mul(field.sub(square, one), field.inverse(denominator))
        t = self._saturated(t, a.reference > _EXP_UNDERFLOW / 2, 1)
        t = self._saturated(t, a.reference < -_EXP_UNDERFLOW / 2, -1)
        if self.watcher.thresholds:
            self.watcher.flat("tanh", a.reference.abs() > _EXP_UNDERFLOW / 2)
        derivative = field.sub(one, field.mul(t, t))
        return self.apply(
            a, t, torch.tanh(a.reference), derivative, undefined=field.is_zero(denominator), derivative_degree=2
        )

    def _saturated(self, x: Residues, where: Tensor, value: int) -> Residues:
        if not bool(where.any()):
            return x
        constant = self.field.constant(value, x.re).map(lambda t: t.expand(x.shape))
        return gathered(lambda pair: torch.where(where, pair[0], pair[1]), [constant, x])

    def cos_sin(self, a: TracedValue) -> tuple[TracedValue, TracedValue]:
        """Cosine and sine from an uninterpreted odd half-angle tangent, so that cos² + sin² = 1 holds exactly."""
        field = self.field
        self.watcher.hashed("sin")
        t = field.odd(a.value, "tangent of half")
        one = field.ones_like(t)
        square = field.mul(t, t)
        scale = field.inverse(field.add(one, square))
        cos, sin = field.mul(field.sub(one, square), scale), field.mul(field.add(t, t), scale)
        return (
            self.apply(a, cos, torch.cos(a.reference), field.neg(sin), degree=2, derivative_degree=2),
            self.apply(a, sin, torch.sin(a.reference), cos, degree=2, derivative_degree=2),
        )

    def softmax(self, x: TracedValue, dim: int, safe: bool = False) -> TracedValue:
        """p_j = E_j / Σ E with E_j = exp(x_j) and dp_j = p_j (dx_j − Σ p dx).

        An entry is masked, exactly 0, where float64 gives it the weight 0: −∞, −1e9 or any score far below the rest.
        ``safe``: a row of −∞ alone gives zeros and not NaN.
        """
        self.watcher.hashed("exp")
        field = self.field
        reference = torch.softmax(x.reference, dim)
        if safe:
            reference = torch.where((x.reference == -torch.inf).all(dim, keepdim=True), 0.0, reference)
        masked = reference == 0
        if self.watcher.thresholds:
            self.watcher.flat("softmax", (masked | ~torch.isfinite(x.reference)).sum(dim) == x.shape[dim] - 1)
        base = field.exp(x.value) if x.power is None else x.power
        weights = base.map(lambda t: t.masked_fill(masked, 0))
        total = field.sum(weights, [dim], keepdim=True)
        value = field.mul(weights, field.inverse(total))
        failed = field.is_zero(total)  # by bad luck, or because a whole row is masked
        undefined_rows = failed if bool(failed.any()) else None
        if x.undefined is not None:
            inherited = (x.undefined & ~masked).any(dim, keepdim=True)
            undefined_rows = inherited if undefined_rows is None else inherited | undefined_rows
        undefined = None if undefined_rows is None else undefined_rows & ~masked
        node = self._node(x.shape, (x, Softmax(value, dim % x.reference.dim())))
        return TracedValue(value, reference, node, undefined, int(x.depends), x.derivative_degree + 3)

    def log_softmax(self, x: TracedValue, dim: int) -> TracedValue:
        """x − log Σ exp(x), so that its exponential is the softmax."""
        shift = torch.where(torch.isfinite(x.reference), x.reference, -torch.inf).amax(dim, keepdim=True)
        total = self.sum(self.exp(x), [dim], keepdim=True)
        # The float64 sum of unshifted exponentials may overflow; the true one is known.
        total = replace(total, reference=torch.logsumexp(x.reference - shift, dim, keepdim=True).exp())
        result = self.sub(x, self.log(total))
        return replace(result, reference=torch.log_softmax(x.reference, dim))

    def select(self, condition: Tensor, a: TracedValue, b: TracedValue) -> TracedValue:
        """a where condition, else b; all broadcast."""
        shape = torch.broadcast_shapes(condition.shape, a.shape, b.shape)
        a, b = self.expand(a, shape), self.expand(b, shape)

        def choose(pair: Sequence[Tensor]) -> Tensor:
            return torch.where(condition, pair[0], pair[1])

        node = self._node(shape, (a, Kept(condition)), (b, Kept(~condition)))
        return self._moved(choose, [a, b], node)

    def _companions(
        self, elements: Sequence[TracedValue], move: Callable[[Sequence[Tensor]], Tensor]
    ) -> tuple[Residues | None, Residues | None]:
        """Power (if any has one) and logarithm (if all have) of entries that are gathered together."""
        power = logarithm = None
        if any(j.power is not None for j in elements):
            power = gathered(move, [self.power(j) for j in elements])
        logarithms = [j.logarithm for j in elements if j.logarithm is not None]
        if len(logarithms) == len(elements):
            logarithm = gathered(move, logarithms)
        return power, logarithm

    # ----- shapes

    def gather(self, fn: Callable[[Tensor], Tensor], a: TracedValue) -> TracedValue:
        """Apply an operation that only moves, copies, drops or zeroes entries to every part of a value.

        For derivatives the operation is traced on entry numbers.
        """
        reference, node = fn(a.reference), None
        if a.node is not None:
            index = _origins(lambda parts: fn(parts[0]), [a.reference])
            node = Node(reference.shape, ((a.node, Gather(index, a.shape)),))
        undefined = None if a.undefined is None else fn(a.undefined)
        power, logarithm = (None if x is None else x.map(fn) for x in (a.power, a.logarithm))
        return replace(
            a,
            value=a.value.map(fn),
            reference=reference,
            node=node,
            undefined=undefined,
            power=power,
            logarithm=logarithm,
        )

    def concatenate(self, fn: Callable[[Sequence[Tensor]], Tensor], elements: Sequence[TracedValue]) -> TracedValue:
        """Apply an operation that only moves entries of several values into one result (cat, stack, index_put, …)."""
        node = None
        if any(j.node is not None for j in elements):
            index = _origins(fn, [j.reference for j in elements])
            by = gathers(index, [j.shape for j in elements])
            parents = tuple((j.node, move) for j, move in zip(elements, by, strict=True) if j.node is not None)
            node = Node(index.shape, parents)
        return self._moved(fn, elements, node)

    def _moved(
        self, fn: Callable[[Sequence[Tensor]], Tensor], elements: Sequence[TracedValue], node: Node | None
    ) -> TracedValue:
        """A concatenation but for its node."""
        undefined = None
        if any(j.undefined is not None for j in elements):
            clean = [torch.zeros(j.shape, dtype=torch.bool, device=j.reference.device) for j in elements]
            undefined = fn(
                [
                    c if j.undefined is None else j.undefined.expand(j.shape)
                    for j, c in zip(elements, clean, strict=True)
                ]
            )
        value, reference = gathered(fn, [j.value for j in elements]), fn([j.reference for j in elements])
        power, logarithm = self._companions(elements, fn)
        degree, derivative_degree = max(j.degree for j in elements), max(j.derivative_degree for j in elements)
        return TracedValue(value, reference, node, undefined, degree, derivative_degree, power, logarithm)
