"""Rows of the Jacobian at random points: each says of a vector field whether it moves the function there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.traced_value import Calculus
from symgauge.errors import Undecided
from symgauge.exact.acceptance import Acceptance
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.jacobian import JacobianRows
from symgauge.exact.point import random_point, with_rooted_embeddings
from symgauge.exact.result import FibreDimension

_STEP = 104_729
"""Between the seeds of two points."""
_ROUNDS = 12
"""Batches of candidate inputs that are tried at a point: fewer than for a rank, since other points' rows do as well."""


@dataclass(frozen=True)
class Point:
    """Independent rows (m, P) that a symmetry annihilates at ``theta`` (P,), both residues modulo the field's prime."""

    theta: Tensor
    rows: Tensor
    degree: int
    """Bound on the degree of the rows' entries in θ."""


class Points:
    """Random points of a measured function, by number; the same number is the same θ for every prime."""

    def __init__(self, fibre: FibreDimension, primes: Sequence[int], seed: int) -> None:
        self.fibre, self.primes, self.seed = fibre, primes, seed
        self._thetas: dict[int, Tensor] = {}
        self._points: dict[tuple[int, int], Point] = {}

    def theta(self, number: int) -> Tensor:
        """The parameters (P,) in float64."""
        if number not in self._thetas:
            self._thetas[number] = random_point(self.fibre.function, self.seed + _STEP * (number + 1))
        return self._thetas[number]

    def used(self, prime: int) -> int:
        """How many points were looked at, by their numbers."""
        return 1 + max((number for number, p in self._points if p == prime), default=-1)

    def point(self, number: int, prime: int) -> Point:
        """Rows from inputs that could settle the rank, or give half of it, with no search for the last of them."""
        if (number, prime) not in self._points:
            self._points[number, prime] = self._drawn(number, prime)
        return self._points[number, prime]

    def _drawn(self, number: int, prime: int) -> Point:
        point = self._rows(number, prime)
        if not len(point.rows):  # all roots fail: tokens are drawn until they have some
            self._thetas[number] = with_rooted_embeddings(
                self.fibre.function, self.theta(number), self.primes, self.seed + _STEP * (number + 1)
            )
            point = self._rows(number, prime)
        if not len(point.rows):
            raise Undecided(
                "no input is usable in exact arithmetic at a random point, so nothing can be said of fields there; "
                "pass another seed, more tokens or shorter inputs"
            )
        return point

    def _rows(self, number: int, prime: int) -> Point:
        theta, key = self.theta(number), self.seed + _STEP * (number + 1)
        evaluation = Evaluation(self.fibre.function, theta, Calculus(FiniteField(prime, key)))
        acceptance = Acceptance(evaluation, torch.Generator().manual_seed(key + 1), rounds=_ROUNDS)
        rows = JacobianRows(evaluation, acceptance, self.fibre.output, len(theta), "cpu", key + 2)
        acceptance.prepare()
        batch = max(2, math.ceil(len(theta) / rows.per_position))
        # Behind a narrow map the outputs of a position hang together, and a batch has few independent rows.
        while rows.grow(batch)[1] and 2 * rows.echelon.rank < self.fibre.rank:
            pass
        basis = rows.echelon.basis
        field = evaluation.calculus.field
        # Unknown coefficients are rational, so that real and imaginary part of a row hold each for itself.
        return Point(field.lift(theta, exact=True).re, torch.cat(basis.parts()), rows.derivative_degree)
