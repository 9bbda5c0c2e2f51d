"""Brackets of affine fields: closed under them, and the structure constants of the algebra, exact over ℚ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import flint
import numpy as np
from scipy import sparse

from symgauge.discovery.fields import Fields, fields_from
from symgauge.discovery.rational import integer_matrix, pivots
from symgauge.discovery.translations import Modulo
from symgauge.errors import Undecided

Constants = dict[tuple[int, int], dict[int, Fraction]]
"""(i, j) with i < j → {k: c}: the bracket of two basis elements is Σ c·(element k); what is zero is left out."""

_ROUNDS = 4
"""Times that brackets outside the span are taken in; each is a symmetry too."""
_LARGE = 1 << 20
"""Coefficients beyond this are not multiplied in int64."""


def closed(fields: Fields, modulo: Modulo) -> tuple[Fields, Constants]:
    """The algebra that the fields generate, a basis of it, and its structure constants.

    The fields are reduced modulo translations, and brackets of such fields are.

    Raises:
        Undecided: it is larger than the fields by so much that its dimension cannot be told, or not finite.
    """
    for _ in range(_ROUNDS):
        matrices = fields.matrices()
        solver = _Coordinates(fields)
        constants: Constants = {}
        outside: list[sparse.csr_array] = []
        for (i, j), bracket in _brackets(fields, matrices):
            found = solver.of(bracket)
            if found is None:
                outside.append(bracket)
            else:
                constants[i, j] = found
        if not outside:
            return fields, constants
        more, _ = modulo.reduced(fields_from(outside, fields.size))
        fields = independent([*matrices, *more.matrices()], fields.size)
    raise Undecided(f"brackets of the fields found still lead out of their span at dimension {fields.count}")


def _brackets(fields: Fields, matrices: list[sparse.csr_array]) -> Iterator[tuple[tuple[int, int], sparse.csr_array]]:
    """(i, j) and the matrix of [X_i, X_j] = (DX_j)X_i − (DX_i)X_j, where it is not zero."""
    if fields.values.size and np.abs(fields.values).max() > _LARGE:
        raise Undecided("a symmetry's coefficients are too large for exact brackets")
    reads = [set(m.indices.tolist()) for m in matrices]
    writes = [set(np.nonzero(np.diff(m.indptr))[0].tolist()) for m in matrices]
    for i in range(len(matrices)):
        for j in range(i + 1, len(matrices)):
            if reads[j] & writes[i] or reads[i] & writes[j]:
                bracket = sparse.csr_array(matrices[j] @ matrices[i] - matrices[i] @ matrices[j])
                bracket.eliminate_zeros()
                if bracket.nnz:
                    yield (i, j), bracket


class _Coordinates:
    """Coordinates in the span of independent fields, read off at as many entries as there are fields."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.index = {(int(r) + 1, int(c)): e for e, (r, c) in enumerate(zip(fields.rows, fields.columns, strict=True))}
        self.pivots = pivots(fields.values) if fields.count else []
        if self.pivots:
            self.inverse = flint.fmpq_mat(integer_matrix(fields.values[:, self.pivots])).inv()

    def of(self, matrix: sparse.csr_array) -> dict[int, Fraction] | None:
        """Coordinates of a field, by its number in the basis; None if it lies outside."""
        coo = matrix.tocoo()
        values: dict[int, int] = {}
        for r, c, v in zip(*coo.coords, coo.data, strict=True):
            entry = self.index.get((int(r), int(c)))
            if entry is None:
                return None
            values[entry] = int(v)
        there = flint.fmpq_mat(1, len(self.pivots), [values.get(e, 0) for e in self.pivots])
        coordinates = (there * self.inverse).table()[0]
        found = {k: Fraction(int(c.p), int(c.q)) for k, c in enumerate(coordinates) if c != 0}
        rest = dict(values)
        for k, c in found.items():
            for e in np.nonzero(self.fields.values[k])[0].tolist():
                rest[e] = rest.get(e, 0) - c * int(self.fields.values[k, e])  # type: ignore[assignment]
        return found if not any(rest.values()) else None


def rescaled(constants: Constants, factors: Sequence[Fraction]) -> Constants:
    """Structure constants for the basis of which basis element k here is ``factors[k]`` times element k."""
    return {
        (i, j): {k: c * factors[k] / (factors[i] * factors[j]) for k, c in bracket.items()}
        for (i, j), bracket in constants.items()
    }


def independent(matrices: Sequence[sparse.csr_array], size: int) -> Fields:
    """Of fields with these maps of (1, θ), in their order, those that are independent of the ones before."""
    fields = fields_from(matrices, size)
    return fields.chosen(pivots(fields.values.T)) if fields.values.size else fields
