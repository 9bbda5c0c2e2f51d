"""Random explicit matrices, exact and general, that satisfy given facts: what a proof is cross-checked on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

import sympy as sp
from sympy.matrices.expressions.matexpr import MatrixExpr

from symgauge.errors import InvalidInput
from symgauge.symbolic.words import Facts


def small_rational(rng: Random) -> sp.Rational:
    """A non-zero rational of size at most 3."""
    return sp.Rational(rng.choice([-1, 1]) * rng.randint(1, 6), rng.choice([2, 3, 5]))


def general_matrix(rows: int, columns: int, rng: Random) -> sp.Matrix:
    """A rational matrix of full rank, square ones non-symmetric (size ≥ 2) and of negative determinant."""
    while True:
        matrix = sp.Matrix(rows, columns, lambda i, j: small_rational(rng))
        if matrix.rank() < min(rows, columns):
            continue
        if rows != columns or (matrix.det() < 0 and (rows == 1 or matrix != matrix.T)):
            return matrix


def rotation_fixing_ones(size: int, rng: Random) -> sp.Matrix:
    """Product of two reflections in rational vectors orthogonal to 1: it is orthogonal and keeps 1 (size ≥ 3)."""
    product = sp.eye(size)
    for _ in range(2):
        vector = sp.Matrix([small_rational(rng) for _ in range(size - 1)])
        vector = vector.col_join(sp.Matrix([-sum(vector)]))
        product = product * reflection(vector)
    return product


def reflection(vector: sp.Matrix) -> sp.Matrix:
    """I − 2 v vᵀ / vᵀv for a non-zero column v."""
    return sp.eye(vector.rows) - 2 * vector * vector.T / vector.dot(vector)


def orthogonal(size: int, rng: Random) -> sp.Matrix:
    """Product of three reflections in general rational vectors: determinant −1."""
    product = sp.eye(size)
    for _ in range(3):
        product = product * reflection(sp.Matrix([small_rational(rng) for _ in range(size)]))
    return product


def plane_blocks(blocks: Iterable[tuple[sp.Rational, sp.Rational]]) -> sp.Matrix:
    """Block-diagonal matrix of blocks [[a, −b], [b, a]] on contiguous planes."""
    return sp.diag(*(sp.Matrix([[a, -b], [b, a]]) for a, b in blocks))


def rotations(size: int, rng: Random) -> sp.Matrix:
    """Block-diagonal rotation by angles with rational cosine and sine (never a multiple of a right angle)."""
    blocks = []
    for _ in range(size // 2):
        m, n = rng.randint(2, 9), rng.choice([-1, 1])
        n *= rng.randint(1, m - 1)
        blocks.append((sp.Rational(m * m - n * n, m * m + n * n), sp.Rational(2 * m * n, m * m + n * n)))
    return plane_blocks(blocks)


def sample(
    symbols: Iterable[MatrixExpr], facts: Facts, sizes: Mapping[sp.Expr, int], seed: int
) -> dict[MatrixExpr, sp.Matrix]:
    """A rational value for every symbol, general but for the facts. Raises InvalidInput for facts it cannot meet."""
    if facts.equations:
        raise InvalidInput("sample: facts.equations cannot be met by sampling; give the values yourself.")
    commutants = {a for a, _ in facts.commuting}
    rotated = {r for _, r in facts.commuting}
    values: dict[MatrixExpr, sp.Matrix] = {}
    for symbol in sorted(symbols, key=str):
        rng = Random(f"{seed}:{symbol}")
        rows, columns = (int(sp.sympify(size).subs(sizes)) for size in symbol.shape)
        if symbol in rotated:
            values[symbol] = rotations(rows, rng)
        elif symbol in commutants:
            values[symbol] = plane_blocks([(small_rational(rng), small_rational(rng)) for _ in range(rows // 2)])
        elif symbol in facts.permutation:
            order = list(range(rows))
            while order == sorted(order):
                rng.shuffle(order)
            values[symbol] = sp.Matrix(rows, rows, lambda i, j, order=order: int(order[i] == j))
        elif symbol in facts.fixing_ones:
            values[symbol] = rotation_fixing_ones(rows, rng)
        elif symbol in facts.signs:
            values[symbol] = sp.diag(-1, *(rng.choice([-1, 1]) for _ in range(rows - 1)))
        elif symbol in facts.is_orthogonal:
            values[symbol] = orthogonal(rows, rng)
        elif symbol in facts.positive:
            values[symbol] = sp.diag(*(abs(small_rational(rng)) for _ in range(rows)))
        elif symbol in facts.diagonal:
            values[symbol] = sp.diag(*(small_rational(rng) for _ in range(rows)))
        elif symbol in facts.symmetric:
            general = general_matrix(rows, rows, rng)
            values[symbol] = general + general.T
        elif symbol in facts.stochastic:
            values[symbol] = sp.Matrix(rows, columns, lambda i, j, c=columns: int(i % c == j))
        else:
            values[symbol] = general_matrix(rows, columns, rng)
    return values
