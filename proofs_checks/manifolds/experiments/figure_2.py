"""Figure 2: entropy of attention over training, what moves it and what cannot."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from proofs_checks.manifolds.experiments import gauges, runs
from proofs_checks.manifolds.experiments.figure_1 import moved
from proofs_checks.manifolds.marked_sum import Sizes, Trajectory
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

STEP = 1e-4  # of β in the difference quotient
BETAS = (0.25, 0.5, 1.0, 2.0, 4.0)


def entropy(weights: Tensor) -> Tensor:
    """(…, T) → (…): −Σ a log a in nats."""
    return torch.special.entr(weights).sum(-1)


def last_row(sizes: Sizes, theta: Tensor, ids: Tensor) -> Tensor:
    """(S, N, heads, T): attention of the last position in the last layer, of models (S, P)."""
    return runs.evaluate(sizes, theta, ids)[1][:, :, -1, :, -1]


def over_training(run: Trajectory, device: str) -> dict[int, Tensor]:
    """m → mean entropy (n, S) of the last row, over heads and the sequences with m summands."""
    ids, _, number = runs.probe(run.tasks[0], device)
    rows = torch.stack([entropy(last_row(run.sizes, theta, ids)).mean(-1) for theta in run.theta])
    return {int(m): rows[:, :, number == m].mean(-1).cpu() for m in number.unique()}


def scaled(sizes: Sizes, theta: Tensor, beta: float) -> Tensor:
    """θ (S, P) with the scores of the last layer times β: W_Q and b_Q are."""
    out = theta.clone()
    for name in ("w_q", "b_q"):
        out[:, sizes.slices()[f"{sizes.layers - 1}_{name}"]] *= beta
    return out


def slope_error(run: Trajectory, device: str) -> float:
    """Largest relative difference between the difference quotient of the entropy in β at 1 and −Var of the scores.

    Float64; with log a = score − constant, the variance of the scores under a is that of log a.
    """
    ids = runs.probe(run.tasks[0], device)[0][:256]
    theta = run.theta[-1].double()
    up, down = (entropy(last_row(run.sizes, scaled(run.sizes, theta, 1 + e), ids)) for e in (STEP, -STEP))
    a = last_row(run.sizes, theta, ids)
    log = a.clamp_min(torch.finfo(a.dtype).tiny).log()
    mean = (a * log).sum(-1, keepdim=True)
    variance = (a * (log - mean).square()).sum(-1)
    quotient = (up - down) / (2 * STEP)
    return float((quotient + variance).abs().max() / variance.abs().max())


def gauge_change(run: Trajectory, setting: Setting) -> float:
    """Largest difference of entropy, in nats, when a general gauge element acts on the final models; float64."""
    generator = torch.Generator().manual_seed(setting.seed)
    n, seeds = run.theta.shape[:2]
    qk, vo = (gauges.elements(run.sizes, generator, n, seeds) for _ in range(2))
    ids = runs.probe(run.tasks[0], setting.device)[0][:256]
    before = entropy(last_row(run.sizes, run.theta[-1].double(), ids))
    after = entropy(last_row(run.sizes, moved(run, qk, vo).theta[-1], ids))
    return float((before - after).abs().max())


def run(setting: Setting) -> Result:
    main, noise = (runs.trajectory(name, setting) for name in ("main", "noise"))
    setting.tick("entropy of attention", 0.0)
    found, null = (over_training(r, setting.device) for r in (main, noise))
    right = runs.accuracies(main, setting.device)
    falls = torch.stack([values[-1] < values[0] for values in found.values()])
    drop = torch.stack([values[0] - values[-1] for values in found.values()])
    null_drop = torch.stack([values[0] - values[-1] for values in null.values()])
    top = math.log(main.sizes.length)
    ids, labels, _ = runs.probe(main.tasks[0], setting.device)
    theta = main.theta[-1]
    by_beta = {
        b: (
            float(entropy(last_row(main.sizes, scaled(main.sizes, theta, b), ids)).mean()),
            float(runs.accuracy(main.sizes, scaled(main.sizes, theta, b), ids, labels).mean()),
        )
        for b in BETAS
    }  # fmt: skip
    error, change = slope_error(main, setting.device), gauge_change(main, setting)
    return Result(
        key="figure-2",
        title="Entropy of attention",
        place="4.2, Figure 2",
        protocol=f"{len(main.seeds)} seeds of the main training. $H = -\\sum_j A_{{ij}}\\log A_{{ij}}$ of the last "
        f"row of the last layer, mean over heads and {runs.PROBE} sequences, in nats; at most $\\ln T = {top:.3f}$. "
        "*No task*: labels drawn at random. *Gauge control*: general elements of the head gauge. *Score scaling*: "
        "$W_Q, b_Q$ of the last layer times $\\beta$, which is no gauge element.",
        comparisons=[
            Comparison("share of seeds and $m$ in which entropy falls", 1.0, falls.double().mean().item(), 1.0),
            Comparison("fall of entropy, mean", None, drop.mean().item(), unit="nats"),
            Comparison("null: fall without a task, mean", None, null_drop.mean().item(), unit="nats"),
            Comparison("gauge control: change of entropy", None, change, unit="nats"),
            Comparison("$dH/d\\beta = -\\beta\\,\\mathrm{Var}$, largest relative error", None, error),
        ],
        tables=[
            Table(
                "Entropy in nats, mean over seeds",
                ["", "first snapshot", "last snapshot", "lowest fall of a seed", "highest fall of a seed"],
                [
                    [f"{what}, m = {m}", *(round(float(x), 3) for x in (v[0].mean(), v[-1].mean(), d.min(), d.max()))]
                    for what, each in (("trained", found), ("no task", null))
                    for m, v in each.items()
                    for d in (v[0] - v[-1],)
                ],
            ),
            Table(
                "Final models with the scores of the last layer times β",
                ["β", "entropy (nats)", "accuracy"],
                [[b, round(h, 3), round(a, 3)] for b, (h, a) in by_beta.items()],
            ),
        ],
        figures=[_figure(main, found, null, right, top)],
        settings={"seed": setting.seed, "seeds": len(main.seeds), "sequences": runs.PROBE},
        open_choices={
            "the row called EOS": "there is no such token in the code: the last position, whatever stands there",
            "probe": "code: one batch per m, all sequences with markers at the same places; places vary here",
        },
        findings=[
            f"Entropy falls in {int(falls.sum())} of {falls.numel()} cases of a seed and an m, by "
            f"{drop.mean().item():.2f} nats on average; without a task by {null_drop.mean().item():.2f}.",
            f"No element of the head gauge changes it (largest change {change:.0e} nats), so it says nothing about "
            "where in a fibre the weights are. Any growth of the scores lowers it: along $\\beta W_Q$ its slope is "
            f"$-\\beta\\,\\mathrm{{Var}}$ (relative error {error:.0e}), with or without a manifold.",
            f"The fall is not needed for the answer: with the scores of the last layer scaled by 1/4 entropy is "
            f"{by_beta[0.25][0]:.2f} in place of {by_beta[1.0][0]:.2f} nats, and accuracy {by_beta[0.25][1]:.2f}."
            if by_beta[0.25][1] > 0.9
            else f"The sharpness is used: with the scores of the last layer scaled by 1/4 accuracy falls to "
            f"{by_beta[0.25][1]:.2f}.",
        ],
    )


def _figure(main: Trajectory, found: dict[int, Tensor], null: dict[int, Tensor], right: Tensor, top: float) -> Figure:
    steps = main.steps.tolist()
    curves = [Series(f"m = {m}", steps, values.mean(1).tolist(), "line+points") for m, values in found.items()]
    curves += [Series(f"no task, m = {m}", steps, values.mean(1).tolist()) for m, values in null.items()]
    largest = max(found)
    single = [Series(f"seed {seed}", steps, found[largest][:, i].tolist()) for i, seed in enumerate(main.seeds)]
    learned = [Series(f"seed {seed}", steps, right[:, i].tolist()) for i, seed in enumerate(main.seeds)]
    level = {"uniform over all tokens": top}
    return Figure(
        "entropy",
        "Entropy of the last row of attention in the last layer: mean over seeds (above left), each seed "
        "(above right), and accuracy (below).",
        [
            Panel("mean over seeds", "training step", "entropy (nats)", curves, levels=level),
            Panel(f"each seed, m = {largest}", "training step", "entropy (nats)", single, levels=level),
            Panel("accuracy", "training step", "share of right answers", learned),
        ],
    )


EXPERIMENT = Experiment("figure-2", "Entropy of attention", run)
