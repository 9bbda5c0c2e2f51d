"""Many models trained as one, the batch dimension being the seed, with snapshots of every parameter on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap

from proofs_checks.manifolds.marked_sum.model import AttentionOnly, LogitsOnly, Sizes
from proofs_checks.manifolds.marked_sum.task import Task
from symgauge.errors import InvalidInput
from symgauge.parameter_vector import ParameterVector

CHUNK = 50  # steps whose batches are drawn at once
STREAM = 1_000_003  # data of seed s come from the generator with seed s + STREAM


@dataclass(frozen=True)
class Protocol:
    """rule "adamw": decoupled weight decay, PyTorch's defaults for the rest; "sgd": gradient steps with `momentum`.

    snapshots: the first at step 0, equally many steps apart, as the source's code logs them: step 0 is after one step.
    """

    rate: float = 3e-4
    steps: int = 20_000
    batch: int = 128
    snapshots: int = 40
    rule: Literal["adamw", "sgd"] = "adamw"
    momentum: float = 0.0
    decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    @property
    def interval(self) -> int:
        """Steps between snapshots."""
        return self.steps // self.snapshots


@dataclass(frozen=True, eq=False)
class Trajectory:
    """theta (n, S, P) at `steps` (n,); loss (n, S) of the training batch of that step; task of each model."""

    sizes: Sizes
    protocol: Protocol
    tasks: Sequence[Task]
    seeds: Sequence[int]
    steps: Tensor
    theta: Tensor
    loss: Tensor

    def part(self, name: str) -> Tensor:
        """(n, S, *shape) of one parameter."""
        return ParameterVector(self.sizes.shapes).split(self.theta)[name]


def joined(runs: Sequence[Trajectory]) -> Trajectory:
    """Trajectories of one kind, made apart, as one: a model of the first, ..., a model of the last."""
    first = runs[0]
    tasks, seeds = [t for run in runs for t in run.tasks], [s for run in runs for s in run.seeds]
    theta, loss = (torch.cat([getattr(run, name) for run in runs], 1) for name in ("theta", "loss"))
    return Trajectory(first.sizes, first.protocol, tasks, seeds, first.steps, theta, loss)


def parted(run: Trajectory) -> list[Trajectory]:
    """One trajectory per model."""
    return [
        Trajectory(run.sizes, run.protocol, [task], [seed], run.steps, theta.unsqueeze(1), loss.unsqueeze(1))
        for task, seed, theta, loss in zip(run.tasks, run.seeds, run.theta.unbind(1), run.loss.unbind(1), strict=True)
    ]


def initial(sizes: Sizes, seeds: Sequence[int]) -> Tensor:
    """(S, P): the parameters that one model per seed starts from."""
    models = [AttentionOnly(sizes, seed) for seed in seeds]
    return ParameterVector.of(models[0]).join(stack_module_state(models)[0]).detach()


def function_of(sizes: Sizes) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]:
    """(θ (P,), ids (B, T)) → what AttentionOnly gives; vmap it for several models."""
    return _function(AttentionOnly(sizes))


def _function(model: AttentionOnly) -> Callable[[Tensor, Tensor], Any]:
    model = model.to("meta")
    vector = ParameterVector.of(model)

    def evaluate(theta: Tensor, ids: Tensor) -> Any:
        return functional_call(model, vector.split(theta), (ids,))

    return evaluate


def loss_of(sizes: Sizes) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """(θ (P,), ids (B, T), labels (B,)) → mean cross-entropy."""
    logits = _function(LogitsOnly(sizes))
    return lambda theta, ids, labels: torch.nn.functional.cross_entropy(logits(theta, ids), labels)


def _losses(sizes: Sizes, models: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """(θ (S, P), ids (S, B, T), labels (S, B)) → (S,)."""
    one = loss_of(sizes)
    if models == 1:  # vmap would split every product with a bias in two
        return lambda theta, ids, labels: one(theta[0], ids[0], labels[0]).unsqueeze(0)
    return vmap(one)


def generator_of(seed: int) -> torch.Generator:
    """The source of a model's data: its own, so that a model learns the same whatever is trained beside it."""
    return torch.Generator().manual_seed(seed + STREAM)


def train(
    sizes: Sizes,
    tasks: Sequence[Task],
    seeds: Sequence[int],
    protocol: Protocol,
    device: str = "cpu",
    tick: Callable[[float], None] = lambda share: None,
) -> Trajectory:
    """Train model i from seed i on task i, all at once; float32, as the source's code does.

    Raises InvalidInput where tasks do not fit the sizes or there are no snapshots to take.
    """
    _check(sizes, tasks, seeds, protocol)
    loss = _losses(sizes, len(seeds))
    theta = initial(sizes, seeds).to(device).requires_grad_()
    optimizer = _optimizer(protocol, theta)
    generators = [generator_of(seed) for seed in seeds]
    kept: list[Tensor] = []
    losses: list[Tensor] = []
    for step in range(protocol.steps):
        if step % CHUNK == 0:
            count = min(CHUNK, protocol.steps - step)
            drawn = [task.batches(g, count, protocol.batch)[:2] for task, g in zip(tasks, generators, strict=True)]
            ids, labels = (torch.stack(part, 1).to(device) for part in zip(*drawn, strict=True))
            tick(step / protocol.steps)
        values = loss(theta, ids[step % CHUNK], labels[step % CHUNK])
        (theta.grad,) = torch.autograd.grad(values.sum(), theta)
        optimizer.step()
        if step % protocol.interval == 0 and len(kept) < protocol.snapshots:
            kept.append(theta.detach().clone())
            losses.append(values.detach())
    steps = torch.arange(len(kept)) * protocol.interval
    return Trajectory(sizes, protocol, tasks, seeds, steps, torch.stack(kept), torch.stack(losses).cpu())


def _optimizer(p: Protocol, theta: Tensor) -> torch.optim.Optimizer:
    """Both rules work entry by entry, so a batch of models is the models one by one."""
    if p.rule == "sgd":
        return torch.optim.SGD([theta], p.rate, p.momentum)
    return torch.optim.AdamW([theta], p.rate, p.betas, p.epsilon, p.decay)


def _check(sizes: Sizes, tasks: Sequence[Task], seeds: Sequence[int], protocol: Protocol) -> None:
    if not seeds or len(tasks) != len(seeds):
        raise InvalidInput(
            f"{len(tasks)} tasks for {len(seeds)} seeds; give one task per model, and one model at least"
        )
    for task in tasks:
        if task.vocabulary > sizes.vocabulary or task.length != sizes.length or task.classes > sizes.classes:
            raise InvalidInput(f"{task} does not fit a model with {sizes}")
    if protocol.interval < 1 or protocol.snapshots < 2:
        raise InvalidInput(
            f"{protocol.snapshots} snapshots of {protocol.steps} steps; at least 2, and no more than steps"
        )
