"""LayerNorm and RMSNorm on explicit rows, exactly, and the linear maps they commute with (rows: x ↦ xM).

LN(xM) = LN(x)M for all x (gain 1, offset 0, ε = 0) exactly when M is orthogonal on 1^⊥, maps 1^⊥ to itself, and
1M = a·1 for some number a.
"""

from __future__ import annotations

import sympy as sp

from symgauge.errors import InvalidInput


def layer_norm(row: sp.Matrix) -> sp.Matrix:
    """(x − mean) / standard deviation of a row (1×d); gain 1, offset 0, ε = 0, variance with 1/d."""
    centred = row - sp.ones(*row.shape) * (sum(row) / row.cols)
    variance = centred.dot(centred) / row.cols
    if sp.simplify(variance) == 0:
        raise InvalidInput("layer_norm: the row is constant, so its standard deviation is 0; give a row that varies.")
    return centred / sp.sqrt(variance)


def rms_norm(row: sp.Matrix) -> sp.Matrix:
    """x / root mean square of a row (1×d); gain 1, ε = 0."""
    return row / sp.sqrt(row.dot(row) / row.cols)


def commutes_with_layer_norm(m: sp.Matrix) -> bool:
    """Whether LN(xM) = LN(x)M for all x with xM not constant: decided exactly by the characterisation above."""
    size = m.rows
    centre = sp.eye(size) - sp.ones(size) / size
    ones = sp.ones(1, size)
    image = ones * m
    keeps_complement = centre * m * ones.T == sp.zeros(size, 1)
    isometric = centre * m * m.T * centre == centre
    return keeps_complement and isometric and all(entry == image[0] for entry in image)


def commutator_at(m: sp.Matrix, row: sp.Matrix) -> sp.Matrix:
    """LN(xM) − LN(x)M at one row, simplified exactly."""
    return (layer_norm(row * m) - layer_norm(row) * m).applyfunc(sp.simplify)


def commuting_examples() -> dict[str, sp.Matrix]:
    """Maps other than the identity that LayerNorm commutes with."""
    third = sp.Rational(1, 3)
    return {
        "−I": -sp.eye(3),
        "a swap of two coordinates": sp.Matrix([[0, 1, 0], [1, 0, 0], [0, 0, 1]]),
        "a rotation about 1": third * sp.Matrix([[2, 2, -1], [-1, 2, 2], [2, -1, 2]]),
        "a rotation about 1, 1 doubled": third * sp.Matrix([[2, 2, -1], [-1, 2, 2], [2, -1, 2]]) + third * sp.ones(3),
    }
