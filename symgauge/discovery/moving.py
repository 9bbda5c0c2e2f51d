"""Fields that move what they are computed from: brackets at random points, exact modulo primes.

X(θ) = A·(1, θ, w(θ)) with tensors w that are computed from parameters. Along a motion θ' = Y(θ) they have
w' = Dw(θ)·Y, by the product rule and (W⁻¹)' = −W⁻¹ W' W⁻¹. So [X, Y] = (DY)X − (DX)Y is known at every point, though as
a function it may lie in no ansatz.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import flint
import numpy as np
import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField
from symgauge.discovery.ansatz import Block
from symgauge.discovery.extended import Computed, Extended
from symgauge.discovery.fields import Fields
from symgauge.discovery.lifting import fraction
from symgauge.discovery.structure import Constants
from symgauge.discovery.translations import Modulo

_POINTS = 2
"""At which constants are solved for, and for each prime at which they are tried."""


def moves_what_it_reads(fields: Fields, blocks: Sequence[Block], derived: Sequence[Computed]) -> bool:
    """Whether any of the fields moves a parameter that a tensor which any of them reads is computed from."""
    live = (fields.values != 0).any(0)
    read = [each for each in derived if _within(fields.columns[live] - 1, each).any()]
    moved = {block.name for block in blocks if _within(fields.rows[live], block).any()}
    return any(each.bases & moved for each in read)


def _within(places: np.ndarray, block: Block) -> np.ndarray:
    return (places >= block.start) & (places < block.start + block.size)


def closed_at_points(fields: Fields, points: Extended, modulo: Modulo) -> Constants | None:
    """Structure constants of the fields modulo translations; None if their brackets are no combinations of them with
    constant coefficients.

    They are solved for at points modulo the first prime, lifted to ℚ, and tried at fresh points modulo every prime.
    """
    first, used = points.primes[0], points.used(points.primes[0])
    pairs = list(itertools.combinations(range(fields.count), 2))
    if not pairs:
        return {}
    here = [_at(fields, pairs, points, used + k, first, modulo) for k in range(_POINTS)]
    vectors, brackets = (np.concatenate([each[i] for each in here], 1) for i in (0, 1))
    solved = _combinations(vectors, brackets, first)
    if solved is None:
        return None
    constants: Constants = {}
    for pair, row in zip(pairs, solved, strict=True):
        lifts = [fraction(int(c), first) for c in row]
        if None in lifts:
            return None
        constants |= {pair: found} if (found := {k: c for k, c in enumerate(lifts) if c}) else {}
    for prime in points.primes:
        for number in range(used + _POINTS, used + 2 * _POINTS):
            vectors, brackets = _at(fields, pairs, points, number, prime, modulo)
            for pair, bracket in zip(pairs, brackets, strict=True):
                rest = bracket.copy()
                for k, c in constants.get(pair, {}).items():
                    rest = (rest - _residue(c, prime) * vectors[k]) % prime
                if rest.any():
                    return None
    return constants


def _residue(x: Fraction, p: int) -> int:
    return x.numerator * pow(x.denominator, -1, p) % p


def _at(
    fields: Fields, pairs: Sequence[tuple[int, int]], points: Extended, number: int, prime: int, modulo: Modulo
) -> tuple[np.ndarray, np.ndarray]:
    """The fields (n, P) and the brackets of the pairs (m, P) at a point, without what points along translations."""
    size, field = points.fibre.parameters, FiniteField(prime)
    theta = points.point(number, prime).theta
    vectors = fields.at(theta, prime)[:, :size]
    # Derivative of field k along field i: what it makes of how (θ, w) moves.
    still = fields.at(torch.zeros_like(theta), prime)[:, :size]
    motions = [_extended(vector, theta[:size], points.derived, field) for vector in vectors]
    along = torch.stack([fields.at(motion, prime)[:, :size] - still for motion in motions])
    brackets = torch.stack([along[i, j] - along[j, i] for i, j in pairs]) % prime
    return _reduced(vectors, modulo, prime), _reduced(brackets, modulo, prime)


def _extended(motion: Tensor, theta: Tensor, derived: Sequence[Computed], field: FiniteField) -> Tensor:
    return torch.cat([motion, *(each.along(theta, motion, field) for each in derived)])


def _reduced(vectors: Tensor, modulo: Modulo, prime: int) -> np.ndarray:
    """Vectors (n, P) plus translations, such that parameters of which each is moved by one translation rest."""
    found = vectors.numpy().copy()
    for still, row in modulo.by_still.items():
        lead = found[:, still].copy()
        for place, x in row.items():
            found[:, place] = (found[:, place] - lead * _residue(x, prime)) % prime
    return found


def _combinations(vectors: np.ndarray, targets: np.ndarray, p: int) -> np.ndarray | None:
    """Coefficients (m, n) of targets (m, L) in independent vectors (n, L) modulo p; None if one lies outside."""
    n = len(vectors)
    whole = np.concatenate([vectors, targets]).T
    form, rank = flint.nmod_mat(whole.shape[0], whole.shape[1], [int(x) for x in whole.reshape(-1)], p).rref()
    if rank != n or any(int(form[i, i]) != 1 for i in range(n)):
        return None
    return np.array([[int(form[k, n + m]) for k in range(n)] for m in range(len(targets))], dtype=np.int64)
