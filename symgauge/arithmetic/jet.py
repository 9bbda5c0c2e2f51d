"""A value with its first derivatives: what a carrier tensor holds, and the calculus on it.

A jet has a *value* (residues), a float64 *shadow* (the same computation in ordinary arithmetic, which decides every
branch), a *tangent* (derivatives by the parameters ``span[0]:span[1]``, leading axis; None if constant or not wanted)
and a *taint* (entries that rest on a square root that does not exist in the field, to be thrown away; None if none).
``degree`` and ``slope`` bound the degrees of value and tangent, fresh elements, roots and reciprocals counting as 1;
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
from symgauge.arithmetic.record import Record
from symgauge.errors import UnsupportedOperation

Span = tuple[int, int]
_LARGEST_POWER = 64
"""Multiples of a logarithm up to this keep their power."""
_EXP_UNDERFLOW = 746.0
"""exp(−x) is exactly 0 in float64 for x at least this."""


@dataclass(frozen=True)
class Jet:
    value: Residues
    shadow: Tensor
    tangent: Residues | None = None
    span: Span = (0, 0)
    taint: Tensor | None = None
    degree: int = 0
    slope: int = 0
    power: Residues | None = None
    """exp of the value, where it is known otherwise than from the value's residues."""
    logarithm: Residues | None = None
    """The argument of the exponential that this is."""

    @property
    def depends(self) -> bool:
        """Whether any parameter is involved."""
        return self.degree > 0

    @property
    def shape(self) -> torch.Size:
        return self.shadow.shape


def _merge_taint(*jets: Jet) -> Tensor | None:
    taints = [j.taint for j in jets if j.taint is not None]
    if not taints:
        return None
    result = taints[0]
    for taint in taints[1:]:
        result = result | taint
    shape = torch.broadcast_shapes(*(j.shape for j in jets))
    return result.expand(shape)


def _stretch(x: Tensor, dims: int) -> Tensor:
    """Insert axes after the leading (tangent) axis so that the rest has ``dims`` axes, as broadcasting would."""
    return x if x.dim() - 1 >= dims else x.reshape(x.shape[0], *[1] * (dims + 1 - x.dim()), *x.shape[1:])


def _gather_after(
    fn: Callable[[Sequence[Tensor]], Tensor], like: Sequence[Tensor], device: torch.device
) -> Callable[[Tensor], Tensor]:
    """Trace ``fn`` on entry numbers (from 1; 0 is a zero it puts in) and return the same move behind an axis."""
    numbers, start = [], 1
    for x in like:
        numbers.append(torch.arange(start, start + x.numel(), device=device).reshape(x.shape))
        start += x.numel()
    source = fn(numbers)
    flat = source.flatten()
    has_zero = bool((flat == 0).any())

    def gather(x: Tensor) -> Tensor:
        result = x.reshape(x.shape[0], -1)[:, (flat - 1).clamp_min(0)]
        if has_zero:
            result = result * (flat != 0)
        return result.reshape(x.shape[0], *source.shape)

    return gather


class FirstRoot(Exception):
    """Raised at the first square root when ``stop_at_first_root`` asks for it; says which entries have one in GF(p)."""

    def __init__(self, in_base_field: Tensor) -> None:
        super().__init__("stopped at the first square root")
        self.in_base_field = in_base_field


