"""The Jacobi identity of integer structure constants, checked on every triple of basis vectors."""

from __future__ import annotations

from collections import defaultdict

from symgauge.errors import InvalidInput
from symgauge.lie.subspace import Vector

Brackets = list[dict[int, Vector]]
"""``brackets[i][j]`` is [e_i, e_j], both orders stored, zero brackets left out."""


class JacobiError(InvalidInput):
    """Structure constants that belong to no Lie algebra.

    Attributes:
        triple: basis vectors (i, j, k) on which the identity fails.
    """

    def __init__(self, triple: tuple[int, int, int]) -> None:
        self.triple = triple
        i, j, k = triple
        super().__init__(
            f"the Jacobi identity fails for the basis vectors ({i}, {j}, {k}): "
            f"[[e_{i}, e_{j}], e_{k}] + [[e_{j}, e_{k}], e_{i}] + [[e_{k}, e_{i}], e_{j}] is not zero; "
            "these structure constants are not those of a Lie algebra."
        )


def check_jacobi(brackets: Brackets) -> None:
    """Raise where [[e_i, e_j], e_k] and its cyclic turns do not sum to zero.

    Raises:
        JacobiError: names the first such triple.
    """
    sums: dict[tuple[int, int, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for i, row in enumerate(brackets):
        for j, bracket in row.items():
            if j < i:
                continue
            for m, c in bracket.items():
                for k, outer in brackets[m].items():
                    if k in (i, j):
                        continue
                    total = sums[(k, i, j) if k < i else (i, k, j) if k < j else (i, j, k)]
                    sign = -c if i < k < j else c  # (i, j, k) is an odd turn of the sorted triple
                    for position, value in outer.items():
                        total[position] += sign * value
    broken = [triple for triple, total in sums.items() if any(total.values())]
    if broken:
        raise JacobiError(min(broken))
