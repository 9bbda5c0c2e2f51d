"""The trainings that all experiments of the suite look at, each done once per process."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap

from proofs_checks.manifolds.experiments import kept
from proofs_checks.manifolds.marked_sum import (
    MarkedSum,
    ModularAddition,
    Protocol,
    Sizes,
    Task,
    Trajectory,
    function_of,
    joined,
    parted,
    train,
)
from symgauge.errors import InvalidInput
from symgauge.experiments.suite import Setting, Tick, silent
from symgauge.threads import one_thread

SEEDS = 5
# At the source's size, where a seed costs a core 4 to 30 minutes.
LARGE_SEEDS = {"main": 5, "noise": 3, "feed-forward": 1}
OTHER_LARGE_SEEDS = 2  # as in the source's code
PROBE = 1024  # sequences on which accuracy and entropy are measured
PROBE_SEED = 77


@dataclass(frozen=True)
class Plan:
    """What one training is."""

    what: str
    sizes: Sizes
    task: Task
    protocol: Protocol
    seeds: int = SEEDS


def plan(name: str, paper: bool) -> Plan:
    """main, noise, sgd, sgd-momentum, sgd-long, harder, feed-forward, addition; at the source's sizes or small."""
    sizes = Sizes() if paper else Sizes(d=32, heads=2, layers=2, vocabulary=24, length=8, classes=4)
    task = MarkedSum() if paper else MarkedSum(8, 4, (1, 2), 24)
    protocol = Protocol() if paper else Protocol(rate=3e-3, steps=1600, batch=64)
    main = Plan("marked sum", sizes, task, protocol, LARGE_SEEDS.get(name, OTHER_LARGE_SEEDS) if paper else SEEDS)
    if name == "main":
        return main
    if name == "noise":
        return replace(main, what="labels drawn at random", task=replace(task, noise=True))
    straight = replace(main, what="SGD as in the text", protocol=replace(protocol, rule="sgd", rate=1e-3, batch=64))
    if name == "sgd":
        return straight
    if name == "sgd-momentum":
        return replace(straight, what="SGD with momentum 0.9", protocol=replace(straight.protocol, momentum=0.9))
    if name == "sgd-long":
        length = 2 * task.length  # text: 32 tokens, code: 16
        longer = replace(straight, sizes=replace(sizes, length=length), task=replace(task, length=length))
        return replace(longer, what="SGD as in the text, on sequences twice as long")
    if name == "feed-forward":
        return replace(main, what="with feed-forward layers", sizes=replace(sizes, feed_forward=True))
    if name == "harder":
        hard = MarkedSum(16, 8, (1, 2, 3, 4, 5, 6)) if paper else MarkedSum(10, 5, (1, 2, 3), 24)
        sizes = replace(sizes, length=hard.length, classes=hard.classes)
        return replace(main, what="marked sum, harder", sizes=sizes, task=hard)
    addition = ModularAddition(task.classes if paper else 8)
    sizes = replace(sizes, vocabulary=addition.vocabulary, length=3, classes=addition.classes)
    return replace(main, what="modular addition", sizes=sizes, task=addition)


def trajectory(name: str, setting: Setting) -> Trajectory:
    """The training called `name`, all seeds; those kept in the setting's folder are not run again."""
    seeds = tuple(range(setting.seed, setting.seed + (setting.seeds or plan(name, setting.paper).seeds)))
    with one_thread_on(setting.device):
        return _trained(name, setting.paper, setting.device, seeds, _Aside(setting))


class _Aside:
    """What plays no part in which training it is: equal to every other of its kind."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Aside)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=8)
def _trained(name: str, paper: bool, device: str, seeds: tuple[int, ...], aside: _Aside) -> Trajectory:
    """Trainings at the source's size go to disk, one by one, and come from there; small ones take seconds."""
    chosen, setting = plan(name, paper), aside.setting
    alone = device == "cpu" and large(chosen.sizes)
    if not paper or setting.folder is None:
        return joined([_run(chosen, device, group, setting.tick) for group in _groups(seeds, alone)])
    files = {seed: setting.folder / kept.FOLDER / f"{name}-{seed}.npz" for seed in seeds}
    made = {seed: (chosen.sizes, chosen.task, seed, chosen.protocol, device) for seed in seeds}
    missing = [seed for seed in seeds if setting.fresh or kept.load(files[seed], *made[seed]) is None]
    jobs = [(chosen, device, group, [files[seed] for seed in group]) for group in _groups(missing, alone)]
    if setting.workers > 1 and len(jobs) > 1 and alone:
        # Not forked: a child of a process with running threads can hang.
        with ProcessPoolExecutor(min(setting.workers, len(jobs)), get_context("spawn")) as pool:
            for done, _ in enumerate(as_completed([pool.submit(_keep, *job) for job in jobs]), 1):
                setting.tick(f"training: {chosen.what}, {len(jobs)} seeds", done / len(jobs))
    else:
        for job in jobs:
            _keep(*job, setting.tick)
    return joined([_kept(files[seed], made[seed]) for seed in seeds])


def _kept(file: Path, made: tuple[Sizes, Task, int, Protocol, str]) -> Trajectory:
    run = kept.load(file, *made)
    if run is None:
        raise InvalidInput(
            f"{file} was written by this run and cannot be read; is the disk full, or the folder in use?"
        )
    return run


def _groups(seeds: Sequence[int], alone: bool) -> list[list[int]]:
    """What is trained as one batch."""
    return [[seed] for seed in seeds] if alone else [list(seeds)] if seeds else []


def _keep(chosen: Plan, device: str, seeds: list[int], files: list[Path], tick: Tick = silent) -> None:
    with one_thread_on(device):
        for file, run in zip(files, parted(_run(chosen, device, seeds, tick)), strict=True):
            kept.save(file, run, device)


def _run(chosen: Plan, device: str, seeds: list[int], tick: Tick) -> Trajectory:
    what = f"training: {chosen.what}, " + (f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds")
    tasks = [chosen.task] * len(seeds)
    return train(chosen.sizes, tasks, seeds, chosen.protocol, device, lambda share: tick(what, share))


def large(sizes: Sizes) -> bool:
    """Whether a processor is better off with one model at a time: a step of one fills its caches."""
    return sizes.parameters > 100_000


def one_thread_on(device: str) -> AbstractContextManager[Any]:
    """Small products gain nothing from more threads, and sums come out alike on any number of cores."""
    return one_thread() if device == "cpu" else nullcontext()


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
