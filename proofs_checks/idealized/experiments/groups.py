"""Sets of twenty models, and what each measure says of them: the controls of Figure 5."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from proofs_checks.idealized.experiments.alignment import aligned
from proofs_checks.idealized.experiments.gauges import Mixture, gauge_copies
from proofs_checks.idealized.experiments.geometry import pairs
from proofs_checks.idealized.experiments.mechanisms import (
    answers_off_task,
    attention,
    attention_distances,
    canonical_distances,
    equal_answers,
    function_distances,
    without,
)
from proofs_checks.idealized.experiments.paths import Along, along
from proofs_checks.idealized.model import Protocol, Task, initial, logits, train
from proofs_checks.idealized.model.training import accuracies
from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, Undecided

PROTOCOL = Protocol(rate=1e-3, loss=1e-4, steps=3000)
SPARE = 4  # one model more for every so many, since some do not converge


@dataclass(frozen=True, eq=False)
class Group:
    """A name, and models theta (n, P) of one architecture."""

    name: str
    theta: Tensor


TRAINED, UNTRAINED, COPIES, NORMAL = "trained", "untrained", "gauge copies of one model", "isotropic normal vectors"
LISTED, STREAM, WIDE = (
    "gauge copies, listed families only",
    "gauge copies, residual stream only",
    "gauge copies, general matrices",
)


def groups(architecture: Architecture, task: Task, count: int, seed: int) -> list[Group]:
    """The first ``count`` models that learn the task, the same before training, gauge copies of the first one in four
    mixtures, and vectors without structure, of the trained models' mean length. Raises Undecided where too few learn.
    """
    if count < 3:
        raise InvalidInput(f"the geometry of {count} models says nothing; ask for at least 3 (--seeds)")
    start = initial(architecture, range(seed, seed + count + max(1, count // SPARE)))
    result = train(architecture, task, start, PROTOCOL)
    good = torch.nonzero(result.solved).flatten()[:count]
    if len(good) < count:
        raise Undecided(f"only {len(good)} of {len(start)} models learnt {task}; {count} are needed")
    start, trained = start[good], result.theta[good]
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(trained.shape, generator=generator, dtype=torch.float64)
    noise = noise / noise.norm(dim=1, keepdim=True) * trained.norm(dim=1).mean()

    def copies(name: str, mixture: Mixture) -> Group:
        return Group(name, gauge_copies(architecture, trained[0], count, seed, mixture))

    return [
        Group(TRAINED, trained),
        Group(UNTRAINED, start),
        copies(COPIES, Mixture()),
        copies(LISTED, Mixture(stream=False)),
        copies(STREAM, Mixture(heads=False, neurons=False)),
        copies(WIDE, Mixture(spread=0.5)),
        Group(NORMAL, noise),
    ]


@dataclass(frozen=True, eq=False)
class Told:
    """What measures that no symmetry can change say of a group: (pairs,) distances, (n,) accuracies.

    attention: between attention patterns on the task's inputs; outside: between logits on longer sequences, relative;
    canonical: between forms in the stream's own frame, relative; same: share of equal answers to longer sequences;
    agree: share of their answers that follow the task's rule; ablated: accuracy without attention, without the
    feed-forward layer, without both.
    """

    accuracy: Tensor
    attention: Tensor
    outside: Tensor
    canonical: Tensor
    same: Tensor
    agree: Tensor
    ablated: tuple[Tensor, Tensor, Tensor]


def told(architecture: Architecture, theta: Tensor, task: Task, length: int) -> Told:
    """All of them, for models theta (n, P); the longer sequences have ``length`` tokens."""
    longer = Task(task.name, task.vocabulary, length, task.rule)
    outside = answers_off_task(architecture, theta, length)
    targets = task.targets.expand(len(theta), -1)
    parts = (("attention",), ("ff",), ("attention", "ff"))
    return Told(
        accuracies(logits(architecture, theta, task.inputs), targets),
        attention_distances(attention(architecture, theta, task.inputs)),
        function_distances(outside),
        canonical_distances(architecture, theta),
        equal_answers(outside),
        accuracies(outside, longer.targets.expand(len(theta), -1)),
        tuple(without(architecture, theta, task, part) for part in parts),  # type: ignore[arg-type]
    )


@dataclass(frozen=True, eq=False)
class Aligned:
    """Pairs of models before and after one was moved along its symmetries next to the other.

    cosines, distances (pairs,) before and after; changed: how much the logits moved, which must be rounding; straight:
    what the straight line between the two meets, before and after.
    """

    before: tuple[Tensor, Tensor]
    after: tuple[Tensor, Tensor]
    changed: float
    straight: tuple[Along, Along]


def align_pairs(
    architecture: Architecture,
    theta: Tensor,
    task: Task,
    points: int = 21,
    tick: Callable[[float], None] = lambda share: None,
) -> Aligned:
    """Align all pairs of models theta (n, P)."""
    i, j = pairs(len(theta))
    found = []
    for number, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        found.append(aligned(architecture, theta[a], theta[b]))
        tick((number + 1) / len(i))
    near = torch.stack(found)
    change = logits(architecture, near, task.inputs) - logits(architecture, theta[j], task.inputs)

    def look(other: Tensor) -> tuple[tuple[Tensor, Tensor], Along]:
        one = theta[i]
        cosines = torch.nn.functional.cosine_similarity(one, other)
        return (cosines, (one - other).norm(dim=1)), along(architecture, one, (one + other) / 2, other, task, points)

    (before, line), (after, nearer) = look(theta[j]), look(near)
    return Aligned(before, after, float(change.abs().max()), (line, nearer))


def leaving(architecture: Architecture, theta: Tensor, task: Task, size: float, draws: int, seed: int = 0) -> int:
    """How many random steps of this relative length, ``draws`` from each model, spoil an answer."""
    generator = torch.Generator().manual_seed(seed)
    spoilt = 0
    for one in theta:
        step = torch.randn(draws, len(one), generator=generator, dtype=torch.float64)
        moved = one + size * one.norm() * step / step.norm(dim=1, keepdim=True)
        right = accuracies(logits(architecture, moved, task.inputs), task.targets.expand(draws, -1))
        spoilt += int((right < 1).sum())
    return spoilt
