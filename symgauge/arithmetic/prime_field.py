"""Vectorised arithmetic on int64 residues modulo one prime below 2³¹."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from symgauge.arithmetic.fractions import simple_fractions
from symgauge.arithmetic.modular_products import matmul

_DENOMINATORS = 1 << 14
"""Inverses of smaller numbers are looked up."""


class PrimeField:
    """GF(p): every method takes and gives int64 residues in [0, p)."""

    def __init__(self, p: int) -> None:
        self.p = p

    def reduce(self, x: Tensor) -> Tensor:
        """x mod p for 0 ≤ x (fmod is several times faster than remainder, and equal there)."""
        return torch.fmod(x, self.p)

    def _add(self, a: Tensor, b: Tensor) -> Tensor:
        return self.reduce(a + b)

    def _sub(self, a: Tensor, b: Tensor) -> Tensor:
        return self.reduce((a - b).add_(self.p))

    def _neg(self, a: Tensor) -> Tensor:
        return self.reduce(self.p - a)

    def _mul(self, a: Tensor, b: Tensor) -> Tensor:
        return self.reduce(a * b)

    def _matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """a @ b mod p, batched as :func:`torch.matmul`."""
        return matmul((a,), (b,), self.p)[0]

    def _power(self, base: Tensor, exponent: Tensor | int) -> Tensor:
        if isinstance(exponent, int):
            exponent = torch.full_like(base, exponent)
        result = torch.ones_like(base)
        while bool((exponent > 0).any()):
            result = torch.where(exponent & 1 == 1, self._mul(result, base), result)
            base, exponent = self._mul(base, base), exponent >> 1
        return result

    def _inverse(self, a: Tensor) -> Tensor:
        """1/a by Fermat's theorem (0 for 0; callers report division by zero)."""
        return self._power(a, self.p - 2)

    @cached_property
    def _inverses(self) -> Tensor:
        return self._inverse(torch.arange(_DENOMINATORS))

    # ----- from ordinary numbers

    def residue(self, x: Tensor, exact: bool) -> Tensor:
        """Residues of finite floats or integers; non-finite entries give 0.

        ``exact``: a float64 is the dyadic rational m·2^e it stands for. Otherwise it is the simplest fraction that it
        is the nearest float to, if there is a simple one: 0.2 is 1/5, so that ``x.sum(-1) * 0.2`` is a mean.
        """
        if not x.is_floating_point():
            return torch.remainder(x.to(torch.int64), self.p)
        whole = torch.where(torch.isfinite(x), x, 0.0)
        if bool((whole == whole.trunc()).all()) and bool((whole.abs() < 2.0**53).all()):
            return torch.remainder(whole.to(torch.int64), self.p)
        mantissa, exponent = torch.frexp(whole.double())
        integer = torch.remainder((mantissa * 2.0**53).to(torch.int64), self.p)
        power = torch.remainder(exponent.to(torch.int64) - 53, self.p - 1)
        result = self._mul(integer, self._power(torch.full_like(integer, 2), power))
        if exact or (found := simple_fractions(x)) is None:
            return result
        numerator, denominator, is_simple = found
        inverse = self._inverses.to(x.device)[denominator]
        return torch.where(is_simple, self._mul(torch.remainder(numerator, self.p), inverse), result)
