"""The signature of a symmetric rational matrix, by Descartes' rule, which counts exactly where all roots are real."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from flint import fmpz_mat


class Signature(NamedTuple):
    """Numbers of positive, negative and zero squares of a quadratic form over ℝ."""

    positive: int
    negative: int
    zero: int

    @property
    def character(self) -> int:
        """Positive minus negative."""
        return self.positive - self.negative


def signature(form: fmpz_mat) -> Signature:
    """Of a symmetric integer matrix: the signs of its eigenvalues, read off its characteristic polynomial.

    Example:
        >>> from flint import fmpz_mat
        >>> signature(fmpz_mat([[0, 1, 0], [1, 0, 0], [0, 0, 0]]))
        Signature(positive=1, negative=1, zero=1)
    """
    size = form.nrows()
    if not size:
        return Signature(0, 0, 0)
    coefficients = [int(c) for c in form.charpoly().coeffs()]
    present = [c for c in coefficients if c]
    positive = sum((a < 0) != (b < 0) for a, b in pairwise(present))
    zero = next(i for i, c in enumerate(coefficients) if c)
    return Signature(positive, size - positive - zero, zero)
