"""Commutators along a training: their share in the execution basis, in bases of other kinds, and their precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import grad, vmap

from proofs_checks.manifolds import reported
from proofs_checks.manifolds.commutators import Commutator, bracket, commutator, share_in
from proofs_checks.manifolds.experiments import gauges
from proofs_checks.manifolds.experiments.runs import large
from proofs_checks.manifolds.marked_sum import Sizes, Trajectory
from proofs_checks.manifolds.marked_sum.training import generator_of, loss_of
from proofs_checks.manifolds.trajectories import components
from symgauge.experiments.suite import Setting

RENEWED = 4  # the basis is made anew every four snapshots, from the fifth on, as in the source's code
MATRICES = ("w_q", "w_k", "w_v", "w_o")
DATA = 500_000  # added to a model's seed: batches of the commutators


def basis(run: Trajectory, last: int, seed: int, count: int = reported.COMPONENTS) -> Tensor:
    """(P, K) orthonormal: the first components of the path, up to snapshot `last`, of every attention matrix; float64.

    Blocks do not overlap, so the columns are orthonormal as they are.
    """
    columns = []
    for layer in range(run.sizes.layers):
        for name in MATRICES:
            place = run.sizes.slices()[f"{layer}_{name}"]
            _, found = components(run.theta[: last + 1, seed, place], count)
            column = torch.zeros(run.sizes.parameters, count, dtype=torch.float64, device=run.theta.device)
            column[place] = found.T
            columns.append(column)
    return torch.cat(columns, 1)


def bases(run: Trajectory, last: int) -> Tensor:
    """(S, P, K) of all seeds."""
    return torch.stack([basis(run, last, s) for s in range(run.theta.shape[1])])


def gradient(sizes: Sizes, ids: Tensor, labels: Tensor) -> Callable[[Tensor], Tensor]:
    """θ (R, P) → gradients (R, P) of the loss of model i on its own batch: ids (R, B, T), labels (R, B)."""
    slope = vmap(grad(loss_of(sizes)), chunk_size=1 if large(sizes) and ids.device.type == "cpu" else None)
    return lambda theta: slope(theta, ids, labels)


def pairs(run: Trajectory, snapshot: int, device: str) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Batches A and B for 9 samples of every seed, in rows: ids (S·9, B, T), labels (S·9, B). The same on each call."""
    drawn = []
    for task, seed in zip(run.tasks, run.seeds, strict=True):
        generator = generator_of(DATA + 1000 * seed + snapshot)
        ids, labels, _ = task.batches(generator, 2 * reported.SAMPLES, run.protocol.batch)
        drawn.append((ids.unflatten(0, (2, -1)), labels.unflatten(0, (2, -1))))
    ids, labels = (torch.cat(part, 1).to(device) for part in zip(*drawn, strict=True))
    return (ids[0], labels[0]), (ids[1], labels[1])


def medians(found: Commutator, seeds: int) -> tuple[Tensor, Tensor]:
    """δ (S, P) of the sample of median defect of each seed, and that defect (S,)."""
    defects = found.defect.reshape(seeds, -1)
    at = defects.argsort(-1)[:, defects.shape[1] // 2]
    rows = torch.arange(seeds, device=at.device)
    return found.delta.reshape(seeds, defects.shape[1], -1)[rows, at], defects[rows, at]


@dataclass(frozen=True, eq=False)
class Measured:
    """Each (points, S): defect in float64; ρ in the execution basis, the same from a float32 δ, ρ in the basis of
    another seed, ρ of the gradient of A; relative error of the float32 δ, and its defect; |δ₃₂ − δ| over what rounding
    of θ alone gives; relative error of η² times the Lie bracket; shares of δ along scaling and rotation directions of
    the head gauge, and the larger of those of the gradient of A."""

    snapshots: list[int]
    k: int
    defect: Tensor
    share: Tensor
    share_single: Tensor
    share_other: Tensor
    share_gradient: Tensor
    single_error: Tensor
    defect_single: Tensor
    rounding: Tensor
    bracket_error: Tensor
    scaling: Tensor
    rotation: Tensor
    gauge_gradient: Tensor


def measure(run: Trajectory, setting: Setting, every: int, what: str) -> Measured:
    """At every `every`-th snapshot from the fifth on."""
    n, seeds = run.theta.shape[:2]
    points = list(range(RENEWED, n, every))
    rows: list[list[Tensor]] = []
    current, made = None, -1
    for at in points:
        setting.tick(f"commutators: {what}", at / n)
        if made != at - at % RENEWED:
            made = at - at % RENEWED
            current = bases(run, made)
        assert current is not None
        rows.append(_at(run, at, current, setting.device, seeds))
    columns = [torch.stack([p.cpu() for p in part]) for part in zip(*rows, strict=True)]
    assert current is not None
    return Measured(points, current.shape[-1], *columns)


def _at(run: Trajectory, at: int, basis_: Tensor, device: str, seeds: int) -> list[Tensor]:
    (ids_a, labels_a), (ids_b, labels_b) = pairs(run, at, device)
    a, b = gradient(run.sizes, ids_a, labels_a), gradient(run.sizes, ids_b, labels_b)
    theta = run.theta[at].repeat_interleave(reported.SAMPLES, 0)
    double = commutator(a, b, theta.double(), reported.LEARNING_STEP)
    single = commutator(a, b, theta.float(), reported.LEARNING_STEP)
    delta, defect = medians(double, seeds)
    delta_single, defect_single = medians(single, seeds)
    error = (single.delta - double.delta).norm(dim=-1) / double.delta.norm(dim=-1)
    first = slice(0, len(theta), reported.SAMPLES)
    a1, b1 = (gradient(run.sizes, i[first], y[first]) for i, y in ((ids_a, labels_a), (ids_b, labels_b)))
    leading = reported.LEARNING_STEP**2 * bracket(a1, b1, theta[first].double())
    exact = double.delta[first]
    g_a = a1(theta[first].double())
    along, flat = (gauges.shares_along(run.sizes, theta[first].double(), each) for each in (exact, g_a))
    noise = (single.delta - double.delta).norm(dim=-1) / rounding_floor(theta.float())
    return [
        defect,
        share_in(delta, basis_),
        share_in(delta_single.double(), basis_),
        share_in(delta, basis_.roll(1, 0)),
        share_in(g_a, basis_),
        error.reshape(seeds, -1).median(-1).values,
        defect_single.double(),
        noise.reshape(seeds, -1).median(-1).values,
        (leading - exact).norm(dim=-1) / exact.norm(dim=-1),
        along["scaling"],
        along["rotation"],
        torch.maximum(*flat.values()),
    ]


def rounding_floor(theta: Tensor) -> Tensor:
    """(R,) the norm of θ_AB − θ_BA that rounding gives by itself: four subtractions, each off by up to half a unit
    in the last place of θ (variance 1/12 of its square)."""
    ulp = torch.nextafter(theta.abs(), torch.full_like(theta, torch.inf)) - theta.abs()
    return (ulp.double().square().sum(-1) * 4 / 12).sqrt()
