"""Arithmetic with as many decimal digits as asked for, behind the same calculus that exact arithmetic has.

The rule table then runs any torch module with, say, 100 digits: a true symmetry's error falls with the working
precision, an approximate one's does not. Numbers are mpmath floats in NumPy object arrays; there are no derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import torch
from torch import Tensor

import symgauge.arithmetic.rules  # noqa: F401  (registers the rule table)
from symgauge.arithmetic.carrier import Carrier, wrap
from symgauge.arithmetic.jet import Calculus, Jet
from symgauge.errors import InvalidInput, UnsupportedOperation

_MIN_DIGITS = 17
"""Fewer could not hold a float64, so constants would be rounded when they are lifted."""
_Move = Callable[[Sequence[Tensor]], Tensor]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A NumPy object array of mpmath floats, where a jet over a finite field has residues."""

    entries: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.entries.shape


def _entries(jet: Jet) -> np.ndarray:
    value: Any = jet.value
    entries: np.ndarray = value.entries
    return entries


class Multiprecision(Calculus):
    """The calculus on jets whose values have ``digits`` decimal digits; the shadow is their nearest float64."""

    def __init__(self, digits: int) -> None:
        if not isinstance(digits, int) or digits < _MIN_DIGITS:
            raise InvalidInput(f"digits must be an integer ≥ {_MIN_DIGITS} (a float64 needs that many), not {digits!r}")
        self.digits = digits
        self.context = mpmath.MPContext()  # its own, so that no global precision changes
        self.context.dps = digits
        self.batch, self.widest = 1, 0
        self.record = None
        self.uses, self._numbers = set(), {}

    @property
    def epsilon(self) -> Any:
        """The distance from 1 to the next number, as an mpmath float."""
        return self.context.eps

    # ----- construction

    def jet(self, entries: Any) -> Jet:
        """A jet from an array of mpmath floats."""
        array = np.asarray(entries, dtype=object)
        shadow = torch.tensor([float(x) for x in array.flat], dtype=torch.float64).reshape(array.shape)
        return Jet(Numbers(array), shadow)  # type: ignore[arg-type]

    def lift(self, x: Tensor, exact: bool = True) -> Jet:
        """An ordinary tensor, entry by entry without rounding; infinities stay infinite."""
        number = np.frompyfunc(self.context.mpf, 1, 1)
        plain = x.detach().cpu()
        plain = plain.double() if plain.is_floating_point() else plain.to(torch.int64)
        return self.jet(np.asarray(number(np.asarray(plain.numpy(), dtype=object)), dtype=object))

    def variable(self, x: Tensor | Jet, derivatives: bool = True) -> Jet:
        """Refused: many digits come without derivatives."""
        raise UnsupportedOperation("many-digit arithmetic has no derivatives; use the finite field for them")

    def map(self, function: Callable[[Any], Any], a: Jet) -> Jet:
        """A function of one mpmath float, entry by entry."""
        return self.jet(np.frompyfunc(function, 1, 1)(_entries(a)))

    # ----- ring operations

    def add(self, a: Jet, b: Jet, alpha: float = 1) -> Jet:
        right = _entries(b) if alpha == 1 else _entries(b) * self.context.mpf(alpha)
        return self.jet(_entries(a) + right)

    def sub(self, a: Jet, b: Jet) -> Jet:
        return self.jet(_entries(a) - _entries(b))

    def neg(self, a: Jet) -> Jet:
        return self.jet(-_entries(a))

    def scale(self, a: Jet, factor: float) -> Jet:
        return self.jet(_entries(a) * self.context.mpf(factor))

    def divide_by_count(self, a: Jet, n: int) -> Jet:
        return self.jet(_entries(a) / self.context.mpf(n))

    def mul(self, a: Jet, b: Jet) -> Jet:
        return self.jet(_entries(a) * _entries(b))

    def matmul(self, a: Jet, b: Jet) -> Jet:
        return self.jet(np.matmul(_entries(a), _entries(b)) + self.context.zero)

    def cumsum(self, a: Jet, dim: int) -> Jet:
        return self.jet(np.cumsum(_entries(a), axis=dim) if a.shadow.dim() else _entries(a))

    def sum(self, a: Jet, dims: Sequence[int], keepdim: bool = False) -> Jet:
        axes = tuple(d % a.shadow.dim() for d in dims)
        return self.jet(np.sum(_entries(a), axis=axes, keepdims=keepdim) + self.context.zero)

    # ----- division, roots and transcendental functions: float conventions at their poles

    def reciprocal(self, a: Jet) -> Jet:
        return self.map(lambda x: 1 / x if x else self.context.inf, a)

    def sqrt(self, a: Jet) -> Jet:
        return self.map(lambda x: self.context.nan if x < 0 else self.context.sqrt(x), a)

    def rsqrt(self, a: Jet) -> Jet:
        return self.reciprocal(self.sqrt(a))

    def exp(self, a: Jet) -> Jet:
        return self.map(self.context.exp, a)

    def log(self, a: Jet) -> Jet:
        return self.map(lambda x: self.context.nan if x < 0 else self.context.log(x), a)

    def erf(self, a: Jet) -> Jet:
        return self.map(self.context.erf, a)

    def atan(self, a: Jet) -> Jet:
        return self.map(self.context.atan, a)

    def sigmoid(self, a: Jet) -> Jet:
        return self.map(lambda x: 1 / (1 + self.context.exp(-x)), a)

    def tanh(self, a: Jet) -> Jet:
        return self.map(self.context.tanh, a)

    def cos_sin(self, a: Jet) -> tuple[Jet, Jet]:
        return self.map(self.context.cos, a), self.map(self.context.sin, a)

    def softmax(self, x: Jet, dim: int, safe: bool = False) -> Jet:
        # Exponents have no bound here, so scores need not be shifted first.
        zero = self.lift(torch.zeros((), dtype=torch.float64))
        masked = torch.softmax(x.shadow, dim) == 0
        weights = self.select(masked, zero, self.exp(self.select(masked, zero, x)))
        total = self.sum(weights, [dim], keepdim=True)
        return self.mul(weights, self.map(lambda t: 1 / t if t else self.context.nan, total))

    def log_softmax(self, x: Jet, dim: int) -> Jet:
        return self.log(self.softmax(x, dim))

    # ----- choices and shapes

    def select(self, condition: Tensor, a: Jet, b: Jet) -> Jet:
        return self.jet(np.where(condition.numpy(), _entries(a), _entries(b)))

    def move(self, fn: Callable[[Tensor], Tensor], a: Jet) -> Jet:
        return self.join(lambda parts: fn(parts[0]), [a])

    def join(self, fn: _Move, jets: Sequence[Jet]) -> Jet:
        """The move is traced on entry numbers, from 1; 0 stands for a zero that it puts in."""
        numbers, start = [], 1
        for j in jets:
            numbers.append(torch.arange(start, start + j.shadow.numel()).reshape(j.shape))
            start += j.shadow.numel()
        bank = np.concatenate([np.array([self.context.zero], dtype=object), *(_entries(j).reshape(-1) for j in jets)])
        return self.jet(bank[fn(numbers).numpy()])

    # ----- in and out

    def wrap(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Tensors by name as carriers; those that are carriers already, or hold integers, stay as they are."""
        return {name: self.carry(x) for name, x in tensors.items()}

    def carry(self, x: Tensor) -> Tensor:
        """A floating tensor as a carrier with many digits."""
        return x if isinstance(x, Carrier) or not x.is_floating_point() else wrap(self.lift(x), self)

    def numbers(self, x: Tensor) -> np.ndarray:
        """The mpmath floats of a carrier made by this calculus, in its shape."""
        if not isinstance(x, Carrier) or x.calculus is not self:
            raise InvalidInput(f"expected a tensor computed with {self.digits} digits, not {type(x).__name__}")
        return _entries(x.jet)

    def nearest(self, x: Tensor) -> Tensor:
        """The nearest float64 tensor to a carrier made by this calculus."""
        return self.jet(self.numbers(x)).shadow

    def norm(self, x: Tensor) -> Any:
        """Frobenius norm of a carrier, as an mpmath float."""
        return self.context.sqrt(self.context.fsum(self.numbers(x).reshape(-1), squared=True))
