"""Affine vector fields on parameter space with rational coefficients: X(θ) = A·(1, θ), A sparse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from symgauge.errors import Undecided

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Fields:
    """``count`` fields on a space of ``size`` parameters, each with integer coefficients without a common factor.

    ``rows``, ``columns`` (E,): where coefficients stand: ``rows`` the parameter that moves, ``columns`` what moves it
    (0: the constant 1, i + 1: parameter i). ``values`` (count, E): the coefficients.
    """

    size: int
    rows: Integers
    columns: Integers
    values: Integers

    @property
    def count(self) -> int:
        return len(self.values)

    def at(self, theta: Tensor, p: int) -> Tensor:
        """The fields at a point (P,), given and returned modulo p: (count, P)."""
        point = np.concatenate([np.ones(1, dtype=np.int64), theta.cpu().numpy()])
        result = np.zeros((self.count, self.size), dtype=np.int64)
        for i, values in enumerate(self.values):
            live = np.nonzero(values)[0]
            moved = values[live] % p * point[self.columns[live]] % p
            np.add.at(result[i], self.rows[live], moved)
        return torch.from_numpy(result % p)

    def matrices(self) -> list[sparse.csr_array]:
        """Each field's linear map of (1, θ) with exact integers: (P + 1, P + 1), the first row zero."""
        n = self.size + 1
        found = []
        for values in self.values:
            live = np.nonzero(values)[0]
            place = (self.rows[live] + 1, self.columns[live])
            found.append(sparse.csr_array((values[live], place), shape=(n, n), dtype=np.int64))
        return found

    def combined(self, coefficients: Sequence[Sequence[Fraction]]) -> Fields:
        """Rational combinations (m, count) of the fields, each cleared of denominators and common factors."""
        rows = [primitive(_combination(row, self.values)) for row in coefficients]
        values = np.array(rows, dtype=np.int64).reshape(len(rows), len(self.rows))
        return Fields(self.size, self.rows, self.columns, values)

    def chosen(self, which: Sequence[int]) -> Fields:
        """Some of the fields."""
        return Fields(self.size, self.rows, self.columns, self.values[list(which)])

    def lifted_by(self, size: int, places: Tensor) -> Fields:
        """The same fields on a larger space of ``size`` parameters, of which these hold ``places`` (P,)."""
        where = places.numpy()
        columns = np.where(self.columns == 0, 0, where[np.maximum(self.columns - 1, 0)] + 1)
        return Fields(size, where[self.rows], columns, self.values)

    def moved(self, start: int, count: int) -> Integers:
        """For each field, whether it moves the parameters start … start + count."""
        inside = (self.rows >= start) & (self.rows < start + count)
        return np.asarray((self.values[:, inside] != 0).any(1))


def together(*each: Fields) -> list[Fields]:
    """The same fields with their coefficients at the same places."""
    whole = fields_from([m for fields in each for m in fields.matrices()], each[0].size)
    ends = np.cumsum([fields.count for fields in each])
    return [whole.chosen(range(end - fields.count, end)) for fields, end in zip(each, ends, strict=True)]


def fields_from(matrices: Sequence[sparse.csr_array], size: int) -> Fields:
    """Fields with these maps of (1, θ), as :meth:`Fields.matrices` gives them."""
    places = sorted({(int(r), int(c)) for m in matrices for r, c in zip(*m.nonzero(), strict=True)})
    index = {place: i for i, place in enumerate(places)}
    values = np.zeros((len(matrices), len(places)), dtype=np.int64)
    for i, m in enumerate(matrices):
        coo = m.tocoo()
        for r, c, v in zip(*coo.coords, coo.data, strict=True):
            values[i, index[int(r), int(c)]] = v
    rows = np.array([r - 1 for r, _ in places], dtype=np.int64)
    return Fields(size, rows, np.array([c for _, c in places], dtype=np.int64), values)


def _combination(coefficients: Sequence[Fraction], values: Integers) -> list[Fraction]:
    total = [Fraction(0)] * values.shape[1]
    for c, row in zip(coefficients, values, strict=True):
        if c:
            for e in np.nonzero(row)[0]:
                total[e] += c * int(row[e])
    return total


def primitive(values: Sequence[Fraction]) -> list[int]:
    """The multiple with coprime integers.

    Raises:
        Undecided: they are too large to be told from a failed reconstruction.
    """
    common = math.lcm(*(v.denominator for v in values)) if values else 1
    whole = [int(v * common) for v in values]
    factor = math.gcd(*whole) or 1
    if max(map(abs, whole), default=0) // factor >= 1 << 31:
        raise Undecided("a symmetry has coefficients beyond 2³¹, which one prime cannot tell from a failed lift")
    return [v // factor for v in whole]
