"""Trained models that several checks look at; each is trained once per run of the tests."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from proofs_checks.idealized.experiments.geometry import pairs
from proofs_checks.idealized.experiments.groups import PROTOCOL, SPARE, TRAINED, Group, Told, groups, told
from proofs_checks.idealized.experiments.paths import Along, along, bent
from proofs_checks.idealized.experiments.pruning import Level, largest, prune
from proofs_checks.idealized.experiments.table_2 import Case, case
from proofs_checks.idealized.model import Protocol, architecture, copy_last, initial, logits, parity, train
from proofs_checks.idealized.model.model import Start
from proofs_checks.idealized.model.training import accuracies

SEEDS = range(8)  # as in Table 2
COPY, LONGER_COPY, WIDER_COPY, XOR = ("Copy-Last", 2, 3), ("Copy-Last", 2, 4), ("Copy-Last", 3, 2), ("XOR", 2, 3)
MODELS = 20  # as in section 7
TRIALS = 3
OTHER_STARTS: tuple[Start, ...] = ("xavier", "normal")
QUICK = Protocol(rate=3e-3, loss=1e-4, steps=300)


@cache
def row(name: str, vocabulary: int, length: int) -> Case:
    """Eight trained models of a row of Table 2, with the singular values of their Jacobians."""
    # As in the experiment, but less far: the counts are the same.
    loss = 1e-4 if (name, vocabulary, length) == LONGER_COPY else 1e-3
    return case(name, vocabulary, length, SEEDS, Protocol(rate=1e-3, loss=loss))


def rows() -> list[Case]:
    """All four rows of Table 2."""
    return [row(*key) for key in (COPY, XOR, LONGER_COPY, WIDER_COPY)]


@cache
def twenty() -> dict[str, Tensor]:
    """Name -> (20, P): the trained models of section 7 and their controls."""
    found: list[Group] = groups(architecture(), copy_last(), MODELS, seed=0)
    return {group.name: group.theta for group in found}


@cache
def from_all_starts() -> dict[Start, Tensor]:
    """Twenty trained models (20, P) from each initialisation, those of ``twenty`` among them."""
    a = architecture()
    found: dict[Start, Tensor] = {"torch": twenty()[TRAINED]}
    for how in OTHER_STARTS:
        result = train(a, copy_last(), initial(a, range(MODELS + MODELS // SPARE), how), PROTOCOL)
        found[how] = result.theta[result.solved][:MODELS]
    return found


@cache
def seen_from_outside(name: str) -> Told:
    """What no symmetry can change, for one of the groups of twenty."""
    return told(architecture(), twenty()[name], copy_last(), length=6)


@cache
def ways(count: int) -> tuple[Along, Along]:
    """Straight and bent ways between all pairs of the first trained models."""
    a, task, theta = architecture(), copy_last(), twenty()["trained"][:count]
    i, j = pairs(count)
    one, two = theta[i], theta[j]
    control = bent(a, one, two, task, steps=150)
    return along(a, one, (one + two) / 2, two, task, 101), along(a, one, control, two, task, 101)


@cache
def levels(enforced: bool, kept: tuple[int, ...]) -> dict[str, list[Level]]:
    """Iterative pruning of three dense models per task."""
    a, tasks = architecture(), [copy_last()] * TRIALS + [parity()] * TRIALS
    dense = train(a, tasks, initial(a, [*range(TRIALS)] * 2), Protocol(rate=1e-3, loss=1e-4, steps=3000)).theta
    found = prune(a, tasks, dense, kept, QUICK, enforced=enforced)

    def part(chosen: slice) -> list[Level]:
        return [Level(x.kept, x.pruned[chosen], x.retrained[chosen], x.nonzero[chosen]) for x in found]

    return {"Copy-Last": part(slice(0, TRIALS)), "XOR": part(slice(TRIALS, None))}


def after_random_cut(kept: int) -> float:
    """Accuracy of the trained models of Copy-Last with random weights kept in place of the largest, the mean."""
    theta, task = twenty()["trained"], copy_last()
    noise = torch.rand(theta.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    cut = theta * largest(noise, kept)
    right = accuracies(logits(architecture(), cut, task.inputs), task.targets.expand(len(cut), -1))
    return float(right.mean())
