"""Linear algebra over ℚ on integer arrays, by python-flint."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np


def integer_matrix(values: np.ndarray) -> flint.fmpz_mat:
    """An array (rows, columns) of integers."""
    rows, columns = values.shape
    return flint.fmpz_mat(rows, columns, [int(x) for x in values.reshape(-1)])


def reduced_rows(values: np.ndarray) -> list[list[Fraction]]:
    """The reduced row echelon form without its zero rows."""
    reduced, denominator, rank = integer_matrix(values).rref()
    return [[Fraction(int(x), int(denominator)) for x in row] for row in reduced.table()[:rank]]


def pivots(values: np.ndarray) -> list[int]:
    """The first columns that are independent of those before them."""
    reduced, _, rank = integer_matrix(values).rref()
    return [next(e for e, x in enumerate(row) if x) for row in reduced.table()[:rank]]
