"""Vectorised arithmetic in GF(p) and its quadratic extension GF(p²) = GF(p)[i], i² = −1, with exponents modulo q.

Square roots need the extension: half of all residues have none in GF(p), but every residue has one in GF(p²).
Elements stay in GF(p) (``im is None``) until a root leaves it, so models without norms pay nothing.

Exponentials need a second modulus: p = 2q + 1 with q prime, and the squares of GF(p) are a group of order q. A value
carries its residue modulo q beside the one modulo p, and exp(x) = g^(x mod q) is a true homomorphism: exp(a + b) =
exp(a) exp(b) and exp(2a) = exp(a)² hold. See docs/engine.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from zlib import crc32

import torch
from torch import Tensor

from symgauge.arithmetic.modular_products import matmul
from symgauge.arithmetic.prime_field import PrimeField
from symgauge.arithmetic.primes import check_modulus

_SMALL, _TABLES = 4096, 256
"""Entries of a table that is kept once it is lifted, and how many are."""


class Residues(NamedTuple):
    """An array over GF(p²): int64 residues in [0, p), real part and (None if zero everywhere) imaginary part.

    ``ex`` is the same number modulo q, which exponentials read; derivatives have none. What is not rational in the
    parameters (a root, an exponential, a logarithm) is a hash of its residue there.
    """

    re: Tensor
    im: Tensor | None = None
    ex: Tensor | None = None

    @property
    def shape(self) -> torch.Size:
        return self.re.shape

    def parts(self) -> tuple[Tensor, ...]:
        """Real and, if there is one, imaginary part."""
        return (self.re,) if self.im is None else (self.re, self.im)

    def map(self, fn: Callable[[Tensor], Tensor]) -> Residues:
        """Apply an operation that only moves, copies or drops entries."""
        im, ex = (None if x is None else fn(x) for x in (self.im, self.ex))
        return Residues(fn(self.re), im, ex)


def gathered(move: Callable[[list[Tensor]], Tensor], arrays: Sequence[Residues]) -> Residues:
    """Apply an operation that only moves entries of several arrays into one (cat, where, index_put, …)."""
    im = ex = None
    if any(a.im is not None for a in arrays):
        im = move([torch.zeros_like(a.re) if a.im is None else a.im for a in arrays])
    exponents = [a.ex for a in arrays if a.ex is not None]
    if len(exponents) == len(arrays):
        ex = move(exponents)
    return Residues(move([a.re for a in arrays]), im, ex)


def _splitmix(x: Tensor) -> Tensor:
    """The finaliser of splitmix64: every bit of a 64-bit integer reaches every other."""
    for shift, factor in ((30, -4658895280553007687), (27, -7723592293110705685)):
        x = (x ^ ((x >> shift) & ((1 << (64 - shift)) - 1))) * factor
    return x ^ ((x >> 31) & 0x1FFFFFFFF)


class FiniteField(PrimeField):
    """GF(p) and GF(p²) for one prime p = 2q + 1; ``seed`` keys the hashes that stand for transcendental functions."""

    def __init__(self, p: int, seed: int = 0) -> None:
        super().__init__(check_modulus(p))
        self.exponents = PrimeField((p - 1) // 2)
        self.seed = seed
        self._tables: dict[Any, Residues] = {}
        self._constants: dict[tuple[type, float, torch.device], Residues] = {}

    # ----- lifting

    def lift(self, x: Tensor, exact: bool = False) -> Residues:
        """Residues of floats or integers, see :meth:`PrimeField.residue`: of a constant of the code, or ``exact``."""
        if x.numel() > _SMALL or x.device.type != "cpu":
            return self._lifted(x, exact)
        # Tables of the code (masks, rotations) are lifted again in every run.
        key = (x.dtype, x.shape, exact, x.numpy().tobytes())
        if key not in self._tables:
            if len(self._tables) >= _TABLES:
                self._tables.clear()
            self._tables[key] = self._lifted(x, exact)
        return self._tables[key]

    def _lifted(self, x: Tensor, exact: bool) -> Residues:
        return Residues(self.residue(x, exact), None, self.exponents.residue(x, exact))

    def constant(self, x: float, like: Tensor) -> Residues:
        """One number, as a zero-dimensional array on the device of ``like``."""
        key = (type(x), x, like.device)
        if key not in self._constants:
            dtype = torch.int64 if isinstance(x, int) else torch.float64
            self._constants[key] = self.lift(torch.tensor(x, dtype=dtype)).map(lambda t: t.to(like.device))
        return self._constants[key]

    def ones_like(self, a: Residues) -> Residues:
        one = torch.ones_like(a.re)
        return Residues(one, None, None if a.ex is None else one)

    def zeros(self, shape: Sequence[int], device: torch.device) -> Tensor:
        """One part (real or imaginary) of an array of zeros."""
        return torch.zeros(tuple(shape), dtype=torch.int64, device=device)

    def identity(self, n: int, device: torch.device) -> Residues:
        return Residues(torch.eye(n, dtype=torch.int64, device=device))

    # ----- ring operations

    def add(self, a: Residues, b: Residues) -> Residues:
        ex = None if a.ex is None or b.ex is None else self.exponents._add(a.ex, b.ex)
        if a.im is None and b.im is None:
            return Residues(self._add(a.re, b.re), None, ex)
        zero = torch.zeros((), dtype=torch.int64, device=a.re.device)
        a_im, b_im = (zero if x.im is None else x.im for x in (a, b))
        im = (a_im + b_im).expand(torch.broadcast_shapes(a.shape, b.shape)) % self.p
        return Residues(self._add(a.re, b.re), im, ex)

    def neg(self, a: Residues) -> Residues:
        im, ex = None if a.im is None else self._neg(a.im), None if a.ex is None else self.exponents._neg(a.ex)
        return Residues(self._neg(a.re), im, ex)

    def sub(self, a: Residues, b: Residues) -> Residues:
        if a.im is None and b.im is None:
            ex = None if a.ex is None or b.ex is None else self.exponents._sub(a.ex, b.ex)
            return Residues(self._sub(a.re, b.re), None, ex)
        return self.add(a, self.neg(b))

    def _bilinear(self, product: Callable[[PrimeField, Tensor, Tensor], Tensor], a: Residues, b: Residues) -> Residues:
        """(a + a'i)(b + b'i) for any product that is bilinear and reduced."""
        ex = None if a.ex is None or b.ex is None else product(self.exponents, a.ex, b.ex)
        re = product(self, a.re, b.re)
        if a.im is None and b.im is None:
            return Residues(re, None, ex)
        if a.im is None or b.im is None:
            cross = product(self, a.re, b.im) if a.im is None else product(self, a.im, b.re)  # type: ignore[arg-type]
            return Residues(re, cross, ex)
        im = self._add(product(self, a.re, b.im), product(self, a.im, b.re))
        return Residues(self._sub(re, product(self, a.im, b.im)), im, ex)

    def mul(self, a: Residues, b: Residues) -> Residues:
        return self._bilinear(lambda field, x, y: field._mul(x, y), a, b)

    def scale(self, a: Residues, factor: float) -> Residues:
        """Multiply by a constant of the code."""
        return self.mul(a, self.constant(factor, a.re))

    def matmul(self, a: Residues, b: Residues) -> Residues:
        """Matrix product over the last two axes, batched as :func:`torch.matmul`; both at least two-dimensional."""
        if a.im is None or b.im is None:
            return self._bilinear(lambda field, x, y: field._matmul(x, y), a, b)
        re, im = matmul(a.parts(), b.parts(), self.p)
        return Residues(re, im, None if a.ex is None or b.ex is None else self.exponents._matmul(a.ex, b.ex))

    def sum(self, a: Residues, dims: Sequence[int], keepdim: bool = False) -> Residues:
        """Sum over axes; exact for up to 2³² summands."""
        im, ex = a.im, a.ex
        total = [None if x is None else x.sum(tuple(dims), keepdim=keepdim) for x in (a.re, im, ex)]
        assert total[0] is not None
        return Residues(
            self.reduce(total[0]),
            None if total[1] is None else self.reduce(total[1]),
            None if total[2] is None else self.exponents.reduce(total[2]),
        )

    # ----- division and roots

    def divide(self, a: Residues, n: int) -> Residues:
        """a / n for an integer n, exactly (1/n is no float)."""
        q = self.exponents.p
        if n % self.p == 0 or n % q == 0:
            raise ZeroDivisionError(f"division by {n} modulo {self.p} or {q}")
        inverse = Residues(*(torch.tensor(pow(n, -1, m), device=a.re.device) for m in (self.p,)))
        return self.mul(a, inverse._replace(ex=torch.tensor(pow(n, -1, q), device=a.re.device)))

    def inverse(self, a: Residues) -> Residues:
        """1/a, with 0 for 0; see :meth:`is_zero`."""
        ex = None if a.ex is None else self.exponents._inverse(a.ex)
        if a.im is None:
            return Residues(self._inverse(a.re), None, ex)
        norm = self._inverse(self._add(self._mul(a.re, a.re), self._mul(a.im, a.im)))
        return Residues(self._mul(a.re, norm), self._mul(self._neg(a.im), norm), ex)

    def inverse_of(self, re: int, im: int = 0) -> tuple[int, int]:
        """1/(re + im·i) for one element, by Python integers (far quicker than tensors of one entry)."""
        norm = pow(re * re + im * im, -1, self.p)
        return re * norm % self.p, -im * norm % self.p

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
        ex = None if a.ex is None else self._hash(a, "root", self.exponents.p)
        real_root, real_ok = self._root(a.re)
        zero = torch.zeros_like(real_root)
        re, im = torch.where(real_ok, real_root, zero), torch.where(real_ok, zero, real_root)
        if a.im is None:
            return Residues(re, im if bool((~real_ok).any()) else None, ex), torch.zeros_like(real_ok)
        norm_root, norm_ok = self._root(self._add(self._mul(a.re, a.re), self._mul(a.im, a.im)))
        half = (self.p + 1) // 2
        first, first_ok = self._root(self.reduce(self._add(a.re, norm_root) * half))
        second, _ = self._root(self.reduce(self._sub(a.re, norm_root) * half))
        x = torch.where(first_ok, first, second)
        y = self._mul(a.im, self._inverse(self.reduce(2 * x)))
        is_real = a.im == 0
        return Residues(torch.where(is_real, re, x), torch.where(is_real, im, y), ex), ~(norm_ok | is_real)

    # ----- transcendental functions

    def _hash(self, a: Residues, function: str, modulus: int) -> Tensor:
        """A keyed pseudo-random number in [1, modulus), equal for equal arguments of the function of that name."""
        tag = crc32(function.encode())
        mixed = a.re ^ ((self.seed * 0x9E3779B97F4A7C15 + tag * 0xD1B54A32D192ED03 + 1) & 0x7FFFFFFFFFFFFFFF)
        mixed = _splitmix(mixed)
        # A real number is the same with an imaginary part of zero and without one.
        mixed = _splitmix(mixed if a.im is None else mixed ^ (a.im * 0x2545F4914F6CDD1D))
        return torch.fmod(mixed & 0x7FFFFFFFFFFFFFFF, modulus - 1) + 1

    def uninterpreted(self, a: Residues, function: str) -> Residues:
        """An uninterpreted element per argument, without any relation."""
        ex = None if a.ex is None else self._hash(a, f"{function} modulo q", self.exponents.p)
        return Residues(self._hash(a, function, self.p), None, ex)

    def _fold(self, a: Residues) -> tuple[Residues, Tensor]:
        """(±a, flipped): one representative of {a, −a}, so that odd functions keep their parity."""
        half = self.p // 2
        flipped = a.re > half if a.im is None else (a.re > half) | ((a.re == 0) & (a.im > half))
        return gathered(lambda pair: torch.where(flipped, pair[0], pair[1]), [self.neg(a), a]), flipped

    def odd(self, a: Residues, function: str) -> Residues:
        """An uninterpreted element per argument with f(−a) = −f(a), for erf and the tangent of a half angle."""
        folded, flipped = self._fold(a)
        value = self.uninterpreted(folded, function)
        value = gathered(lambda pair: torch.where(flipped, pair[0], pair[1]), [self.neg(value), value])
        zero = self.is_zero(a)
        return value.map(lambda t: torch.where(zero, 0, t))

    @cached_property
    def _powers(self) -> tuple[Tensor, Tensor, Tensor]:
        """g^i, g^(2¹⁰ i) and g^(2²⁰ i) for i < 2¹¹, where g generates the squares of GF(p); keyed by the seed."""
        key = Residues(torch.tensor([self.seed]))
        root = 2 + int(self._hash(key, "exp", self.p - 3))
        square = root * root % self.p
        low, middle, high = (self._powers_of(pow(square, 1 << shift, self.p), 1 << 11) for shift in (0, 10, 20))
        return low, middle, high

    def exp(self, a: Residues) -> Residues:
        """g^(a mod q) for a generator g of the squares: exp(a + b) = exp(a) exp(b), exp(0) = 1; always in GF(p)."""
        assert a.ex is not None
        low, middle, high = (table.to(a.ex.device) for table in self._powers)
        value = self._mul(self._mul(low[a.ex & 1023], middle[(a.ex >> 10) & 1023]), high[a.ex >> 20])
        # Modulo q it is a hash of itself that keeps exp(−a) = 1/exp(a), so that it does not matter how it was found.
        flipped = a.ex > self.exponents.p // 2
        opposite = self.exponents._neg(a.ex)
        hashed = self._hash(Residues(torch.where(flipped, opposite, a.ex)), "exp modulo q", self.exponents.p)
        hashed = torch.where(flipped, self.exponents._inverse(hashed), hashed)
        return Residues(value, None, torch.where(a.ex == 0, 1, hashed))

    def log(self, a: Residues) -> Residues:
        """An uninterpreted element per argument with log(1/a) = −log(a) and log(1) = 0."""
        inverse = self.inverse(a)
        flipped = (
            (inverse.re < a.re)
            if a.im is None
            else (inverse.re < a.re)
            | (
                (inverse.re == a.re) & (inverse.im < a.im)  # type: ignore[operator]
            )
        )
        folded = gathered(lambda pair: torch.where(flipped, pair[0], pair[1]), [inverse, a])
        value = self.uninterpreted(folded, "log")
        value = gathered(lambda pair: torch.where(flipped, pair[0], pair[1]), [self.neg(value), value])
        one = a.re == 1 if a.im is None else (a.re == 1) & (a.im == 0)
        return value.map(lambda t: torch.where(one, 0, t))
