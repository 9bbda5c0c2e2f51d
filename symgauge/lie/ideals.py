"""A Lie algebra as a direct sum of ideals, as fine over ℚ as can be proved.

First the connected components of the given basis under brackets, then in each the part of the centre outside of
[g, g], then what idempotents of the centroid split. A generic centroid element φ has coprime factors of its minimal
polynomial for all of these, and the kernels of the factors are ideals. With no abelian summand left the centroid
modulo its radical is commutative, so that a piece on which φ generates a field of full dimension is indecomposable (W.
de Graaf, *Lie Algebras: Theory and Algorithms*, 1.15).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from flint import fmpz_mat, fmpz_poly

from symgauge.lie.centroid import centroid
from symgauge.lie.nilradical import trace
from symgauge.lie.subspace import Subspace, Vector

if TYPE_CHECKING:
    from symgauge.lie.algebra import LieAlgebra

_LARGE, _FEW_GENERATORS = 40, 2
"""Beyond this dimension the centroid is asked for only if dim g/[g, g], and with it the search, is this small."""


class Kind(NamedTuple):
    """What is known of a summand; see `Ideal`."""

    indecomposable: bool | None
    field: tuple[int, ...]
    factors: tuple[str, ...]


UNDECIDED = Kind(None, (0, 1), ())


@dataclass(frozen=True)
class Ideal:
    """A summand.

    Attributes:
        space: where it lies in the algebra.
        algebra: itself, on the rows of ``space``.
        indecomposable: True where it is proved that no finer direct sum exists over ℚ, None where that was not decided.
        field: the minimal polynomial of a generator of its centroid modulo the radical, coefficients from t⁰ on: over
            ℝ the ideal is a sum of one ideal for every real root and one for every pair of complex roots. (0, 1) where
            it stays whole over every field.
        factors: names of the simple factors over ℝ; empty where the ideal is not semisimple.
    """

    space: Subspace
    algebra: LieAlgebra
    indecomposable: bool | None
    field: tuple[int, ...]
    factors: tuple[str, ...]

    @property
    def basis(self) -> tuple[tuple[Fraction, ...], ...]:
        """Rows over ℚ in the coordinates of the whole algebra."""
        return self.space.basis

    @property
    def dimension(self) -> int:
        return self.space.dimension

    @cached_property
    def name(self) -> str:
        from symgauge.lie.names import common_name, name_of_indecomposable

        return common_name(self.factors) if self.factors else name_of_indecomposable(self.algebra)


def decompose(algebra: LieAlgebra) -> list[Ideal]:
    """The ideals; their spaces sum up directly to the whole algebra. Lines of the centre come one by one."""
    found = []

    def add(rows: list[Vector], kind: Kind) -> None:
        space = Subspace.spanned_by(rows, algebra.dimension)
        found.append(Ideal(space, algebra.subalgebra(space), *kind))

    for component in _components(algebra):
        part = algebra.subalgebra(component)
        lines, rest = _without_abelian_summand(part)
        for line in lines:
            add(component.combined([line]), Kind(True, (0, 1), ()))
        if rest.dimension:
            for piece, kind in _split(part.subalgebra(rest)):
                add(component.combined(rest.combined(piece.rows)), kind)
    return found


def _components(algebra: LieAlgebra) -> list[Subspace]:
    """Spans of basis vectors that brackets connect: e_i ~ e_j ~ e_k where e_k occurs in [e_i, e_j]."""
    parent = list(range(algebra.dimension))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    for (i, j), bracket in algebra.constants.items():
        for k in (j, *bracket):
            parent[root(k)] = root(i)
    classes: dict[int, list[Vector]] = {}
    for i in range(algebra.dimension):
        classes.setdefault(root(i), []).append({i: 1})
    return [Subspace(algebra.dimension, tuple(rows)) for rows in classes.values()]


def _without_abelian_summand(algebra: LieAlgebra) -> tuple[tuple[Vector, ...], Subspace]:
    """Lines of the centre that [g, g] does not contain, and an ideal that contains [g, g] and complements them."""
    centre, derived = algebra.centre(), algebra.derived()
    lines = (centre & derived).complement_in(centre)
    outside = (derived + lines).complement_in(algebra.whole())
    return lines.rows, derived + outside


def _split(algebra: LieAlgebra) -> list[tuple[Subspace, Kind]]:
    """An algebra without abelian summand, split by its centroid as far as it goes."""
    whole = algebra.whole()
    if algebra.dimension > _LARGE and algebra.dimension - algebra.derived().dimension > _FEW_GENERATORS:
        return [(whole, UNDECIDED)]
    maps = centroid(algebra)
    draw = random.Random(0)
    phi = _combination(maps, [draw.randint(-9999, 9999) for _ in maps])
    _, factors = phi.minpoly().factor()
    if len(factors) == 1:
        return [(whole, _kind(algebra, maps))]
    found = []
    for factor, power in factors:
        kernel = _kernel(_evaluated(factor**power, phi))
        pieces = _split(algebra.subalgebra(kernel))
        found += [(Subspace.spanned_by(kernel.combined(p.rows), algebra.dimension), kind) for p, kind in pieces]
    return found


def _kind(algebra: LieAlgebra, maps: list[fmpz_mat]) -> Kind:
    """What an algebra is that its centroid does not split."""
    from symgauge.lie.real_factors import real_factors

    generator = _generator(maps)
    if generator is None:
        return UNDECIDED
    phi, field = generator
    coefficients = tuple(int(c) for c in field.coeffs()) if field.degree() > 1 else (0, 1)
    return Kind(True, coefficients, tuple(real_factors(algebra, phi, field)) if algebra.is_semisimple else ())


def _generator(maps: list[fmpz_mat]) -> tuple[fmpz_mat, fmpz_poly] | None:
    """φ that generates the centroid modulo its radical as a field, with its irreducible polynomial f; None where none
    was found.

    The minimal polynomial of φ is a power of f. The trace form of an algebra of matrices has the radical as its
    kernel, so that its rank is the degree that f must have.
    """
    degree = fmpz_mat([[trace(a * b) for b in maps] for a in maps]).rank()
    draw = random.Random(1)
    simple = [[int(i == k) for i in range(len(maps))] for k in range(len(maps))]
    for coefficients in [*simple, *([draw.randint(-9, 9) for _ in maps] for _ in range(9))]:
        phi = _combination(maps, coefficients)
        _, factors = phi.minpoly().factor()
        if len(factors) == 1 and factors[0][0].degree() == degree:
            return phi, factors[0][0]
    return None


def _combination(maps: list[fmpz_mat], coefficients: list[int]) -> fmpz_mat:
    size = maps[0].nrows()
    return sum((c * m for c, m in zip(coefficients, maps, strict=True)), fmpz_mat(size, size))


def _evaluated(polynomial: fmpz_poly, phi: fmpz_mat) -> fmpz_mat:
    size = phi.nrows()
    identity = fmpz_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])
    value = fmpz_mat(size, size)
    for c in reversed(polynomial.coeffs()):
        value = value * phi + c * identity
    return value


def _kernel(matrix: fmpz_mat) -> Subspace:
    size, entries = matrix.ncols(), matrix.entries()
    rows = (entries[i * size : (i + 1) * size] for i in range(matrix.nrows()))
    return Subspace.solving(({i: int(v) for i, v in enumerate(row) if v} for row in rows), size)
