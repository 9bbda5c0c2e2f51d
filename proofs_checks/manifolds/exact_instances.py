"""Losses of attention scores and points in rational numbers."""

from __future__ import annotations

from random import Random

from proofs_checks.manifolds.algebra.commutators import Pair, ScoreLoss, random_loss
from symgauge.symbolic.instances import general_matrix


def instance(seed: int, pull: int = 0) -> tuple[ScoreLoss, ScoreLoss, Pair]:
    """Two losses of W_Q W_Kᵀ and a point, all general rational 2×2 and 3×2 matrices."""
    rng = Random(seed)
    losses = random_loss(rng, pull=pull), random_loss(rng, pull=pull)
    return *losses, (general_matrix(2, 2, rng), general_matrix(2, 2, rng))
