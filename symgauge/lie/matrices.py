"""The Lie algebra spanned by given matrices under the commutator."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import fmpq_mat, fmpz_mat

from symgauge.errors import InvalidInput
from symgauge.lie.algebra import LieAlgebra

Matrix = Sequence[Sequence[int]]


def from_matrices(matrices: Sequence[Matrix]) -> LieAlgebra:
    """The algebra with these integer matrices, all m × m, as its basis.

    Raises:
        InvalidInput: the matrices are not square and of one size, are linearly dependent, or a commutator lies outside
            of their span.

    Example:
        >>> from symgauge.lie import from_matrices
        >>> from_matrices([[[0, 1], [0, 0]], [[1, 0], [0, -1]], [[0, 0], [1, 0]]]).name
        'sl(2, ℝ)'
    """
    size = len(matrices[0]) if matrices else 0
    if any(len(m) != size or any(len(row) != size for row in m) for m in matrices):
        raise InvalidInput(f"from_matrices: expected square matrices of one size, {size} × {size} like the first.")
    basis = [fmpz_mat(size, size, [int(v) for row in m for v in row]) for m in matrices]
    count = len(basis)
    if not count:
        return LieAlgebra({}, 0)
    flat = fmpz_mat(count, size * size, [v for m in basis for v in m.entries()])
    echelon, _, rank = flat.rref()
    if rank < count:
        raise InvalidInput(f"from_matrices: the {count} matrices span only {rank} dimensions; pass a basis.")
    # Coordinates of a matrix in the span follow from its entries at the pivots.
    entries = echelon.entries()
    pivots = [next(p for p in range(size * size) if entries[r * size * size + p]) for r in range(rank)]
    at_pivots = fmpq_mat(count, count, [flat[r, p] for r in range(count) for p in pivots]).inv()

    constants = {}
    for j, b in enumerate(basis):
        for i, a in enumerate(basis[:j]):
            commutator = (a * b - b * a).entries()
            if not any(commutator):
                continue
            coordinates = fmpq_mat(1, count, [commutator[p] for p in pivots]) * at_pivots
            if (coordinates * fmpq_mat(flat)).entries() != commutator:
                raise InvalidInput(f"from_matrices: the commutator of matrices {i} and {j} lies outside of their span.")
            constants[i, j] = {k: Fraction(int(c.p), int(c.q)) for k, c in enumerate(coordinates.entries()) if c}
    return LieAlgebra._known_to_be_one(constants, count)
