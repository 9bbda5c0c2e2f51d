"""Vectorised arithmetic in GF(p) and its quadratic extension GF(p²) = GF(p)[i], i² = −1.

Square roots need the extension: half of all residues have none in GF(p), but every residue has one in GF(p²).
Elements stay in GF(p) (``im is None``) until a root leaves it, so models without norms pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from symgauge.arithmetic.primes import check_modulus

_CHUNK = 64
"""Longest inner dimension of one float64 product: 2³¹ · 2¹⁶ · 64 ≤ 2⁵³ keeps every sum exact."""


class Residues(NamedTuple):
    """An array over GF(p²): int64 residues in [0, p), real part and (None if zero everywhere) imaginary part."""

    re: Tensor
    im: Tensor | None = None

    @property
    def shape(self) -> torch.Size:
        return self.re.shape

    def parts(self) -> tuple[Tensor, ...]:
        return (self.re,) if self.im is None else (self.re, self.im)

    def map(self, fn: Callable[[Tensor], Tensor]) -> Residues:
        """Apply an operation that only moves, copies or drops entries."""
        return Residues(fn(self.re), None if self.im is None else fn(self.im))


class FiniteField:
    """GF(p) and GF(p²) for one prime; ``seed`` keys the hashes that stand for transcendental functions."""

    def __init__(self, p: int, seed: int = 0) -> None:
        self.p = check_modulus(p)
        self.seed = seed

    # ----- lifting

    def lift(self, x: Tensor) -> Residues:
        """Residues of finite floats or integers, exactly: a float64 is m·2^e, |m| < 2⁵³. Non-finite entries give 0."""
        if not x.is_floating_point():
            return Residues(torch.remainder(x.to(torch.int64), self.p))
        mantissa, exponent = torch.frexp(torch.where(torch.isfinite(x), x, 0.0).double())
        integer = torch.remainder((mantissa * 2.0**53).to(torch.int64), self.p)
        power = torch.remainder(exponent.to(torch.int64) - 53, self.p - 1)
        return Residues(self._mul(integer, self._power(torch.full_like(integer, 2), power)))

    def constant(self, x: float, like: Tensor) -> Residues:
        """One number, as a zero-dimensional array on the device of ``like``."""
        return self.lift(torch.tensor(float(x), dtype=torch.float64)).map(lambda t: t.to(like.device))

    def zeros(self, shape: Sequence[int], device: torch.device) -> Tensor:
        """One part (real or imaginary) of an array of zeros."""
        return torch.zeros(tuple(shape), dtype=torch.int64, device=device)

    def identity(self, n: int, device: torch.device) -> Residues:
        return Residues(torch.eye(n, dtype=torch.int64, device=device))

    # ----- ring operations

    def reduce(self, x: Tensor) -> Tensor:
        """x mod p for 0 ≤ x (fmod is several times faster than remainder, and equal there)."""
        return torch.fmod(x, self.p)

    def _add(self, a: Tensor, b: Tensor) -> Tensor:
        return self.reduce(a + b)

    def _sub(self, a: Tensor, b: Tensor) -> Tensor:
        return self.reduce((a - b).add_(self.p))

    def _mul(self, a: Tensor, b: Tensor) -> Tensor:
        return self.reduce(a * b)

    def add(self, a: Residues, b: Residues) -> Residues:
        if a.im is None and b.im is None:
            return Residues(self._add(a.re, b.re))
        zero = torch.zeros((), dtype=torch.int64, device=a.re.device)
        a_im, b_im = (zero if x.im is None else x.im for x in (a, b))
        return Residues(self._add(a.re, b.re), (a_im + b_im).expand(torch.broadcast_shapes(a.shape, b.shape)) % self.p)

    def neg(self, a: Residues) -> Residues:
        return a.map(lambda x: self.reduce(self.p - x))

    def sub(self, a: Residues, b: Residues) -> Residues:
        if a.im is None and b.im is None:
            return Residues(self._sub(a.re, b.re))
        return self.add(a, self.neg(b))

    def _bilinear(self, product: Callable[[Tensor, Tensor], Tensor], a: Residues, b: Residues) -> Residues:
        """(a + a'i)(b + b'i) for any product that is bilinear and reduced."""
        re = product(a.re, b.re)
        if a.im is None and b.im is None:
            return Residues(re)
        if a.im is None or b.im is None:
            cross = product(a.re, b.im) if a.im is None else product(a.im, b.re)  # type: ignore[arg-type]
            return Residues(re, cross)
        return Residues(self._sub(re, product(a.im, b.im)), self._add(product(a.re, b.im), product(a.im, b.re)))

    def mul(self, a: Residues, b: Residues) -> Residues:
        return self._bilinear(self._mul, a, b)

    def scale(self, a: Residues, factor: float) -> Residues:
        """Multiply by a float constant."""
        return self.mul(a, self.constant(factor, a.re))

    def _matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """a @ b mod p by float64 products of 31-bit by 16-bit numbers, the inner dimension in chunks."""
        inner = a.shape[-1]
        total: Tensor | None = None
        for start in range(0, max(inner, 1), _CHUNK):
            left = a[..., start : start + _CHUNK].double()
            right = b[..., start : start + _CHUNK, :]
            low = torch.matmul(left, (right & 0xFFFF).double()).to(torch.int64)
            high = torch.matmul(left, (right >> 16).double()).to(torch.int64)
            part = self.reduce(self.reduce(high).mul_(1 << 16).add_(low))
            total = part if total is None else self._add(total, part)
        assert total is not None
        return total

    def matmul(self, a: Residues, b: Residues) -> Residues:
        """Matrix product over the last two axes, batched as :func:`torch.matmul`; both at least two-dimensional."""
        if a.im is None or b.im is None:
            return self._bilinear(self._matmul, a, b)
        # Karatsuba: three products of matrices in place of four, for sums that cost next to nothing.
        re, im = self._matmul(a.re, b.re), self._matmul(a.im, b.im)
        both = self._matmul(self._add(a.re, a.im), self._add(b.re, b.im))
        return Residues(self._sub(re, im), self._sub(self._sub(both, re), im))

    def sum(self, a: Residues, dims: Sequence[int], keepdim: bool = False) -> Residues:
        """Sum over axes; exact for up to 2³² summands."""
        return a.map(lambda x: self.reduce(x.sum(tuple(dims), keepdim=keepdim)))

    # ----- division and roots

    def divide(self, a: Residues, n: int) -> Residues:
        """a / n for an integer n, exactly (1/n is no float)."""
        if n % self.p == 0:
            raise ZeroDivisionError(f"division by {n} modulo {self.p}")
        return self.mul(a, Residues(torch.tensor(pow(n, -1, self.p), device=a.re.device)))

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

    def inverse(self, a: Residues) -> Residues:
        """1/a, with 0 for 0; see :meth:`is_zero`."""
        if a.im is None:
            return Residues(self._inverse(a.re))
        norm = self._inverse(self._add(self._mul(a.re, a.re), self._mul(a.im, a.im)))
        return Residues(self._mul(a.re, norm), self._mul(self.reduce(self.p - a.im), norm))

    def inverse_of(self, re: int, im: int = 0) -> Residues:
        """1/(re + im·i) for one element, by Python integers (far quicker than tensors of one entry)."""
        norm = pow(re * re + im * im, -1, self.p)
        parts = (re * norm % self.p,) if im == 0 else (re * norm % self.p, -im * norm % self.p)
        return Residues(*(torch.tensor(part) for part in parts))

    def is_zero(self, a: Residues) -> Tensor:
        return a.re == 0 if a.im is None else (a.re == 0) & (a.im == 0)

    def _root(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """(r, ok): r² = a where ok, else r² = −a (p ≡ 3 mod 4)."""
        root = self._power(a, (self.p + 1) // 4)
        return root, self._mul(root, root) == a

    def root(self, a: Residues) -> tuple[Residues, Tensor]:
        """(r, failed): r² = a in GF(p²) where not ``failed``. The choice of sign is immaterial (Galois conjugation).

        An element of GF(p) always has a root. Of the others half do: a + bi is a square iff its norm a² + b² is one
        in GF(p), and then r = x + bi/(2x) with x² = (a ± √(a² + b²))/2 for the sign that makes it a square.
        """
        real_root, real_ok = self._root(a.re)
        zero = torch.zeros_like(real_root)
        re, im = torch.where(real_ok, real_root, zero), torch.where(real_ok, zero, real_root)
        if a.im is None:
            return Residues(re, im if bool((~real_ok).any()) else None), torch.zeros_like(real_ok)
        norm_root, norm_ok = self._root(self._add(self._mul(a.re, a.re), self._mul(a.im, a.im)))
        half = (self.p + 1) // 2
        first, first_ok = self._root(self.reduce(self._add(a.re, norm_root) * half))
        second, _ = self._root(self.reduce(self._sub(a.re, norm_root) * half))
        x = torch.where(first_ok, first, second)
        y = self._mul(a.im, self._inverse(self.reduce(2 * x)))
        is_real = a.im == 0
        return Residues(torch.where(is_real, re, x), torch.where(is_real, im, y)), ~(norm_ok | is_real)

    # ----- transcendental functions as hashes

    def _hash(self, a: Residues, tag: int) -> Tensor:
        """A keyed pseudo-random residue in [1, p), equal for equal arguments (the splitmix64 finaliser, twice)."""
        mixed = a.re ^ ((self.seed * 0x9E3779B97F4A7C15 + tag * 0xD1B54A32D192ED03 + 1) & 0x7FFFFFFFFFFFFFFF)
        for part in (None, a.im):
            if part is not None:
                mixed = mixed ^ (part * 0x2545F4914F6CDD1D)
            for shift, factor in ((30, -4658895280553007687), (27, -7723592293110705685)):
                mixed = (mixed ^ ((mixed >> shift) & ((1 << (64 - shift)) - 1))) * factor
            mixed = mixed ^ ((mixed >> 31) & 0x1FFFFFFFF)
        return torch.fmod(mixed & 0x7FFFFFFFFFFFFFFF, self.p - 1) + 1

    def _fold(self, a: Residues) -> tuple[Residues, Tensor]:
        """(±a, flipped): one representative of {a, −a}, so that even and odd functions keep their parity."""
        half = self.p // 2
        flipped = a.re > half if a.im is None else (a.re > half) | ((a.re == 0) & (a.im > half))
        opposite = self.neg(a)
        pairs = zip(opposite.parts(), a.parts(), strict=True)
        return Residues(*(torch.where(flipped, n, x) for n, x in pairs)), flipped

    def exp(self, a: Residues) -> Residues:
        """A fresh element per argument with exp(0) = 1 and exp(−a) = 1/exp(a); always in GF(p)."""
        folded, flipped = self._fold(a)
        value = self._hash(folded, 1)
        value = torch.where(flipped, self._inverse(value), value)
        return Residues(torch.where(self.is_zero(a), 1, value))

    def odd(self, a: Residues, tag: int) -> Residues:
        """A fresh element per argument with f(−a) = −f(a), for erf and the tangent of a half angle."""
        folded, flipped = self._fold(a)
        value = self._hash(folded, tag)
        value = torch.where(flipped, self.p - value, value)
        return Residues(torch.where(self.is_zero(a), 0, value))

    def fresh(self, a: Residues, tag: int) -> Residues:
        """A fresh element per argument, without any relation (logarithms)."""
        return Residues(self._hash(a, tag))
