"""Subspaces of ℚⁿ by their reduced echelon basis, which equal subspaces share.

Coordinates are read off the pivots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd

from flint import fmpz_mat

Vector = dict[int, int]
"""A sparse integer vector: position → entry, no entry zero."""


def primitive(vector: Mapping[int, int]) -> Vector:
    """The vector without zeros and without its common factor, its first entry positive."""
    entries = {i: int(v) for i, v in sorted(vector.items()) if v}
    factor = gcd(*entries.values())
    if entries and next(iter(entries.values())) < 0:
        factor = -factor
    return {i: v // factor for i, v in entries.items()}


def dense(vector: Mapping[int, int], length: int) -> list[int]:
    return [vector.get(i, 0) for i in range(length)]


def matrix(vectors: Iterable[Mapping[int, int]], length: int) -> fmpz_mat:
    rows = [dense(v, length) for v in vectors]
    return fmpz_mat(len(rows), length, [entry for row in rows for entry in row])


@dataclass(frozen=True)
class Subspace:
    """A subspace of ℚⁿ.

    Attributes:
        length: n.
        rows: its reduced echelon basis, each row scaled to coprime integers.
    """

    length: int
    rows: tuple[Vector, ...]

    @classmethod
    def spanned_by(cls, vectors: Iterable[Mapping[int, int]], length: int) -> Subspace:
        distinct = {tuple(v.items()): v for v in map(primitive, vectors) if v}
        return cls(length, _echelon(list(distinct.values()), length))

    @classmethod
    def whole(cls, length: int) -> Subspace:
        return cls(length, tuple({i: 1} for i in range(length)))

    @classmethod
    def solving(cls, equations: Iterable[Mapping[int, int]], length: int) -> Subspace:
        """All x with Σ a_i x_i = 0 for every equation a."""
        rows = cls.spanned_by(equations, length).rows
        pivots = [min(row) for row in rows]
        solutions = []
        for free in set(range(length)) - set(pivots):
            involved = [(p, row) for p, row in zip(pivots, rows, strict=True) if free in row]
            scale = 1
            for p, row in involved:
                scale *= row[p] // gcd(scale, row[p])
            solutions.append({free: scale} | {p: -scale * row[free] // row[p] for p, row in involved})
        return cls.spanned_by(solutions, length)

    @property
    def dimension(self) -> int:
        return len(self.rows)

    @cached_property
    def pivots(self) -> dict[int, int]:
        """First position of a row → the row's number."""
        return {min(row): k for k, row in enumerate(self.rows)}

    @property
    def basis(self) -> tuple[tuple[Fraction, ...], ...]:
        """The rows over ℚ, each of length n."""
        return tuple(tuple(map(Fraction, dense(row, self.length))) for row in self.rows)

    def coordinates(self, vector: Mapping[int, int]) -> dict[int, Fraction] | None:
        """The vector's coordinates in ``rows``, or None where it lies outside."""
        found = {k: Fraction(vector[p], self.rows[k][p]) for p in vector if (k := self.pivots.get(p)) is not None}
        rest: dict[int, Fraction] = {i: Fraction(v) for i, v in vector.items()}
        for k, factor in found.items():
            for i, v in self.rows[k].items():
                rest[i] = rest.get(i, Fraction(0)) - factor * v
        return None if any(rest.values()) else found

    def __contains__(self, vector: Mapping[int, int]) -> bool:
        return self.coordinates(vector) is not None

    def __le__(self, other: Subspace) -> bool:
        return all(row in other for row in self.rows)

    def __add__(self, other: Subspace) -> Subspace:
        return Subspace.spanned_by([*self.rows, *other.rows], self.length)

    def __and__(self, other: Subspace) -> Subspace:
        equations = [*_annihilator(self), *_annihilator(other)]
        return Subspace.solving(equations, self.length)

    def combined(self, coefficients: Iterable[Mapping[int, int]]) -> list[Vector]:
        """The vectors with these coordinates in ``rows``."""
        found = []
        for coordinates in coefficients:
            total: dict[int, int] = {}
            for k, factor in coordinates.items():
                for i, v in self.rows[k].items():
                    total[i] = total.get(i, 0) + factor * v
            found.append({i: v for i, v in total.items() if v})
        return found

    def complement_in(self, larger: Subspace) -> Subspace:
        """A subspace C of ``larger`` ⊇ self with larger = self ⊕ C: rows of ``larger`` whose pivots self lacks."""
        return Subspace(self.length, tuple(larger.rows[k] for p, k in larger.pivots.items() if p not in self.pivots))


def _annihilator(space: Subspace) -> tuple[Vector, ...]:
    return Subspace.solving(space.rows, space.length).rows


def _echelon(vectors: list[Vector], length: int) -> tuple[Vector, ...]:
    if not vectors:
        return ()
    reduced, _, rank = matrix(vectors, length).rref()
    entries = reduced.entries()
    return tuple(
        primitive({i: int(v) for i, v in enumerate(entries[row * length : (row + 1) * length]) if v})
        for row in range(rank)
    )
