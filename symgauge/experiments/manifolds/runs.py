"""The trainings that all experiments of the suite look at, each done once per process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from torch import Tensor
from torch.func import vmap

from symgauge.experiments.suite import Setting
from symgauge.models.marked_sum import MarkedSum, ModularAddition, Protocol, Sizes, Task, Trajectory, function_of, train

SEEDS = 5
PROBE = 1024  # sequences on which accuracy and entropy are measured
PROBE_SEED = 77


@dataclass(frozen=True)
class Plan:
    """What one training is."""

    what: str
    sizes: Sizes
    task: Task
    protocol: Protocol


def plan(name: str, paper: bool) -> Plan:
    """main, noise, sgd, harder, feed-forward, addition; at the source's sizes or small."""
    sizes = Sizes() if paper else Sizes(d=32, heads=2, layers=2, vocabulary=24, length=8, classes=4)
    task = MarkedSum() if paper else MarkedSum(8, 4, (1, 2), 24)
    protocol = Protocol() if paper else Protocol(rate=3e-3, steps=1600, batch=64)
    if name == "main":
        return Plan("marked sum", sizes, task, protocol)
    if name == "noise":
        return Plan("labels drawn at random", sizes, replace(task, noise=True), protocol)
    if name == "sgd":
        return Plan("SGD as in the text", sizes, task, replace(protocol, rule="sgd", rate=1e-3, batch=64))
    if name == "feed-forward":
        return Plan("with feed-forward layers", replace(sizes, feed_forward=True), task, protocol)
    if name == "harder":
        hard = MarkedSum(16, 8, (1, 2, 3, 4, 5, 6)) if paper else MarkedSum(10, 5, (1, 2, 3), 24)
        return Plan("marked sum, harder", replace(sizes, length=hard.length, classes=hard.classes), hard, protocol)
    addition = ModularAddition(task.classes if paper else 8)
    sizes = replace(sizes, vocabulary=addition.vocabulary, length=3, classes=addition.classes)
    return Plan("modular addition", sizes, addition, protocol)


def trajectory(name: str, setting: Setting) -> Trajectory:
    """The training called `name`: all seeds at once."""
    return _trained(name, setting.paper, setting.device, setting.seed, setting.seeds or SEEDS, _Tick(setting.tick))


class _Tick:
    """A callback that is equal to every other, so that it plays no part in what is cached."""

    def __init__(self, call: Callable[[str, float], None]) -> None:
        self.call = call

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Tick)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=8)
def _trained(name: str, paper: bool, device: str, seed: int, seeds: int, tick: _Tick) -> Trajectory:
    chosen = plan(name, paper)
    numbers = range(seed, seed + seeds)
    with one_thread(device):
        return train(
            chosen.sizes,
            [chosen.task] * seeds,
            numbers,
            chosen.protocol,
            device,
            lambda share: tick.call(f"training: {chosen.what}", share),
        )


@contextmanager
def one_thread(device: str) -> Iterator[None]:
    """Small products gain nothing from more threads, and sums come out alike on any number of cores."""
    before = torch.get_num_threads()
    if device == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def probe(task: Task, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Ids (N, T), labels (N,), numbers of summands (N,), the same for every model; positions differ between rows."""
    if isinstance(task, MarkedSum):
        task = replace(task, shared=False)
    drawn = task.batches(torch.Generator().manual_seed(PROBE_SEED), 1, PROBE)
    ids, labels, number = (part[0].to(device) for part in drawn)
    return ids, labels, number


def evaluate(sizes: Sizes, theta: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of models (S, P): logits (S, N, C), attention (S, N, layers, heads, T, T), normed stream (S, N, T, d)."""
    with torch.no_grad():
        return vmap(function_of(sizes), in_dims=(0, None))(theta, ids)


def accuracy(sizes: Sizes, theta: Tensor, ids: Tensor, labels: Tensor) -> Tensor:
    """(S,) share of right answers."""
    return (evaluate(sizes, theta, ids)[0].argmax(-1) == labels).double().mean(-1).cpu()


def accuracies(run: Trajectory, device: str, task: Task | None = None) -> Tensor:
    """(n, S): at every snapshot."""
    ids, labels, _ = probe(task or run.tasks[0], device)
    return torch.stack([accuracy(run.sizes, theta, ids, labels) for theta in run.theta])
