"""Which fields of an ansatz move the function at no point: linear equations for their coefficients, modulo a prime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.discovery.ansatz import Term
from symgauge.discovery.extended import Extended
from symgauge.discovery.points import Point, Points
from symgauge.errors import Undecided
from symgauge.exact.rank import Echelon

_AGREEING = 2
"""Points in a row that must bring nothing new."""
_MOST = 400
"""Points that are looked at in all."""
_FULL = 0.9
_SIEVED = 2
"""Where fewer of a point's rows are new than the first, and no more solutions are left for each row than the second,
the equations are no longer stacked but sieve what is left."""


@dataclass(frozen=True)
class Solutions:
    """A basis (s, K) of the coefficients of all fields that annihilate the rows of ``points`` points."""

    basis: Tensor
    points: int


def solve(
    terms: Sequence[Term],
    points: Points | Extended,
    prime: int,
    progress: Callable[[str, int, int], None] | None = None,
) -> Solutions:
    """Stack the equations of one point after another until two bring nothing new."""
    field = FiniteField(prime)
    unknowns = sum(term.size for term in terms)
    echelon = Echelon(field, unknowns)
    basis: Residues | None = None
    number, idle, left = 0, 0, unknowns
    while idle < _AGREEING and left:
        if number == _MOST:
            raise Undecided(f"after {number} points the equations for {unknowns:,} unknowns still bring something new")
        point = points.point(number, prime)
        rows = Residues(equations(terms, point, field))
        number += 1
        if basis is None:
            gained = echelon.add(rows)
            left -= gained
            # Few solutions are sieved with less work than equations take that mostly say what is known.
            if gained < _FULL * len(point.rows) and left <= _SIEVED * len(point.rows):
                basis = echelon.kernel()
        else:
            basis, before = _sieved(basis, rows, field), left
            left = basis.shape[0]
            gained = before - left
        # A point at which few inputs are usable agrees with everything.
        idle = 0 if gained else idle + (2 * len(point.rows) >= points.fibre.rank)
        if progress is not None:
            progress(f"fields modulo {prime}", unknowns - left, unknowns)
    return Solutions(echelon.kernel().re if basis is None else basis.re, number)


def _sieved(basis: Residues, rows: Residues, field: FiniteField) -> Residues:
    """A basis of what of a space (s, K) the rows (m, K) annihilate."""
    seen = Echelon(field, basis.shape[0])
    seen.add(field.matmul(rows, basis.map(lambda x: x.mT.contiguous())))
    return basis if not seen.rank else field.matmul(seen.kernel(), basis)


def equations(terms: Sequence[Term], point: Point, field: FiniteField) -> Tensor:
    """What a point's rows say of all coefficients (m, K)."""
    return torch.cat([term.equations(point.rows, point.theta, field) for term in terms], 1)
