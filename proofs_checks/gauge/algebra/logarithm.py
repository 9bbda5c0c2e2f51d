"""When a real matrix is a single exponential of a real matrix."""

from __future__ import annotations

from collections import Counter

import sympy as sp

from symgauge.errors import InvalidInput


def has_real_logarithm(m: sp.Matrix) -> bool:
    """Culver's criterion (1966): an invertible real M is exp(X) for a real X exactly when, for each negative eigenvalue
    and each size, the Jordan blocks of that size come in pairs. Exact; eigenvalues must be expressible in radicals."""
    if m.rows != m.cols or m.det() == 0:
        raise InvalidInput("has_real_logarithm: an invertible square matrix was expected.")
    blocks = Counter(_jordan_blocks(m))
    return all(count % 2 == 0 for (value, _), count in blocks.items() if value.is_negative)


def _jordan_blocks(m: sp.Matrix) -> list[tuple[sp.Expr, int]]:
    _, jordan = m.jordan_form()
    blocks: list[tuple[sp.Expr, int]] = []
    start = 0
    for i in range(m.rows):
        if i == m.rows - 1 or jordan[i, i + 1] == 0:
            blocks.append((sp.simplify(jordan[i, i]), i - start + 1))
            start = i + 1
    return blocks
