"""What several checks share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random

from symgauge.experiments.record import recorded
from symgauge.experiments.result import Result
from symgauge.symbolic.commutators import Pair, ScoreLoss, random_loss
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import NotProved


def proves(attempt: Callable[[], object]) -> bool:
    """Whether the attempt proves what it sets out to (it raises NotProved otherwise)."""
    try:
        attempt()
    except NotProved:
        return False
    return True


def instance(seed: int, pull: int = 0) -> tuple[ScoreLoss, ScoreLoss, Pair]:
    """Two losses of W_Q W_Kᵀ and a point, all general rational 2×2 and 3×2 matrices."""
    rng = Random(seed)
    losses = random_loss(rng, pull=pull), random_loss(rng, pull=pull)
    return *losses, (general_matrix(2, 2, rng), general_matrix(2, 2, rng))


@cache
def experiment(key: str) -> Result:
    """The recorded small-scale result; `symgauge reproduce manifolds` measures it again."""
    return recorded("manifolds")["small"].runs[key].result


def measured(key: str, quantity: str) -> float:
    """Our number of a comparison, by the start of its name; exactly one has it."""
    (found,) = [c.ours for c in experiment(key).comparisons if c.quantity.startswith(quantity)]
    return float(found)
