"""A value and how it depends on others: what a carrier tensor holds, and the calculus on it.

A jet has a *value* (residues), a float64 *shadow* (the same computation in ordinary arithmetic, which decides every
branch), a *node* (its place in the chain rule, see :mod:`symgauge.arithmetic.tape`; None if constant or not wanted)
and a *taint* (entries that rest on a square root that does not exist in the field, to be thrown away; None if none).
``degree`` and ``slope`` bound the degrees of value and derivative, fresh elements, roots and reciprocals counting as 1;
degree 0 says that no parameter is involved.

Logarithms and exponentials remember each other. A logarithm is a fresh element of the field, so it carries its
*power*, the value whose logarithm it is: sums multiply powers, and exp gives the power back. An exponential carries
its *logarithm*, its argument. So softmax may be written as exp(log_softmax(x)), as exp(x − logsumexp(x)), or in blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues, gathered
from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.linear_maps import ByLeft, ByRight, Kept, LinearMap, Move, Softmax, Times, Total, moves
from symgauge.arithmetic.tape import Node

_LARGEST_POWER = 64
"""Multiples of a logarithm up to this keep their power."""
_EXP_UNDERFLOW = 746.0
"""exp(−x) is exactly 0 in float64 for x at least this."""


@dataclass(frozen=True)
class Jet(Element):
    """An element over a field, with what its derivatives take."""

    value: Residues
    slope: int = 0
    power: Residues | None = None
    """exp of the value, where it is known otherwise than from the value's residues."""
    logarithm: Residues | None = None
    """The argument of the exponential that this is."""


def _merge_taint(*jets: Jet) -> Tensor | None:
    taints = [j.taint for j in jets if j.taint is not None]
    if not taints:
        return None
    result = taints[0]
    for taint in taints[1:]:
        result = result | taint
    shape = torch.broadcast_shapes(*(j.shape for j in jets))
    return result.expand(shape)


def _traced(fn: Callable[[Sequence[Tensor]], Tensor], like: Sequence[Tensor]) -> Tensor:
    """Where a move takes its entries from, numbered through all arrays; −1 for a zero that it puts in."""
    numbers, start = [], 1
    for x in like:
        numbers.append(torch.arange(start, start + x.numel(), device=x.device).reshape(x.shape))
        start += x.numel()
    return fn(numbers) - 1


