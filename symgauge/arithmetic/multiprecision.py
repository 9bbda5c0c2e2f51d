"""Arithmetic with as many decimal digits as asked for, behind the interface that exact arithmetic has.

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
from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.wrapper_tensor import WrapperTensor, wrap
from symgauge.errors import InvalidInput

_MIN_DIGITS = 17
"""Fewer could not hold a float64, so constants would be rounded when they are lifted."""


@dataclass(frozen=True)
class Numbers(Element):
    """mpmath floats in a NumPy object array; none depends on a parameter, for there are no derivatives."""

    value: np.ndarray


class Multiprecision(Arithmetic[Numbers]):
    """Numbers of ``digits`` decimal digits; the reference is their nearest float64."""

    def __init__(self, digits: int) -> None:
        if not isinstance(digits, int) or digits < _MIN_DIGITS:
            raise InvalidInput(f"digits must be an integer ≥ {_MIN_DIGITS} (a float64 needs that many), not {digits!r}")
        super().__init__()
        self.digits = digits
        self.context = mpmath.MPContext()  # its own, so that no global precision changes
        self.context.dps = digits

    @property
    def epsilon(self) -> Any:
        """The distance from 1 to the next number, as an mpmath float."""
        return self.context.eps

    # ----- construction

    def element(self, entries: Any) -> Numbers:
        """An element from an array of mpmath floats."""
        array = np.asarray(entries, dtype=object)
        reference = torch.tensor([float(x) for x in array.flat], dtype=torch.float64).reshape(array.shape)
        return Numbers(array, reference)

    def lift(self, x: Tensor, exact: bool = False) -> Numbers:
        """An ordinary tensor, entry by entry without rounding; infinities stay infinite."""
        number = np.frompyfunc(self.context.mpf, 1, 1)
        plain = x.detach().cpu()
        plain = plain.double() if plain.is_floating_point() else plain.to(torch.int64)
        return self.element(np.asarray(number(np.asarray(plain.numpy(), dtype=object)), dtype=object))

    def map(self, function: Callable[[Any], Any], a: Numbers) -> Numbers:
        """A function of one mpmath float, entry by entry."""
        return self.element(np.frompyfunc(function, 1, 1)(a.value))

    # ----- ring operations

    def add(self, a: Numbers, b: Numbers, alpha: float = 1) -> Numbers:
        right = b.value if alpha == 1 else b.value * self.context.mpf(alpha)
        return self.element(a.value + right)

    def sub(self, a: Numbers, b: Numbers) -> Numbers:
        return self.element(a.value - b.value)

    def neg(self, a: Numbers) -> Numbers:
        return self.element(-a.value)

    def scale(self, a: Numbers, factor: float) -> Numbers:
        return self.element(a.value * self.context.mpf(factor))

    def divide_by_count(self, a: Numbers, n: int) -> Numbers:
        return self.element(a.value / self.context.mpf(n))

    def mul(self, a: Numbers, b: Numbers) -> Numbers:
        return self.element(a.value * b.value)

    def matmul(self, a: Numbers, b: Numbers) -> Numbers:
        return self.element(np.matmul(a.value, b.value) + self.context.zero)

    def cumsum(self, a: Numbers, dim: int) -> Numbers:
        return self.element(np.cumsum(a.value, axis=dim) if a.reference.dim() else a.value)

    def sum(self, a: Numbers, dims: Sequence[int], keepdim: bool = False) -> Numbers:
        axes = tuple(d % a.reference.dim() for d in dims)
        return self.element(np.sum(a.value, axis=axes, keepdims=keepdim) + self.context.zero)

    # ----- division, roots and transcendental functions: float conventions at their poles

    def reciprocal(self, a: Numbers) -> Numbers:
        return self.map(lambda x: 1 / x if x else self.context.inf, a)

    def sqrt(self, a: Numbers) -> Numbers:
        return self.map(lambda x: self.context.nan if x < 0 else self.context.sqrt(x), a)

    def rsqrt(self, a: Numbers) -> Numbers:
        return self.reciprocal(self.sqrt(a))

    def exp(self, a: Numbers) -> Numbers:
        return self.map(self.context.exp, a)

    def log(self, a: Numbers) -> Numbers:
        return self.map(lambda x: self.context.nan if x < 0 else self.context.log(x), a)

    def erf(self, a: Numbers) -> Numbers:
        return self.map(self.context.erf, a)

    def atan(self, a: Numbers) -> Numbers:
        return self.map(self.context.atan, a)

    def sigmoid(self, a: Numbers) -> Numbers:
        return self.map(lambda x: 1 / (1 + self.context.exp(-x)), a)

    def tanh(self, a: Numbers) -> Numbers:
        return self.map(self.context.tanh, a)

    def cos_sin(self, a: Numbers) -> tuple[Numbers, Numbers]:
        return self.map(self.context.cos, a), self.map(self.context.sin, a)

    def softmax(self, x: Numbers, dim: int, safe: bool = False) -> Numbers:
        # Exponents have no bound here, so scores need not be shifted first.
        zero = self.lift(torch.zeros((), dtype=torch.float64))
        masked = torch.softmax(x.reference, dim) == 0
        weights = self.select(masked, zero, self.exp(self.select(masked, zero, x)))
        total = self.sum(weights, [dim], keepdim=True)
        return self.mul(weights, self.map(lambda t: 1 / t if t else self.context.nan, total))

    def log_softmax(self, x: Numbers, dim: int) -> Numbers:
        return self.log(self.softmax(x, dim))

    # ----- choices and shapes

    def select(self, condition: Tensor, a: Numbers, b: Numbers) -> Numbers:
        return self.element(np.where(condition.numpy(), a.value, b.value))

    def gather(self, fn: Callable[[Tensor], Tensor], a: Numbers) -> Numbers:
        return self.concatenate(lambda parts: fn(parts[0]), [a])

    def concatenate(self, fn: Callable[[Sequence[Tensor]], Tensor], elements: Sequence[Numbers]) -> Numbers:
        """The operation is traced on entry numbers, from 1; 0 stands for a zero that it puts in."""
        numbers, start = [], 1
        for x in elements:
            numbers.append(torch.arange(start, start + x.reference.numel()).reshape(x.shape))
            start += x.reference.numel()
        bank = np.concatenate([np.array([self.context.zero], dtype=object), *(x.value.reshape(-1) for x in elements)])
        return self.element(bank[fn(numbers).numpy()])

    # ----- in and out

    def wrap(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Tensors by name as wrapper tensors; those that are that already, or hold integers, stay as they are."""
        return {name: self.carry(x) for name, x in tensors.items()}

    def carry(self, x: Tensor) -> Tensor:
        """A floating tensor as a wrapper tensor with many digits."""
        return x if isinstance(x, WrapperTensor) or not x.is_floating_point() else wrap(self.lift(x), self)

    def numbers(self, x: Tensor) -> np.ndarray:
        """The mpmath floats of a wrapper tensor made by this arithmetic, in its shape."""
        if not isinstance(x, WrapperTensor) or x.calculus is not self:
            raise InvalidInput(f"expected a tensor computed with {self.digits} digits, not {type(x).__name__}")
        return x.element.value

    def nearest(self, x: Tensor) -> Tensor:
        """The nearest float64 tensor to a wrapper tensor made by this arithmetic."""
        return self.element(self.numbers(x)).reference

    def norm(self, x: Tensor) -> Any:
        """Frobenius norm of a wrapper tensor, as an mpmath float."""
        return self.context.sqrt(self.context.fsum(self.numbers(x).reshape(-1), squared=True))
