"""What several checks share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random

from proofs_checks.manifolds.algebra.commutators import Pair, ScoreLoss, random_loss
from symgauge.experiments.record import recorded
from symgauge.experiments.result import Result, Table
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


SCALES = ("small", "paper")
"""Of the recorded experiments: small ones that take minutes, and the source's own sizes, which decide."""


@cache
def experiment(key: str, scale: str = "small") -> Result:
    """The recorded result; `symgauge reproduce manifolds --scale ...` measures it again."""
    return recorded("manifolds")[scale].runs[key].result


def measured(key: str, quantity: str, scale: str = "small") -> float:
    """Our number of a comparison, by the start of its name; exactly one has it."""
    (found,) = [c.ours for c in experiment(key, scale).comparisons if c.quantity.startswith(quantity)]
    return float(found)


def table(key: str, title: str, scale: str = "small") -> Table:
    """A table of an experiment, by the start of its title; exactly one has it."""
    (found,) = [each for each in experiment(key, scale).tables if each.title.startswith(title)]
    return found
