"""The Lie algebra spanned by given matrices under the commutator."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import fmpq, fmpq_mat

from symgauge.checks import shown
from symgauge.errors import InvalidInput
from symgauge.lie.algebra import LieAlgebra
from symgauge.lie.subspace import Subspace, Vector

Matrix = Sequence[Sequence[int]]


def from_matrices(matrices: Sequence[Matrix]) -> LieAlgebra:
    """The algebra with these integer matrices, all m × m, as its basis.

    Raises:
        InvalidInput: the matrices are not square and of one size, an entry is no integer, they are linearly dependent,
            or a commutator lies outside of their span.

    Example:
        >>> from symgauge.lie import from_matrices
        >>> from_matrices([[[0, 1], [0, 0]], [[1, 0], [0, -1]], [[0, 0], [1, 0]]]).name
        'sl(2, ℝ)'
    """
    size = len(matrices[0]) if matrices else 0
    if any(len(m) != size or any(len(row) != size for row in m) for m in matrices):
        raise InvalidInput(f"from_matrices: expected square matrices of one size, {size} × {size} like the first.")
    wrong = [v for m in matrices for row in m for v in row if not hasattr(v, "__index__")]
    if wrong:
        raise InvalidInput(f"from_matrices: entries are integers, not {shown(wrong[0])}.")
    flat = [{(i, j): int(v) for i, row in enumerate(m) for j, v in enumerate(row) if v} for m in matrices]
    vectors = [{i * size + j: v for (i, j), v in m.items()} for m in flat]
    span, count = Subspace.spanned_by(vectors, size * size), len(matrices)
    if span.dimension < count:
        raise InvalidInput(
            f"from_matrices: only {span.dimension} of the {count} matrices are linearly independent; pass a basis."
        )
    given = _inverse([span.coordinates(v) or {} for v in vectors])

    constants = {}
    for j, b in enumerate(flat):
        for i, a in enumerate(flat[:j]):
            coordinates = span.coordinates(_commutator(a, b, size))
            if coordinates is None:
                raise InvalidInput(f"from_matrices: the commutator of matrices {i} and {j} lies outside of their span.")
            bracket: dict[int, Fraction] = {}
            for k, factor in coordinates.items():
                for l, v in given[k].items():
                    bracket[l] = bracket.get(l, Fraction(0)) + factor * v
            constants[i, j] = bracket
    return LieAlgebra._known_to_be_one(constants, count)


def _commutator(a: dict[tuple[int, int], int], b: dict[tuple[int, int], int], size: int) -> Vector:
    total: dict[int, int] = {}
    for (i, j), x in a.items():
        for (k, l), y in b.items():
            if j == k:
                total[i * size + l] = total.get(i * size + l, 0) + x * y
            if l == i:
                total[k * size + j] = total.get(k * size + j, 0) - x * y
    return {place: v for place, v in total.items() if v}


def _inverse(rows: list[dict[int, Fraction]]) -> list[dict[int, Fraction]]:
    """Of a square matrix by sparse rows."""
    n = len(rows)
    entries = [row.get(k, Fraction(0)) for row in rows for k in range(n)]
    inverse = fmpq_mat(n, n, [fmpq(v.numerator, v.denominator) for v in entries]).inv().entries() if n else []
    found = ({k: v for k, v in enumerate(inverse[i * n : i * n + n]) if v} for i in range(n))
    return [{k: Fraction(int(v.p), int(v.q)) for k, v in row.items()} for row in found]
