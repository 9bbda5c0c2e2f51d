"""What was found at some points modulo one prime, proved at fresh ones modulo every prime."""

from __future__ import annotations

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.discovery.extended import Extended
from symgauge.discovery.fields import Fields
from symgauge.discovery.points import Points
from symgauge.errors import Undecided

_FRESH = 2
"""Points for each prime."""


def proved(fields: Fields, points: Points | Extended, used: int) -> float:
    """Check R(θ)X(θ) = 0 at points from number ``used`` on; the chance that a field that is none passes them all.

    Raises:
        Undecided: it fails, so that the lift from the first prime was wrong.
    """
    bound = 1.0
    for prime in points.primes:
        field = FiniteField(prime)
        for number in range(used, used + _FRESH):
            point = points.point(number, prime)
            vectors = fields.at(point.theta, prime)[:, : point.rows.shape[1]].mT.contiguous()
            if fields.count and bool(field.matmul(Residues(point.rows), Residues(vectors)).re.any()):
                raise Undecided(
                    f"what was found modulo {points.primes[0]} is no symmetry modulo {prime}; pass another seed"
                )
            bound *= min(1.0, (point.degree + 1) / prime)
    return min(1.0, fields.count * bound) if fields.count else 0.0
