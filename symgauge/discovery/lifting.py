"""From solutions modulo a prime to fields over ℚ: reduced echelon form, then rational reconstruction of its entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import flint
import numpy as np
import torch
from torch import Tensor

from symgauge.discovery.ansatz import Block, Term
from symgauge.discovery.fields import Fields, Integers, primitive
from symgauge.discovery.points import Points
from symgauge.discovery.solving import solve
from symgauge.discovery.translations import Modulo

_SIMPLE = 1 << 12
"""Largest numerator and denominator of a coefficient."""


def lifted(terms: Sequence[Term], solutions: Tensor, size: int, p: int, modulo: Modulo) -> tuple[Fields, Fields]:
    """Fields over ℚ, on ``size`` parameters, that reduce to solutions (s, K) modulo p: classes, and what is trivial.

    The first are independent modulo fields along translations, which the second span. Coefficients that give the zero
    field (a scaling of one mode against another) drop out. Both are reduced echelon forms in the coefficients of the
    terms: over ℚ they reduce to those modulo p, unless p divides a denominator, and they keep to few terms.

    Fields with a coefficient that is no fraction of small numbers are left out. A random residue is one with a chance
    of one per cent.
    """
    rows, columns, values = _coefficients(terms, solutions, size, p)
    if not values.size:
        nothing = Fields(size, rows, columns, values[:0])
        return nothing, nothing
    _, _, changes = modulo.places(rows, columns)
    reduced = np.zeros((len(values), 1 + max((after for _, after, _ in changes), default=0)), dtype=np.int64)
    for before, after, factor in changes:
        reduced[:, after] += values[:, before] * (factor.numerator * pow(factor.denominator, -1, p) % p) % p
    # Trivial solutions, by their last coefficients first: what belongs to one mode is not written by others.
    kernel, nullity = _nmod(np.unique(reduced % p, axis=1).T, p).nullspace()
    left = flint.nmod_mat(nullity, len(values), [kernel[i, j] for j in range(nullity) for i in range(len(values))], p)
    coefficients = solutions.numpy()[:, ::-1]
    trivial = _echelon(_table(left * _nmod(coefficients, p)), p)
    pivots = [int(np.nonzero(row)[0][0]) for row in trivial]
    rest = coefficients.copy()
    if pivots:
        rest = (rest - _table(_nmod(rest[:, pivots], p) * _nmod(trivial, p))) % p
    classes = _echelon(rest[:, ::-1], p)
    return tuple(  # type: ignore[return-value]
        _exact(*_coefficients(terms, torch.from_numpy(found.copy()), size, p), size, p)
        for found in (classes, trivial[:, ::-1])
    )


def translations(
    blocks: Sequence[Block], points: Points, prime: int, progress: Callable[[str, int, int], None] | None = None
) -> Fields:
    """A basis of all constant symmetries."""
    terms, size = [Term(block, None) for block in blocks], points.fibre.parameters
    nothing = Fields(size, *(np.zeros(0, dtype=np.int64),) * 2, np.zeros((0, 0), dtype=np.int64))
    return lifted(terms, solve(terms, points, prime, progress).basis, size, prime, Modulo(nothing))[0]


def _exact(rows: Integers, columns: Integers, values: Integers, size: int, p: int) -> Fields:
    """Independent fields from their coefficients modulo p."""
    distinct, inverse = np.unique(values, axis=1, return_inverse=True) if values.size else (values, np.zeros(0, int))
    keep = _pivot_rows(distinct, p)
    fractions = {int(r): fraction(int(r), p) for r in np.unique(distinct[keep])}
    exact = []
    for row in distinct[keep]:
        lifts = [x for v in row if (x := fractions[int(v)]) is not None]
        if len(lifts) == len(row):  # others hold constants of the module, such as a weight that is held
            exact.append(primitive(lifts))
    whole = np.array(exact, dtype=np.int64).reshape(len(exact), distinct.shape[1])
    return Fields(size, rows, columns, whole[:, inverse])


def _pivot_rows(values: Integers, p: int) -> list[int]:
    """Rows that are independent of those before them."""
    if not values.size:
        return []
    form, rank = _nmod(values.T, p).rref()
    return [next(i for i, x in enumerate(row) if int(x)) for row in form.table()[:rank]]


def _nmod(values: Integers, p: int) -> flint.nmod_mat:
    rows, columns = values.shape
    return flint.nmod_mat(rows, columns, [int(x) for x in values.reshape(-1)], p)


def _table(matrix: flint.nmod_mat) -> Integers:
    shape = (matrix.nrows(), matrix.ncols())
    return np.array([int(x) for x in matrix.entries()], dtype=np.int64).reshape(shape)


def _coefficients(terms: Sequence[Term], solutions: Tensor, size: int, p: int) -> tuple[Integers, Integers, Integers]:
    """The fields' matrices modulo p, where any is not zero: rows of θ, columns, values (s, E)."""
    start, keys, parts = 0, [], []
    for term in terms:
        block = solutions[:, start : start + term.size]
        start += term.size
        live = block.any(0)
        if bool(live.any()):
            unknown, target, source = term.entries()
            keep = live[unknown]
            keys.append(target[keep] * (size + 1) + source[keep])
            parts.append(block[:, unknown[keep]])
    if not keys:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, np.zeros((len(solutions), 0), dtype=np.int64)
    places, inverse = torch.cat(keys).unique(return_inverse=True)
    values = torch.zeros((len(solutions), len(places)), dtype=torch.int64)
    values.index_add_(1, inverse, torch.cat(parts, 1))
    values %= p
    live = values.any(0)
    places, values = places[live], values[:, live]
    return (places // (size + 1)).numpy(), (places % (size + 1)).numpy(), values.numpy()


def _echelon(values: Integers, p: int) -> Integers:
    """The reduced row echelon form modulo p without its zero rows."""
    live = np.nonzero(values.any(0))[0] if values.size else np.zeros(0, dtype=np.int64)
    form, rank = _nmod(values[:, live], p).rref() if live.size else (None, 0)
    result = np.zeros((rank, values.shape[1]), dtype=np.int64)
    if form is not None:
        result[:, live] = _table(form)[:rank]
    return result


def fraction(residue: int, p: int) -> Fraction | None:
    """The fraction a/b with small a and b that is this residue; None if there is none."""
    (r0, t0), (r1, t1) = (p, 0), (residue, 1)
    while r1 > _SIMPLE:
        q = r0 // r1
        r0, t0, r1, t1 = r1, t1, r0 - q * r1, t0 - q * t1
    return Fraction(r1, t1) if 0 < abs(t1) <= _SIMPLE else None