class Calculus(Arithmetic[Jet]):
    """Operations on jets over one field."""

    def __init__(self, field: FiniteField) -> None:
        super().__init__()
        self.field = field

    # ----- construction

    def lift(self, x: Tensor, exact: bool = False) -> Jet:
        """A constant jet from an ordinary tensor. Non-finite entries keep their shadow (masks) and the residue 0.

        A constant of the code that is the nearest float to a simple fraction means that fraction; ``exact`` (for
        parameters and inputs, which are drawn or trained) takes the float for the dyadic rational it is.
        """
        return Jet(self.field.lift(x, exact), x.double() if x.is_floating_point() else x.to(torch.float64))

    def variable(self, x: Tensor | Jet, derivatives: bool = True) -> Jet:
        """An independent variable, of which derivatives are wanted or not."""
        jet = replace(x if isinstance(x, Jet) else self.lift(x, exact=True), degree=1)
        return replace(jet, node=Node(jet.shape)) if derivatives else jet

    # ----- the chain rule

    def _node(self, shape: torch.Size, *parents: tuple[Jet, LinearMap | None]) -> Node | None:
        """The node of a value of this shape; parents of smaller shapes are broadcast to it before their map."""
        known = tuple((node, by) for jet, by in parents if (node := self._broadcast(jet, shape)) is not None)
        return Node(shape, known) if known else None

    def _broadcast(self, a: Jet, shape: torch.Size) -> Node | None:
        if a.node is None or a.shape == shape:
            return a.node
        index = _traced(lambda parts: parts[0].expand(shape), [a.shadow])
        return Node(shape, ((a.node, Move(index, a.shape)),))

    # ----- ring operations

    def power(self, a: Jet) -> Residues:
        """exp of the value: what a logarithm remembers, else its homomorphism; 0 where float64 has "
        "exactly 0 (masks)."""
        result = self.field.exp(a.value) if a.power is None else a.power
        vanishing = torch.exp(a.shadow) == 0
        return result.map(lambda t: t.masked_fill(vanishing, 0)) if bool(vanishing.any()) else result

    def add(self, a: Jet, b: Jet, alpha: float = 1) -> Jet:
        if alpha == -1:
            return self.sub(a, b)
        if alpha != 1:
            b = self.scale(b, alpha)
        power = None
        if a.power is not None or b.power is not None:
            power = self.field.mul(self.power(a), self.power(b))
        shadow = a.shadow + b.shadow
        node = self._node(shadow.shape, (a, None), (b, None))
        degree, slope = max(a.degree, b.degree), max(a.slope, b.slope)
        return Jet(self.field.add(a.value, b.value), shadow, node, _merge_taint(a, b), degree, slope, power)

    def neg(self, a: Jet) -> Jet:
        node = self._node(a.shape, (a, Times(self.field.constant(-1, a.shadow))))
        power = None if a.power is None else self.field.inverse(a.power)
        return replace(a, value=self.field.neg(a.value), shadow=-a.shadow, node=node, power=power, logarithm=None)

    def scale(self, a: Jet, factor: float) -> Jet:
        """Multiply by a constant of the code."""
        if factor == 1:
            return a
        node = self._node(a.shape, (a, Times(self.field.constant(factor, a.shadow))))
        value = self.field.scale(a.value, factor)
        degree, power = (a.degree, None) if factor else (0, None)
        if a.power is not None and factor == int(factor) and 0 < abs(factor) <= _LARGEST_POWER:
            power = a.power
            for _ in range(int(abs(factor)) - 1):
                power = self.field.mul(power, a.power)
            power = power if factor > 0 else self.field.inverse(power)
        return replace(a, value=value, shadow=a.shadow * factor, node=node, degree=degree, power=power, logarithm=None)

    def divide_by_count(self, a: Jet, n: int) -> Jet:
        """Divide by an integer, exactly in the field (1/n is no float)."""
        one = self.field.constant(1, a.shadow)
        node = self._node(a.shape, (a, Times(self.field.divide(one, n))))
        value = self.field.divide(a.value, n)
        return replace(a, value=value, shadow=a.shadow / n, node=node, power=None, logarithm=None)

    def _product_taint(self, a: Jet, b: Jet, product: Callable[[Tensor, Tensor], Tensor]) -> Tensor | None:
        """Entries that a tainted factor reaches; an exact zero stops it (0 · x = 0, as masked attention needs)."""
        if a.taint is None and b.taint is None:
            return None
        bad = [j.taint if j.taint is not None else torch.zeros_like(j.shadow, dtype=torch.bool) for j in (a, b)]
        live = [~self.field.is_zero(j.value) | t for j, t in zip((a, b), bad, strict=True)]
        bad_f, live_f = ([t.to(torch.float32) for t in pair] for pair in (bad, live))
        return (product(bad_f[0], live_f[1]) + product(live_f[0], bad_f[1])) > 0

    def _product(self, a: Jet, b: Jet, value: Residues, product: Callable[[Tensor, Tensor], Tensor]) -> Jet:
        """A bilinear operation but for its node: ``product`` is the operation on floats."""
        taint = self._product_taint(a, b, product)
        slope = max([a.slope + b.degree] * a.depends + [a.degree + b.slope] * b.depends + [0])
        return Jet(value, product(a.shadow, b.shadow), None, taint, a.degree + b.degree, slope)

    def mul(self, a: Jet, b: Jet) -> Jet:
        result = self._product(a, b, self.field.mul(a.value, b.value), torch.mul)
        node = self._node(result.shape, (a, Times(b.value)), (b, Times(a.value)))
        if a.logarithm is None or b.logarithm is None:
            return replace(result, node=node)
        return replace(result, node=node, logarithm=self.field.add(a.logarithm, b.logarithm))

    def matmul(self, a: Jet, b: Jet) -> Jet:
        """Matrix product over the last two axes; both jets at least two-dimensional."""
        result = self._product(a, b, self.field.matmul(a.value, b.value), torch.matmul)
        lead, parents = result.shape[:-2], []
        for jet, by in ((a, ByRight(b.value)), (b, ByLeft(a.value))):
            if (node := self._broadcast(jet, lead + jet.shape[-2:])) is not None:
                parents.append((node, by))
        return replace(result, node=Node(result.shape, tuple(parents)) if parents else None)

    def sum(self, a: Jet, dims: Sequence[int], keepdim: bool = False) -> Jet:
        dims = [d % a.shadow.dim() for d in dims]
        taint = None if a.taint is None else a.taint.float().sum(tuple(dims), keepdim=keepdim) > 0
        shadow = a.shadow.sum(tuple(dims), keepdim=keepdim)
        value = self.field.sum(a.value, dims, keepdim)
        power = None if a.power is None else self._product_over(self.power(a), dims, keepdim)
        node = None if a.node is None else Node(shadow.shape, ((a.node, Total(a.shape, tuple(dims), keepdim)),))
        return replace(a, value=value, shadow=shadow, node=node, taint=taint, power=power, logarithm=None)

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

    def cumsum(self, a: Jet, dim: int) -> Jet:
        """Running sums over an axis; powers are multiplied along."""
        if not a.shadow.dim():
            return a
        dim %= a.shadow.dim()
        n = a.shape[dim]
        ones = self.lift(torch.ones(n, n, dtype=torch.float64, device=a.shadow.device).triu())
        last = self.move(lambda t: t.movedim(dim, -1).reshape(-1, n), a)
        shape = a.shadow.movedim(dim, -1).shape
        result = self.move(lambda t: t.reshape(shape).movedim(-1, dim), self.matmul(last, ones))
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
        a: Jet,
        value: Residues,
        shadow: Tensor,
        derivative: Residues,
        *,
        taint: Tensor | None = None,
        degree: int = 1,
        slope: int = 1,
    ) -> Jet:
        """f(a) entry by entry from f's value and derivative at a; ``slope`` is the derivative's degree."""
        if taint is not None:
            taint = taint if a.taint is None else taint | a.taint
            taint = taint if bool(taint.any()) else None
        else:
            taint = a.taint
        node = self._node(a.shape, (a, Times(derivative)))
        return Jet(value, shadow, node, taint, degree if a.depends else 0, a.slope + slope)

    def reciprocal(self, a: Jet) -> Jet:
        """1/a; division by zero taints the entry."""
        value = self.field.inverse(a.value)
        minus_square = self.field.neg(self.field.mul(value, value))
        result = self.apply(a, value, 1 / a.shadow, minus_square, taint=self.field.is_zero(a.value), slope=2)
        return result if a.logarithm is None else replace(result, logarithm=self.field.neg(a.logarithm))

    def _root(self, a: Jet) -> tuple[Residues, Tensor]:
        self.watcher.root(a)
        root, failed = self.field.root(a.value)
        return root, failed | self.field.is_zero(a.value)

    def rsqrt(self, a: Jet) -> Jet:
        """a^(−1/2); a radicand without a root in the field, or zero, taints the entry."""
        root, failed = self._root(a)
        value = self.field.inverse(root)
        cube = self.field.mul(value, self.field.mul(value, value))
        return self.apply(a, value, a.shadow.rsqrt(), self.field.scale(cube, -0.5), taint=failed, slope=3)

    def sqrt(self, a: Jet) -> Jet:
        """a^(1/2), as :meth:`rsqrt`."""
        root, failed = self._root(a)
        half_inverse = self.field.scale(self.field.inverse(root), 0.5)
        return self.apply(a, root, a.shadow.sqrt(), half_inverse, taint=failed)

    def exp(self, a: Jet) -> Jet:
        self.watcher.hashed("exp")
        value = self.power(a)
        return replace(self.apply(a, value, a.shadow.exp(), value), logarithm=a.value)

    def log(self, a: Jet) -> Jet:
        """The argument of an exponential, else a fresh element that remembers ``a``; a zero taints the entry."""
        self.watcher.hashed("log")
        value = self.field.log(a.value) if a.logarithm is None else a.logarithm
        masked = a.shadow == 0
        taint = self.field.is_zero(a.value) & ~masked
        result = self.apply(a, value, a.shadow.log(), self.field.inverse(a.value), taint=taint)
        return replace(result, power=a.value)

    def erf(self, a: Jet) -> Jet:
        """erf is a fresh odd element; its derivative (2/√π) exp(−a²) uses the same exponential as all others."""
        self.watcher.hashed("erf")
        field = self.field
        bell = field.exp(field.neg(field.mul(a.value, a.value)))
        derivative = field.scale(bell, 2 / math.sqrt(math.pi))
        return self.apply(a, field.odd(a.value, "erf"), torch.erf(a.shadow), derivative)

    def atan(self, a: Jet) -> Jet:
        """The arc tangent is a fresh odd element; its derivative 1/(1 + a²) is rational."""
        field = self.field
        bottom = field.add(field.lift(torch.ones_like(a.shadow)), field.mul(a.value, a.value))
        value, taint = field.odd(a.value, "arc tangent"), field.is_zero(bottom)
        return self.apply(a, value, torch.atan(a.shadow), field.inverse(bottom), taint=taint, slope=2)

    def sigmoid(self, a: Jet) -> Jet:
        """E/(1 + E) with E = exp(a), so that every relation to exp, tanh and silu is kept; derivative s(1 − s)."""
        self.watcher.hashed("exp")
        field, e = self.field, self.power(a)
        one = field.ones_like(e)
        denominator = field.add(one, e)
        s = field.mul(e, field.inverse(denominator))
        # Beyond exp's range float64 has exactly 0 or 1: gates that are masked, not slopes.
        s = self._saturated(s, a.shadow > _EXP_UNDERFLOW, 1)
        taint = field.is_zero(denominator)
        derivative = field.mul(s, field.sub(one, s))
        return self.apply(a, s, torch.sigmoid(a.shadow), derivative, taint=taint, slope=2)

    def tanh(self, a: Jet) -> Jet:
        """(E² − 1)/(E² + 1) with E = exp(a); derivative 1 − tanh²."""
        self.watcher.hashed("exp")
        field, e = self.field, self.power(a)
        square, one = field.mul(e, e), field.ones_like(e)
        denominator = field.add(square, one)
        t = field.mul(field.sub(square, one), field.inverse(denominator))
        t = self._saturated(t, a.shadow > _EXP_UNDERFLOW / 2, 1)
        t = self._saturated(t, a.shadow < -_EXP_UNDERFLOW / 2, -1)
        slope = field.sub(one, field.mul(t, t))
        return self.apply(a, t, torch.tanh(a.shadow), slope, taint=field.is_zero(denominator), slope=2)

    def _saturated(self, x: Residues, where: Tensor, value: int) -> Residues:
        if not bool(where.any()):
            return x
        constant = self.field.constant(value, x.re).map(lambda t: t.expand(x.shape))
        return gathered(lambda pair: torch.where(where, pair[0], pair[1]), [constant, x])

    def cos_sin(self, a: Jet) -> tuple[Jet, Jet]:
        """Cosine and sine from a fresh odd half-angle tangent, so that cos² + sin² = 1 holds exactly."""
        field = self.field
        self.watcher.hashed("sin")
        t = field.odd(a.value, "tangent of half")
        one = field.ones_like(t)
        square = field.mul(t, t)
        scale = field.inverse(field.add(one, square))
        cos, sin = field.mul(field.sub(one, square), scale), field.mul(field.add(t, t), scale)
        return (
            self.apply(a, cos, torch.cos(a.shadow), field.neg(sin), degree=2, slope=2),
            self.apply(a, sin, torch.sin(a.shadow), cos, degree=2, slope=2),
        )

    def softmax(self, x: Jet, dim: int, safe: bool = False) -> Jet:
        """p_j = E_j / Σ E with E_j = exp(x_j) and dp_j = p_j (dx_j − Σ p dx).

        An entry is masked, exactly 0, where float64 gives it the weight 0: −∞, −1e9 or any score far below the rest.
        ``safe``: a row of −∞ alone gives zeros and not NaN.
        """
        self.watcher.hashed("exp")
        field = self.field
        shadow = torch.softmax(x.shadow, dim)
        if safe:
            shadow = torch.where((x.shadow == -torch.inf).all(dim, keepdim=True), 0.0, shadow)
        masked = shadow == 0
        base = field.exp(x.value) if x.power is None else x.power
        weights = base.map(lambda t: t.masked_fill(masked, 0))
        total = field.sum(weights, [dim], keepdim=True)
        value = field.mul(weights, field.inverse(total))
        failed = field.is_zero(total)  # by bad luck, or because a whole row is masked
        row_taint = failed if bool(failed.any()) else None
        if x.taint is not None:
            inherited = (x.taint & ~masked).any(dim, keepdim=True)
            row_taint = inherited if row_taint is None else inherited | row_taint
        taint = None if row_taint is None else row_taint & ~masked
        node = self._node(x.shape, (x, Softmax(value, dim % x.shadow.dim())))
        return Jet(value, shadow, node, taint, int(x.depends), x.slope + 3)

    def log_softmax(self, x: Jet, dim: int) -> Jet:
        """x − log Σ exp(x), so that its exponential is the softmax."""
        shift = torch.where(torch.isfinite(x.shadow), x.shadow, -torch.inf).amax(dim, keepdim=True)
        total = self.sum(self.exp(x), [dim], keepdim=True)
        # The float64 sum of unshifted exponentials may overflow; the true one is known.
        total = replace(total, shadow=torch.logsumexp(x.shadow - shift, dim, keepdim=True).exp())
        result = self.sub(x, self.log(total))
        return replace(result, shadow=torch.log_softmax(x.shadow, dim))

    def select(self, condition: Tensor, a: Jet, b: Jet) -> Jet:
        """a where condition, else b; all broadcast."""
        shape = torch.broadcast_shapes(condition.shape, a.shape, b.shape)
        a, b = self.expand(a, shape), self.expand(b, shape)

        def choose(pair: Sequence[Tensor]) -> Tensor:
            return torch.where(condition, pair[0], pair[1])

        node = self._node(shape, (a, Kept(condition)), (b, Kept(~condition)))
        return self._moved(choose, [a, b], node)

    def _companions(
        self, jets: Sequence[Jet], move: Callable[[Sequence[Tensor]], Tensor]
    ) -> tuple[Residues | None, Residues | None]:
        """Power (if any jet has one) and logarithm (if all have) of entries that are moved together."""
        power = logarithm = None
        if any(j.power is not None for j in jets):
            power = gathered(move, [self.power(j) for j in jets])
        logarithms = [j.logarithm for j in jets if j.logarithm is not None]
        if len(logarithms) == len(jets):
            logarithm = gathered(move, logarithms)
        return power, logarithm

    # ----- shapes

    def move(self, fn: Callable[[Tensor], Tensor], a: Jet) -> Jet:
        """Apply an operation that only moves, copies, drops or zeroes entries to every part of a jet.

        For derivatives the operation is traced on entry numbers.
        """
        shadow, node = fn(a.shadow), None
        if a.node is not None:
            index = _traced(lambda parts: fn(parts[0]), [a.shadow])
            node = Node(shadow.shape, ((a.node, Move(index, a.shape)),))
        taint = None if a.taint is None else fn(a.taint)
        power, logarithm = (None if x is None else x.map(fn) for x in (a.power, a.logarithm))
        return replace(
            a, value=a.value.map(fn), shadow=shadow, node=node, taint=taint, power=power, logarithm=logarithm
        )

    def join(self, fn: Callable[[Sequence[Tensor]], Tensor], elements: Sequence[Jet]) -> Jet:
        """Apply an operation that only moves entries of several jets into one result (cat, stack, index_put, …)."""
        node = None
        if any(j.node is not None for j in elements):
            index = _traced(fn, [j.shadow for j in elements])
            by = moves(index, [j.shape for j in elements])
            parents = tuple((j.node, move) for j, move in zip(elements, by, strict=True) if j.node is not None)
            node = Node(index.shape, parents)
        return self._moved(fn, elements, node)

    def _moved(self, fn: Callable[[Sequence[Tensor]], Tensor], jets: Sequence[Jet], node: Node | None) -> Jet:
        """A join but for its node."""
        taint = None
        if any(j.taint is not None for j in jets):
            clean = [torch.zeros(j.shape, dtype=torch.bool, device=j.shadow.device) for j in jets]
            taint = fn([c if j.taint is None else j.taint.expand(j.shape) for j, c in zip(jets, clean, strict=True)])
        value, shadow = gathered(fn, [j.value for j in jets]), fn([j.shadow for j in jets])
        power, logarithm = self._companions(jets, fn)
        degree, slope = max(j.degree for j in jets), max(j.slope for j in jets)
        return Jet(value, shadow, node, taint, degree, slope, power, logarithm)