class Calculus:
    """Operations on jets over one field. Every method returns a new jet; none changes its arguments."""

    def __init__(self, field: FiniteField) -> None:
        self.field = field
        self.widest = 0
        """Largest number of entries per batch item that a carrier had so far, for memory planning."""
        self.stop_at_first_root = False
        self.record: Record | None = None
        """Where thresholds are noted, if anybody wants to know."""
        self.uses: set[str] = set()
        """Functions so far whose values are hashes: what a bound on the rank is conditional on."""

    # ----- thresholds

    def threshold(self, operation: str, distance: Jet) -> None:
        """Note on which side of 0 each entry is, for a continuous function with a kink there."""
        if self.record is not None and distance.depends:
            self.record.side(operation, distance.shadow, distance.taint)

    def chosen(self, operation: str, jet: Jet, mask: Tensor) -> None:
        """Note which entries were chosen (top-k experts), as sides of a threshold."""
        if self.record is not None and jet.depends:
            self.record.side(operation, mask.double() - 0.5, jet.taint)

    def jump(self, operation: str, distance: Jet, ordered: bool = False) -> None:
        """Note a threshold at 0 that the function may jump at."""
        if self.record is not None and distance.depends:
            self.record.jump(operation, distance, ordered)

    # ----- construction

    def lift(self, x: Tensor, exact: bool = False) -> Jet:
        """A constant jet from an ordinary tensor. Non-finite entries keep their shadow (masks) and the residue 0.

        A constant of the code that is the nearest float to a simple fraction means that fraction; ``exact`` (for
        parameters and inputs, which are drawn or trained) takes the float for the dyadic rational it is.
        """
        return Jet(self.field.lift(x, exact), x.double() if x.is_floating_point() else x.to(torch.float64))

    def variable(self, x: Tensor | Jet, start: int, tangent: bool = True) -> Jet:
        """An independent variable: one tangent per entry, numbered from ``start``; "
        "``tangent=False``: its value only."""
        jet = replace(x if isinstance(x, Jet) else self.lift(x, exact=True), degree=1)
        if not tangent:
            return jet
        x, n = jet.shadow, jet.shadow.numel()
        identity = self.field.identity(n, x.device).map(lambda t: t.reshape(n, *x.shape))
        return replace(jet, tangent=identity, span=(start, start + n))

    # ----- tangents

    def widen(self, tangent: Residues, span: Span, hull: Span) -> Residues:
        """Embed a tangent over ``span`` into the wider range ``hull``."""
        if span == hull:
            return tangent
        before, after = span[0] - hull[0], hull[1] - span[1]

        def pad(x: Tensor) -> Tensor:
            result = x.new_zeros((hull[1] - hull[0], *x.shape[1:]))
            result[before : before + x.shape[0]] = x
            return result

        assert after >= 0
        return tangent.map(pad)

    def combine(self, terms: Sequence[tuple[Residues, Span]], shape: torch.Size) -> tuple[Residues | None, Span]:
        """Sum tangents over different spans; each is broadcast to ``shape`` behind its leading axis."""
        if not terms:
            return None, (0, 0)
        hull = (min(s[0] for _, s in terms), max(s[1] for _, s in terms))
        if len(terms) == 1:
            tangent, span = terms[0]
            return tangent.map(lambda x: _stretch(x, len(shape)).expand(-1, *shape)), span
        has_im = any(t.im is not None for t, _ in terms)
        device = terms[0][0].re.device
        sums = [self.field.zeros((hull[1] - hull[0], *shape), device) for _ in range(1 + has_im)]
        for tangent, (start, stop) in terms:
            for total, part in zip(sums, tangent.parts(), strict=False):
                total[start - hull[0] : stop - hull[0]] += _stretch(part, len(shape))
        if len(terms) > 1:
            sums = [self.field.reduce(total) for total in sums]
        return Residues(*sums), hull

    # ----- ring operations

    def _linear(
        self,
        terms: Sequence[tuple[Jet, Residues | None]],
        value: Residues,
        shadow: Tensor,
        power: Residues | None = None,
    ) -> Jet:
        """Assemble a jet whose tangent is the sum of the given (jet, tangent) pairs."""
        present = [(t, j.span) for j, t in terms if t is not None]
        tangent, span = self.combine(present, shadow.shape)
        jets = [j for j, _ in terms]
        return Jet(
            value,
            shadow,
            tangent,
            span,
            _merge_taint(*jets),
            max(j.degree for j in jets),
            max(j.slope for j in jets),
            power,
        )

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
        value = self.field.add(a.value, b.value)
        return self._linear([(a, a.tangent), (b, b.tangent)], value, a.shadow + b.shadow, power)

    def sub(self, a: Jet, b: Jet) -> Jet:
        return self.add(a, self.neg(b))

    def neg(self, a: Jet) -> Jet:
        tangent = None if a.tangent is None else self.field.neg(a.tangent)
        power = None if a.power is None else self.field.inverse(a.power)
        value = self.field.neg(a.value)
        return replace(a, value=value, shadow=-a.shadow, tangent=tangent, power=power, logarithm=None)

    def scale(self, a: Jet, factor: float) -> Jet:
        """Multiply by a constant of the code."""
        if factor == 1:
            return a
        tangent = None if a.tangent is None else self.field.scale(a.tangent, factor)
        value = self.field.scale(a.value, factor)
        degree, power = (a.degree, None) if factor else (0, None)
        if a.power is not None and factor == int(factor) and 0 < abs(factor) <= _LARGEST_POWER:
            power = a.power
            for _ in range(int(abs(factor)) - 1):
                power = self.field.mul(power, a.power)
            power = power if factor > 0 else self.field.inverse(power)
        return replace(
            a, value=value, shadow=a.shadow * factor, tangent=tangent, degree=degree, power=power, logarithm=None
        )

    def divide_by_count(self, a: Jet, n: int) -> Jet:
        """Divide by an integer, exactly in the field (1/n is no float)."""
        tangent = None if a.tangent is None else self.field.divide(a.tangent, n)
        value = self.field.divide(a.value, n)
        return replace(a, value=value, shadow=a.shadow / n, tangent=tangent, power=None, logarithm=None)

    def _product_taint(self, a: Jet, b: Jet, product: Callable[[Tensor, Tensor], Tensor]) -> Tensor | None:
        """Entries that a tainted factor reaches; an exact zero stops it (0 · x = 0, as masked attention needs)."""
        if a.taint is None and b.taint is None:
            return None
        bad = [j.taint if j.taint is not None else torch.zeros_like(j.shadow, dtype=torch.bool) for j in (a, b)]
        live = [~self.field.is_zero(j.value) | t for j, t in zip((a, b), bad, strict=True)]
        bad_f, live_f = ([t.to(torch.float32) for t in pair] for pair in (bad, live))
        return (product(bad_f[0], live_f[1]) + product(live_f[0], bad_f[1])) > 0

    def _bilinear(
        self,
        field_product: Callable[[Residues, Residues], Residues],
        float_product: Callable[[Tensor, Tensor], Tensor],
        a: Jet,
        b: Jet,
    ) -> Jet:
        """Product rule for any bilinear operation that broadcasts over leading axes."""
        value = field_product(a.value, b.value)
        shadow = float_product(a.shadow, b.shadow)
        terms: list[tuple[Residues, Span]] = []
        if a.tangent is not None:
            terms.append((field_product(a.tangent.map(lambda t: _stretch(t, b.shadow.dim())), b.value), a.span))
        if b.tangent is not None:
            terms.append((field_product(a.value, b.tangent.map(lambda t: _stretch(t, a.shadow.dim()))), b.span))
        tangent, span = self.combine(terms, shadow.shape)
        slope = max(
            [a.slope + b.degree] * (a.tangent is not None) + [a.degree + b.slope] * (b.tangent is not None) + [0]
        )
        taint = self._product_taint(a, b, float_product)
        return Jet(value, shadow, tangent, span, taint, a.degree + b.degree, slope)

    def mul(self, a: Jet, b: Jet) -> Jet:
        result = self._bilinear(self.field.mul, torch.mul, a, b)
        if a.logarithm is None or b.logarithm is None:
            return result
        return replace(result, logarithm=self.field.add(a.logarithm, b.logarithm))

    def matmul(self, a: Jet, b: Jet) -> Jet:
        """Matrix product over the last two axes; both jets at least two-dimensional.

        The tangent axis is folded into the rows (or columns) of few large products: a product per tangent and head
        would be thousands of tiny ones.
        """

        def product(x: Residues, y: Residues) -> Residues:
            if x.re.dim() > max(a.shadow.dim(), b.shadow.dim()):
                folded = x.map(lambda t: t.movedim(0, -3).flatten(-3, -2))
                tall = self.field.matmul(folded, y)
                return tall.map(lambda t: t.unflatten(-2, (x.shape[0], -1)).movedim(-3, 0))
            if y.re.dim() > max(a.shadow.dim(), b.shadow.dim()):
                folded = y.map(lambda t: t.movedim(0, -2).flatten(-2))
                wide = self.field.matmul(x, folded)
                return wide.map(lambda t: t.unflatten(-1, (y.shape[0], -1)).movedim(-2, 0))
            return self.field.matmul(x, y)

        return self._bilinear(product, torch.matmul, a, b)

    def sum(self, a: Jet, dims: Sequence[int], keepdim: bool = False) -> Jet:
        dims = [d % a.shadow.dim() for d in dims]
        tangent = None
        if a.tangent is not None:
            tangent = self.field.sum(a.tangent, [d + 1 for d in dims], keepdim)
        taint = None if a.taint is None else a.taint.float().sum(tuple(dims), keepdim=keepdim) > 0
        shadow = a.shadow.sum(tuple(dims), keepdim=keepdim)
        value = self.field.sum(a.value, dims, keepdim)
        power = None if a.power is None else self._product(self.power(a), dims, keepdim)
        return replace(a, value=value, shadow=shadow, tangent=tangent, taint=taint, power=power, logarithm=None)

    def _product(self, x: Residues, dims: Sequence[int], keepdim: bool) -> Residues:
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

    def mean(self, a: Jet, dims: Sequence[int], keepdim: bool = False) -> Jet:
        count = math.prod(a.shape[d] for d in dims)
        return self.divide_by_count(self.sum(a, dims, keepdim), count)

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
        tangent = None
        if a.tangent is not None:
            tangent = self.field.mul(a.tangent, derivative)
        if taint is not None:
            taint = taint if a.taint is None else taint | a.taint
            taint = taint if bool(taint.any()) else None
        else:
            taint = a.taint
        span = a.span if tangent is not None else (0, 0)
        return Jet(value, shadow, tangent, span, taint, degree if a.depends else 0, a.slope + slope)

    def reciprocal(self, a: Jet) -> Jet:
        """1/a; division by zero taints the entry."""
        value = self.field.inverse(a.value)
        minus_square = self.field.neg(self.field.mul(value, value))
        result = self.apply(a, value, 1 / a.shadow, minus_square, taint=self.field.is_zero(a.value), slope=2)
        return result if a.logarithm is None else replace(result, logarithm=self.field.neg(a.logarithm))

    def div(self, a: Jet, b: Jet) -> Jet:
        return self.mul(a, self.reciprocal(b))

    def _root(self, a: Jet) -> tuple[Residues, Tensor]:
        root, failed = self.field.root(a.value)
        if self.stop_at_first_root:
            raise FirstRoot(torch.ones_like(failed) if root.im is None else root.im == 0)
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
        self.uses.add("exp")
        value = self.power(a)
        return replace(self.apply(a, value, a.shadow.exp(), value), logarithm=a.value)

    def log(self, a: Jet) -> Jet:
        """The argument of an exponential, else a fresh element that remembers ``a``; a zero taints the entry."""
        self.uses.add("log")
        value = self.field.log(a.value) if a.logarithm is None else a.logarithm
        masked = a.shadow == 0
        taint = self.field.is_zero(a.value) & ~masked
        result = self.apply(a, value, a.shadow.log(), self.field.inverse(a.value), taint=taint)
        return replace(result, power=a.value)

    def erf(self, a: Jet) -> Jet:
        """erf is a fresh odd element; its derivative (2/√π) exp(−a²) uses the same exponential as all others."""
        self.uses.add("erf")
        field = self.field
        bell = field.exp(field.neg(field.mul(a.value, a.value)))
        derivative = field.scale(bell, 2 / math.sqrt(math.pi))
        return self.apply(a, field.odd(a.value, 2), torch.erf(a.shadow), derivative)

    def atan(self, a: Jet) -> Jet:
        """The arc tangent is a fresh odd element; its derivative 1/(1 + a²) is rational."""
        field = self.field
        bottom = field.add(field.lift(torch.ones_like(a.shadow)), field.mul(a.value, a.value))
        value, taint = field.odd(a.value, 11), field.is_zero(bottom)
        return self.apply(a, value, torch.atan(a.shadow), field.inverse(bottom), taint=taint, slope=2)

    def sigmoid(self, a: Jet) -> Jet:
        """E/(1 + E) with E = exp(a), so that every relation to exp, tanh and silu is kept; derivative s(1 − s)."""
        self.uses.add("exp")
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
        self.uses.add("exp")
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
        self.uses.add("sin")
        t = field.odd(a.value, 3)
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
        self.uses.add("exp")
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
        tangent = None
        if x.tangent is not None:
            weighted = field.mul(x.tangent, value)
            total_slope = field.sum(weighted, [dim + 1], keepdim=True)
            tangent = field.sub(weighted, field.mul(total_slope, value))
        span = x.span if tangent is not None else (0, 0)
        return Jet(value, shadow, tangent, span, taint, int(x.depends), x.slope + 3)

    def log_softmax(self, x: Jet, dim: int) -> Jet:
        """x − log Σ exp(x), so that its exponential is the softmax."""
        shift = torch.where(torch.isfinite(x.shadow), x.shadow, -torch.inf).amax(dim, keepdim=True)
        total = self.sum(self.exp(x), [dim], keepdim=True)
        # The float64 sum of unshifted exponentials may overflow; the true one is known.
        total = replace(total, shadow=torch.logsumexp(x.shadow - shift, dim, keepdim=True).exp())
        result = self.sub(x, self.log(total))
        return replace(result, shadow=torch.log_softmax(x.shadow, dim))

    def matrix_inverse(self, x: Jet) -> Jet:
        """Inverse of matrices whose values are the identity, where d(A⁻¹) = −dA: all that generators need."""
        identity = self.lift(torch.eye(x.shape[-1], dtype=torch.float64, device=x.shadow.device).expand(x.shape))
        if not (bool((x.value.re == identity.value.re).all()) and x.value.im is None):
            raise UnsupportedOperation("matrix inverse is exact at the identity only (for generators of a symmetry)")
        return self.sub(self.scale(identity, 2), x)

    def select(self, condition: Tensor, a: Jet, b: Jet) -> Jet:
        """a where condition, else b; all broadcast."""
        shape = torch.broadcast_shapes(condition.shape, a.shape, b.shape)
        a, b = self.expand(a, shape), self.expand(b, shape)
        hull = self.hull(a, b)

        def choose(pair: Sequence[Tensor]) -> Tensor:
            return torch.where(condition, pair[0], pair[1])

        value = gathered(choose, [a.value, b.value])
        tangent = None if hull == (0, 0) else gathered(choose, [self.aligned(j, hull) for j in (a, b)])
        taint = None
        if a.taint is not None or b.taint is not None:
            clean = torch.zeros(shape, dtype=torch.bool, device=condition.device)
            taint = torch.where(condition, clean if a.taint is None else a.taint, clean if b.taint is None else b.taint)
        shadow = torch.where(condition, a.shadow, b.shadow)
        power, logarithm = self._companions([a, b], choose)
        degree, slope = max(a.degree, b.degree), max(a.slope, b.slope)
        return Jet(value, shadow, tangent, hull, taint, degree, slope, power, logarithm)

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

    def expand(self, a: Jet, shape: torch.Size | tuple[int, ...]) -> Jet:
        if tuple(a.shape) == tuple(shape):
            return a
        return self.move(lambda x: x.expand(shape), a, lambda x: _stretch(x, len(shape)).expand(-1, *shape))

    def move(self, fn: Callable[[Tensor], Tensor], a: Jet, shifted: Callable[[Tensor], Tensor] | None = None) -> Jet:
        """Apply an operation that only moves, copies, drops or zeroes entries to every part of a jet.

        ``shifted`` is the same operation on an array with one more axis in front, for the tangent; without it the
        operation is traced on entry numbers and the tangent gathered accordingly (always right, but a copy).
        """
        tangent = None
        if a.tangent is not None:
            tangent = a.tangent.map(shifted or _gather_after(lambda parts: fn(parts[0]), [a.shadow], a.shadow.device))
        taint = None if a.taint is None else fn(a.taint)
        power, logarithm = (None if x is None else x.map(fn) for x in (a.power, a.logarithm))
        return replace(
            a,
            value=a.value.map(fn),
            shadow=fn(a.shadow),
            tangent=tangent,
            taint=taint,
            power=power,
            logarithm=logarithm,
        )

    def hull(self, *jets: Jet) -> Span:
        """The smallest range that holds every span; (0, 0) if all are constant."""
        spans = [j.span for j in jets if j.tangent is not None]
        return (min(s[0] for s in spans), max(s[1] for s in spans)) if spans else (0, 0)

    def aligned(self, a: Jet, hull: Span) -> Residues:
        """The tangent over ``hull``, zero for a constant, so that jets can be joined."""
        if a.tangent is None:
            return Residues(self.field.zeros((hull[1] - hull[0], *a.shape), a.shadow.device))
        return self.widen(a.tangent, a.span, hull)

    def join(self, fn: Callable[[Sequence[Tensor]], Tensor], jets: Sequence[Jet]) -> Jet:
        """Apply an operation that only moves entries of several jets into one result (cat, stack, index_put, …)."""
        hull = self.hull(*jets)
        value = gathered(fn, [j.value for j in jets])
        tangent = None
        if hull != (0, 0):
            gather = _gather_after(fn, [j.shadow for j in jets], jets[0].shadow.device)
            together = gathered(
                lambda same: torch.cat([x.reshape(x.shape[0], -1) for x in same], 1),
                [self.aligned(j, hull) for j in jets],
            )
            tangent = together.map(gather)
        taint = None
        if any(j.taint is not None for j in jets):
            clean = [torch.zeros(j.shape, dtype=torch.bool, device=j.shadow.device) for j in jets]
            taint = fn([c if j.taint is None else j.taint.expand(j.shape) for j, c in zip(jets, clean, strict=True)])
        shadow = fn([j.shadow for j in jets])
        power, logarithm = self._companions(jets, fn)
        degree, slope = max(j.degree for j in jets), max(j.slope for j in jets)
        return Jet(value, shadow, tangent, hull, taint, degree, slope, power, logarithm)
