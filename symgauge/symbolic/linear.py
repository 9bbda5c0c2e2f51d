"""Exact linear algebra over ℚ and over cyclotomic fields: kernels and ranks, through SymPy's DomainMatrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sympy as sp
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

from symgauge.errors import InvalidInput


def rational(matrix: sp.MatrixBase) -> DomainMatrix:
    """A SymPy matrix of rationals as a DomainMatrix over ℚ. Raises InvalidInput for any other entry."""
    if not all(entry.is_Rational for entry in matrix):
        odd = next(entry for entry in matrix if not entry.is_Rational)
        raise InvalidInput(f"a matrix of rational numbers was expected, got the entry {odd}.")
    return DomainMatrix.from_Matrix(sp.Matrix(matrix)).convert_to(QQ)


def from_rows(rows: Iterable[Sequence[Any]], columns: int, field: Any = QQ) -> DomainMatrix:
    """Field elements, row by row; zero rows are dropped and no row at all gives a 0×columns matrix."""
    kept = [list(row) for row in rows if any(row)]
    return DomainMatrix(kept, (len(kept), columns), field)


def kernel(matrix: DomainMatrix) -> DomainMatrix:
    """A basis of {v : matrix · v = 0}, one vector per row (nullity × columns)."""
    columns = matrix.shape[1]
    if matrix.shape[0] == 0:
        return DomainMatrix.eye(columns, matrix.domain).to_dense()
    return matrix.to_sparse().nullspace().to_dense()


def rank(matrix: DomainMatrix) -> int:
    """The exact rank; 0 for a matrix without rows or columns."""
    if 0 in matrix.shape:
        return 0
    return len(matrix.to_sparse().rref()[1])
