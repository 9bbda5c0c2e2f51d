"""Figure 2 with the optimizer of the text: whether entropy falls by SGD too, under what the text leaves open."""

from __future__ import annotations

import torch
from torch import Tensor

from proofs_checks.manifolds.experiments import runs
from proofs_checks.manifolds.experiments.figure_2 import entropy, last_row, over_training, scaled
from proofs_checks.manifolds.marked_sum import Trajectory
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

TAKEN = "sgd"
NAMES = (TAKEN, "sgd-momentum", "sgd-long")
"""The text names SGD, its rate and batch. It does not say whether with momentum, and has 32 tokens where the code has
16."""
SHARPER = 8.0  # β of the control


def run(setting: Setting) -> Result:
    trained = {name: runs.trajectory(name, setting) for name in NAMES}
    setting.tick("entropy of attention", 0.0)
    labels = {name: _label(run) for name, run in trained.items()}
    found = {name: over_training(run, setting.device) for name, run in trained.items()}
    drops = {name: torch.stack([v[0] - v[-1] for v in each.values()]) for name, each in found.items()}
    falls = {name: (drop > 0).double().mean().item() for name, drop in drops.items()}
    right = {name: runs.accuracies(run, setting.device)[-1] for name, run in trained.items()}
    sharper = {name: _sharpened(run, setting.device) for name, run in trained.items()}
    main = trained[TAKEN]

    def others(values: dict[str, float]) -> dict[str, float]:
        return {labels[name]: values[name] for name in NAMES[1:]}

    means = {name: drop.mean().item() for name, drop in drops.items()}
    return Result(
        key="figure-2-sgd",
        title="Entropy of attention, trained by SGD",
        place="3.2, 4.2, Figure 2",
        protocol=f"As Figure 2, trained as the text says: SGD, rate {main.protocol.rate:g}, batch "
        f"{main.protocol.batch}, {main.protocol.steps} steps as in the code, {len(main.seeds)} "
        f"seed{'s' if len(main.seeds) > 1 else ''} each. What the text leaves open, or says otherwise than the code, "
        "is varied one at a time. Control: the final models with the scores of the last layer times "
        f"{SHARPER:g}, which have to have less entropy than at the start.",
        comparisons=[
            Comparison(
                "share of seeds and $m$ in which entropy falls", 1.0, falls[TAKEN], 1.0, choices=others(falls),
                note=labels[TAKEN],
            ),
            Comparison("fall of entropy, mean", None, means[TAKEN], unit="nats", choices=others(means)),
        ],
        tables=[
            Table(
                "Entropy in nats, mean over seeds",
                ["training", "m", "first snapshot", "last snapshot", "lowest fall of a seed", "highest fall of a seed"],
                [
                    [labels[name], m, *(_short(x) for x in (v[0].mean(), v[-1].mean(), d.min(), d.max()))]
                    for name, each in found.items()
                    for m, v in each.items()
                    for d in (v[0] - v[-1],)
                ],
            ),
            Table(
                "Accuracy, and the control",
                ["training", "chance", "accuracy", f"share in which entropy falls, scores times {SHARPER:g}"],
                [
                    [labels[name], 1 / run.tasks[0].classes, round(float(right[name].mean()), 3), sharper[name]]
                    for name, run in trained.items()
                ],
            ),
        ],
        figures=[_figure(trained, labels, found)],
        settings={"seed": setting.seed, "seeds": len(main.seeds), "sequences": runs.PROBE},
        open_choices={
            "optimizer": "text: SGD, rate 0.001, batch 64, momentum not stated: none, and 0.9; AdamW of the code is "
            "in Figure 2",
            "tokens": f"text: 32, code: 16; {main.sizes.length}, and twice as many",
            "steps": f"not stated in the text; {main.protocol.steps}, as with AdamW",
        },
        findings=[
            "By SGD entropy falls in "
            + ", ".join(f"{100 * falls[name]:.0f} % ({labels[name]})" for name in NAMES)
            + " of the cases of a seed and an m; on average by "
            + ", ".join(f"{means[name]:.2g}" for name in NAMES)
            + " nats.",
            "Accuracy in the end is "
            + ", ".join(f"{float(right[name].mean()):.2f}" for name in NAMES)
            + f", chance {1 / main.tasks[0].classes:.3g}.",
        ],
    )  # fmt: skip


def _short(x: Tensor) -> float:
    return float(f"{float(x):.4g}")


def _label(run: Trajectory) -> str:
    momentum = f"momentum {run.protocol.momentum:g}" if run.protocol.momentum else "no momentum"
    return f"{momentum}, {run.sizes.length} tokens"


def _sharpened(run: Trajectory, device: str) -> float:
    """Share of seeds and m in which the final model with sharper scores has less entropy than the first snapshot."""
    ids, _, number = runs.probe(run.tasks[0], device)
    start, end = run.theta[0], scaled(run.sizes, run.theta[-1], SHARPER)
    rows = [entropy(last_row(run.sizes, theta, ids)).mean(-1) for theta in (start, end)]
    before, after = (torch.stack([each[:, number == m].mean(-1) for m in number.unique()]) for each in rows)
    return (after < before).double().mean().item()


def _figure(trained: dict[str, Trajectory], labels: dict[str, str], found: dict[str, dict[int, Tensor]]) -> Figure:
    curves = [
        Series(f"{labels[name]}, m = {m}", trained[name].steps.tolist(), (v - v[0]).mean(1).tolist(), "line")
        for name, each in found.items()
        for m, v in each.items()
        if m in (min(each), max(each))
    ]
    return Figure(
        "entropy-sgd",
        "Change of the entropy of the last row of attention in the last layer since the first snapshot, mean over "
        "seeds, by SGD.",
        [Panel("trained by SGD", "training step", "change of entropy (nats)", curves)],
    )


EXPERIMENT = Experiment("figure-2-sgd", "Entropy of attention, trained by SGD", run)
