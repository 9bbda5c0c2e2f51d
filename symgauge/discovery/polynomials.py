"""Integers at several sizes as a polynomial in these, over ℚ: fitted on as few sizes as it takes, tried on the rest."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import flint
import sympy

HIGHEST = 3
"""Total degree up to which a polynomial is sought."""

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Fit:
    """The polynomial of least degree through all values; ``held_out`` are the points that agree and were not used.

    Without one ``expression`` is None and ``reason`` says why. ``untested``: names of sizes that have one value more
    than the polynomial's degree in them, so that a higher degree could not be told from it.

    Example:
        >>> points = [(h, k) for h in (1, 2, 3) for k in (1, 2, 3)]
        >>> found = fit(("h", "k"), points, [h * k * k for h, k in points])
        >>> found.expression, found.held_out
        (h*k**2, ((3, 1), (3, 2), (3, 3)))
    """

    expression: sympy.Expr | None
    values: tuple[int, ...]
    held_out: tuple[Sizes, ...]
    reason: str = ""
    untested: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "none" if self.expression is None else str(self.expression)

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "polynomial": None if self.expression is None else str(self.expression),
            "values": list(self.values),
            "held_out": [list(sizes) for sizes in self.held_out],
            "untested": list(self.untested),
            "reason": self.reason,
        }


def fit(names: Sequence[str], points: Sequence[Sizes], values: Sequence[int]) -> Fit:
    """Fit values at points (each a size per name) exactly, lowest total degree first, with one point or more held out.

    Of one total degree, polynomials with fewer coefficients come first: they leave more points that must agree. As many
    independent points as there are coefficients determine one, the smallest sizes; all others are held out.
    """
    order = sorted(range(len(points)), key=lambda i: (math.prod(points[i]), points[i]))
    reason = "these sizes are too few to hold one out"
    counts = [len({point[i] for point in points}) for i in range(len(names))]
    for monomials in _candidates(counts):
        degree = sum(monomials[-1])
        if len(monomials) >= len(points):
            continue
        matrix = flint.fmpq_mat([[math.prod(map(pow, points[i], m)) for m in monomials] for i in order])
        used = _independent(matrix)
        if len(used) < len(monomials):
            reason = f"the sizes do not determine a polynomial of degree {degree}"
            continue
        system = flint.fmpq_mat([[matrix[r, c] for c in range(len(monomials))] for r in used])
        solution = system.solve(flint.fmpq_mat([[values[order[r]]] for r in used]))
        found = matrix * solution
        wrong = [points[order[r]] for r in range(len(points)) if found[r, 0] != values[order[r]]]
        if not wrong:
            held_out = [points[order[r]] for r in range(len(points)) if r not in used]
            live = [m for i, m in enumerate(monomials) if solution[i, 0] != 0]
            untested = [n for i, n in enumerate(names) if max((m[i] for m in live), default=0) + 1 >= counts[i]]
            expression = _expression(names, monomials, solution)
            return Fit(expression, tuple(values), tuple(held_out), untested=tuple(untested))
        at = ", ".join(f"{name} = {size}" for name, size in zip(names, wrong[0], strict=True))
        reason = f"no polynomial that leaves a size to hold out agrees; the last, of degree {degree}, does not at {at}"
    return Fit(None, tuple(values), (), reason)


def _candidates(values: Sequence[int]) -> list[list[tuple[int, ...]]]:
    """Sets of monomials by total degree, then by how many they are; of a size with n values powers below n."""
    found = []
    for degree in range(HIGHEST + 1):
        of_degree = set()
        for caps in itertools.product(*(range(min(degree, count - 1) + 1) for count in values)):
            every = itertools.product(*(range(cap + 1) for cap in caps))
            monomials = tuple(sorted((m for m in every if sum(m) <= degree), key=lambda m: (sum(m), m)))
            if sum(monomials[-1]) == degree:
                of_degree.add(monomials)
        found += sorted(of_degree, key=lambda monomials: (len(monomials), monomials))
    return [list(monomials) for monomials in found]


def _independent(matrix: flint.fmpq_mat) -> list[int]:
    """Rows that are independent of those before them."""
    form, rank = matrix.transpose().rref()
    return [next(c for c, x in enumerate(row) if x) for row in form.table()[:rank]]


def _expression(names: Sequence[str], monomials: Sequence[tuple[int, ...]], solution: flint.fmpq_mat) -> sympy.Expr:
    letters = [sympy.Symbol(name, integer=True, positive=True) for name in names]
    terms = [
        sympy.Rational(int(solution[i, 0].p), int(solution[i, 0].q)) * math.prod(map(pow, letters, m))
        for i, m in enumerate(monomials)
    ]
    return sum(terms, sympy.Integer(0))
