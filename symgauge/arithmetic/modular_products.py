"""Exact products modulo p < 2³¹ by float64 matrix products, on centred residues: float64 integers around zero.

One factor is written a₁·BASE + a₀ and each digit is multiplied by itself. All numbers are integers below 2⁵³, so that
nothing is ever rounded but the quotient in :func:`centre_`.
"""

from __future__ import annotations

import torch
from torch import Tensor

BASE = 46342
"""About 2^15.5, so that both digits of a centred residue are at most 23,171: 2³⁰/BASE and BASE/2."""
CHUNK = 256
"""Longest inner dimension of one product: 256 · 23,171 · 2³⁰ < 2^52.51. The other digit adds 2³⁰ · BASE < 2⁴⁶."""
_BLOCK = {"cpu": 1 << 18, "cuda": 1 << 25}
"""Entries of a product that are worked on at a time; on CPU they stay in the cache from one step to the next."""

Parts = tuple[Tensor, ...]
"""An array over GF(p²) in centred residues: (re,), or (re, im)."""


def centre_(x: Tensor, p: int) -> Tensor:
    """x mod p in place, at most p/2 + 2 from zero, for integers with |x| < 2⁵³ − p; 0 just where p divides x.

    The computed x/p has two roundings, so it is off by at most 2⁵³/p · 2⁻⁵² = 2/p, and x − q·p is at most p/2 + 2 < p
    for the integer q nearest to it. q·p is an integer below 2⁵³, so this is exact; and only 0 is below p and divisible.
    """
    return x.sub_(torch.mul(x, 1 / p).round_(), alpha=p)


def centred(x: Tensor, p: int) -> Tensor:
    """A copy of integers as centred residues."""
    return centre_(x.to(torch.float64, copy=True), p)


def residues(x: Tensor, p: int) -> Tensor:
    """Centred residues as int64 in [0, p)."""
    integers = x.to(torch.int64)
    return integers.add_((integers >> 63).bitwise_and_(p))


def nonzero(x: Parts) -> Tensor:
    """Where an array is not zero."""
    return x[0] != 0 if len(x) == 1 else (x[0] != 0).logical_or_(x[1] != 0)


def _product(a: Tensor, b: Tensor, p: int) -> Tensor:
    """a @ b modulo p, as integers below 2^52.6, for an inner dimension of at most CHUNK."""
    high = torch.mul(a, 1 / BASE).round_()
    total = torch.matmul(torch.sub(a, high, alpha=BASE), b)
    return total.add_(centre_(torch.matmul(high, b), p), alpha=BASE)


def add_product(c: Parts, a: Parts, b: Parts, p: int, sign: int = 1) -> Parts:
    """c ± a @ b modulo p for ``sign`` = ±1, batched as :func:`torch.matmul`; written into c, which is given back.

    An imaginary part that the product has and c has not is made.
    """
    if len(c) < max(len(a), len(b)):
        c = (c[0], torch.zeros_like(c[0]))
    rows, inner = a[0].shape[-2:]
    step = max(1, _BLOCK[c[0].device.type] * rows // max(1, c[0].numel()))
    for start in range(0, inner, CHUNK):
        right = [x[..., start : start + CHUNK, :] for x in b]
        total = centre_(torch.add(*right), p) if len(a) == len(b) == 2 else None
        for top in range(0, rows, step):
            here = slice(top, top + step)
            left = [x[..., here, start : start + CHUNK] for x in a]
            out = [x[..., here, :] for x in c]
            if total is None:
                for i, x in enumerate(left):
                    for j, y in enumerate(right):
                        centre_(out[i + j].add_(_product(x, y, p), alpha=sign), p)
                continue
            # Karatsuba: a(b + b') − (a + a')b' and a(b + b') + (a' − a)b, three products for four.
            shared = centre_(_product(left[0], total, p), p)
            for x, factor, y in zip(out, (-left[0] - left[1], left[1] - left[0]), reversed(right), strict=True):
                x.add_(shared, alpha=sign).add_(_product(centre_(factor, p), y, p), alpha=sign)
                centre_(x, p)
    return c
