"""Exact products modulo p < 2³¹ by float64 matrix products, on centred residues: float64 integers around zero.

One factor is written a₁·BASE + a₀ and each digit is multiplied by itself. All numbers are integers below 2⁵³, so that
nothing is ever rounded but the quotient in :func:`centre_`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

BASE = 46342
"""About 2^15.5, so that both digits of a centred residue are at most 23,171: 2³⁰/BASE and BASE/2."""
CHUNK = 256
"""Longest inner dimension of one product: 256 · 23,171 · 2³⁰ < 2^52.51. The other digit adds 2³⁰ · BASE < 2⁴⁶."""
_UNCENTRED = CHUNK // 4
"""The same for residues in [0, p), where either factor may be twice as large."""
_BLOCK = {"cpu": 1 << 18, "cuda": 1 << 25}
"""Entries of a product that are worked on at a time; on CPU they stay in the cache from one step to the next."""
_NARROW = 16
"""Columns from which three products of complex matrices are cheaper than four."""
_FEW = 1 << 12
"""Multiplications up to which they are done one by one, in int64."""

Parts = tuple[Tensor, ...]
"""An array over GF(p²): (re,), or (re, im)."""


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
    # The smaller factor is the cheaper one to split.
    if a.numel() <= b.numel():
        high = torch.mul(a, 1 / BASE).round_()
        low, high = torch.matmul(torch.sub(a, high, alpha=BASE), b), torch.matmul(high, b)
    else:
        high = torch.mul(b, 1 / BASE).round_()
        low, high = torch.matmul(a, torch.sub(b, high, alpha=BASE)), torch.matmul(a, high)
    return low.add_(centre_(high, p), alpha=BASE)


def add_product(c: Parts, a: Parts, b: Parts, p: int, sign: int = 1) -> Parts:
    """c ± a @ b for ``sign`` = ±1, in centred residues; written into c, which is given back.

    Batched as :func:`torch.matmul`. An imaginary part that the product has and c has not is made.
    """
    if len(c) < max(len(a), len(b)):
        c = (c[0], torch.zeros_like(c[0]))
    rows, inner = a[0].shape[-2:]
    # Sums of parts cost more than the fourth product where it is narrow.
    karatsuba = len(a) == len(b) == 2 and c[0].shape[-1] >= _NARROW
    step = max(1, _BLOCK[c[0].device.type] * rows // max(1, c[0].numel()))
    for start in range(0, inner, CHUNK):
        right = [x[..., start : start + CHUNK, :] for x in b]
        total = centre_(torch.add(*right), p) if karatsuba else None
        for top in range(0, rows, step):
            here = slice(top, top + step)
            left = [x[..., here, start : start + CHUNK] for x in a]
            out = [x[..., here, :] for x in c]
            if total is None:
                for i, x in enumerate(left):
                    for j, y in enumerate(right):
                        centre_(out[(i + j) % 2].add_(_product(x, y, p), alpha=-sign if i + j == 2 else sign), p)
                continue
            # Karatsuba: a(b + b') − (a + a')b' and a(b + b') + (a' − a)b, three products for four.
            shared = centre_(_product(left[0], total, p), p)
            for x, factor, y in zip(out, (-left[0] - left[1], left[1] - left[0]), reversed(right), strict=True):
                x.add_(shared, alpha=sign).add_(_product(centre_(factor, p), y, p), alpha=sign)
                centre_(x, p)
    return c


def matmul(a: Parts, b: Parts, p: int) -> Parts:
    """a @ b of int64 residues in [0, p), as such, batched as :func:`torch.matmul`; both at least two-dimensional."""
    (rows, inner), columns = a[0].shape[-2:], b[0].shape[-1]
    if max(a[0].numel() * columns, b[0].numel() * rows) <= _FEW:
        return _matmul_of_few(a, b, p)
    if b[0].dim() == 2 and a[0].dim() > 2:
        flat = matmul(tuple(x.reshape(-1, inner) for x in a), b, p)
        return tuple(x.reshape(*a[0].shape[:-1], columns) for x in flat)

    def floats(x: Tensor) -> Tensor:
        return x.double() if inner <= _UNCENTRED else centred(x, p)

    shape = (*torch.broadcast_shapes(a[0].shape[:-2], b[0].shape[:-2]), rows, columns)
    step = max(1, _BLOCK[a[0].device.type] * rows // max(1, a[0].numel(), math.prod(shape)))
    right, found = tuple(map(floats, b)), []
    for top in range(0, rows, step):
        left = tuple(floats(x[..., top : top + step, :]) for x in a)
        if len(left) == len(right) == 1 and inner <= CHUNK:
            found.append([residues(centre_(_product(left[0], right[0], p), p), p)])
            continue
        zero = torch.zeros((*shape[:-2], left[0].shape[-2], columns), dtype=torch.float64, device=a[0].device)
        found.append([residues(x, p) for x in add_product((zero,), left, right, p)])
    return tuple(blocks[0] if len(blocks) == 1 else torch.cat(blocks, -2) for blocks in zip(*found, strict=True))


def _matmul_of_few(a: Parts, b: Parts, p: int) -> Parts:
    def sums(x: Tensor, y: Tensor) -> Tensor:
        return torch.fmod(x[..., None] * y[..., None, :, :], p).sum(-2)

    if len(a) == len(b) == 2:
        re, im = sums(a[0], b[0]) - sums(a[1], b[1]), sums(a[0], b[1]) + sums(a[1], b[0])
        return torch.remainder(re, p), im.fmod_(p)
    return tuple(sums(x, y).fmod_(p) for x in a for y in b)
