"""Vectorised arithmetic on int64 residues modulo one prime below 2³¹."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from symgauge.arithmetic.fractions import simple_fractions
from symgauge.arithmetic.modular_products import matmul

_EXPONENTS = 1100
"""Exponents of float64 numbers lie between −1100 and 1100."""
_FEW = 128
"""Up to so many numbers are inverted one by one: tensor operations cost more by their number than by their size."""
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

    def _power(self, base: Tensor, exponent: int) -> Tensor:
        """base^exponent, four bits of the exponent at a time."""
        powers = [torch.ones_like(base), base]
        while len(powers) <= min(exponent, 15):
            powers.append(self._mul(powers[-1], base))
        digits = [(exponent >> shift) & 15 for shift in range(0, max(exponent.bit_length(), 1), 4)]
        result = powers[digits.pop()]
        for digit in reversed(digits):
            for _ in range(4):
                result = self._mul(result, result)
            result = self._mul(result, powers[digit]) if digit else result
        return result

    def _powers_of(self, base: int, count: int) -> Tensor:
        """1, base, base², …: (count,), by doubling."""
        result = torch.ones(1, dtype=torch.int64)
        while len(result) < count:
            result = torch.cat([result, self._mul(result, torch.tensor(pow(base, len(result), self.p)))])
        return result[:count]

    def _inverse(self, a: Tensor) -> Tensor:
        """1/a, and 0 for 0 (callers report division by zero).

        Many are inverted together: of two numbers, 1/a = b/(ab), so that one inverse of each pair's product will do.
        """
        flat = a.reshape(-1)
        if len(flat) <= _FEW:
            return self._one_by_one(flat).reshape(a.shape)
        zero = flat == 0
        inverses = self._inverse_units(torch.where(zero, 1, flat))
        return torch.where(zero, 0, inverses).reshape(a.shape)

    def _one_by_one(self, a: Tensor) -> Tensor:
        found = [pow(x, -1, self.p) if x else 0 for x in a.tolist()]
        return torch.tensor(found, dtype=torch.int64, device=a.device)

    def _inverse_units(self, a: Tensor) -> Tensor:
        if len(a) <= _FEW:
            return self._one_by_one(a)
        half = len(a) // 2
        first, second = a[:half], a[half : 2 * half]
        of_products = self._inverse_units(torch.cat([self._mul(first, second), a[2 * half :]]))
        of_pairs, rest = of_products[:half], of_products[half:]
        return torch.cat([self._mul(of_pairs, second), self._mul(of_pairs, first), rest])

    @cached_property
    def _binary(self) -> Tensor:
        """2^(e − 53) for the exponents e of floats, from the smallest."""
        start = pow(2, -(53 + _EXPONENTS), self.p)
        return self._mul(self._powers_of(2, 2 * _EXPONENTS + 1), torch.tensor(start))

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
        result = self._mul(integer, self._binary.to(x.device)[exponent.to(torch.int64) + _EXPONENTS])
        if exact or (found := simple_fractions(x)) is None:
            return result
        numerator, denominator, is_simple = found
        inverse = self._inverses.to(x.device)[denominator]
        return torch.where(is_simple, self._mul(torch.remainder(numerator, self.p), inverse), result)
