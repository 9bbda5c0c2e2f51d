"""What one-parameter groups are like: scalings, rotations, or translations, by the eigenvalues of their generators."""

from __future__ import annotations

from typing import Literal

import flint
import numpy as np
import sympy
from scipy.sparse.csgraph import connected_components

from symgauge.discovery.fields import Fields

Kind = Literal["scaling", "rotation", "translation", "mixed"]


def kind(fields: Fields, which: int) -> Kind:
    """Of one field: real eigenvalues, imaginary ones, only zero, or several of these (exact, by Sturm sequences)."""
    matrix = fields.matrices()[which]
    count, label = connected_components(matrix, directed=False)
    found = set()
    for block in {tuple(np.nonzero(label == i)[0].tolist()) for i in range(count)}:
        part = matrix[list(block), :][:, list(block)].toarray()
        if part.any():
            polynomial = flint.fmpz_mat([[int(x) for x in row] for row in part]).charpoly()
            found.add(_of_roots(sympy.Poly([int(c) for c in reversed(list(polynomial))], sympy.Symbol("x"))))
    found.discard("translation")
    return found.pop() if len(found) == 1 else "mixed" if found else "translation"


def _of_roots(polynomial: sympy.Poly) -> Kind:
    x = polynomial.gen
    rest = polynomial.sqf_part()
    rest = rest.quo(sympy.Poly(x, x)) if rest.eval(0) == 0 else rest
    if rest.degree() == 0:
        return "translation"
    if rest.count_roots() == rest.degree():
        return "scaling"
    coefficients = rest.all_coeffs()
    if rest.degree() % 2 == 0 and not any(coefficients[1::2]):
        squares = sympy.Poly(coefficients[::2], x)
        if squares.count_roots(None, 0) == squares.degree():
            return "rotation"
    return "mixed"
