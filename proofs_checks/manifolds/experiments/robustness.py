"""Is the dimension the same for other seeds, harder sums, other tasks and other ways of looking at the path?"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from proofs_checks.manifolds import reported
from proofs_checks.manifolds.experiments import gauges, runs
from proofs_checks.manifolds.experiments.figure_1 import R90, Ranks, ranks
from proofs_checks.manifolds.experiments.measured import bases
from proofs_checks.manifolds.marked_sum import Trajectory
from proofs_checks.manifolds.trajectories import entropy_rank, random_walk_spectrum, rank_at, spectrum
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

NAMES = ("main", "harder", "addition", "feed-forward", "noise")
SHOWN = (*gauges.RAW, *gauges.INVARIANT)


def thinned(run: Trajectory, choice: Tensor) -> Trajectory:
    """Some snapshots only."""
    parts = run.steps[choice], run.theta[choice], run.loss[choice]
    return Trajectory(run.sizes, run.protocol, run.tasks, run.seeds, *parts)


def overlap(run: Trajectory) -> tuple[float, float]:
    """Root mean square cosine between unit vectors in the bases of two seeds, and what random planes per matrix have.

    For K random directions per matrix of N entries: √(K/N).
    """
    found = bases(run, len(run.theta) - 1)
    k = reported.COMPONENTS
    values = [mean_square_cosine(found[i], found[j]) for i in range(len(found)) for j in range(i)]
    return float(torch.stack(values).mean().sqrt()), math.sqrt(k / run.sizes.d**2)


def mean_square_cosine(one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
    """Of unit vectors of one plane with another plane: 0 if orthogonal, 1 if the same. Orthonormal columns."""
    # |BᵢᵀBⱼ|² sums the squared cosines; blocks of different matrices are orthogonal.
    return (one.T @ two).square().sum() / one.shape[-1]


def run(setting: Setting) -> Result:
    trained = {name: runs.trajectory(name, setting) for name in NAMES}
    found, right = {}, {}
    for i, (name, each) in enumerate(trained.items()):
        setting.tick("principal components", i / len(trained))
        found[name] = ranks(each)
        right[name] = runs.accuracies(thinned(each, torch.tensor([len(each.theta) - 1])), setting.device)[0]
    main = trained["main"]
    n = len(main.theta)
    views = {
        f"all {n} snapshots": torch.arange(n),
        f"every second, {n // 2}": torch.arange(0, n, 2),
        f"every fourth, {n // 4}": torch.arange(0, n, 4),
        "first quarter": torch.arange(n // 4),
        "last three quarters": torch.arange(n // 4, n),
    }
    looked = {what: (ranks(thinned(main, choice)), len(choice)) for what, choice in views.items()}
    same, chance = overlap(main)
    low, high = reported.DIMENSION
    middle, factor = (low + high) / 2, high / ((low + high) / 2)
    return Result(
        key="robustness",
        title="Seeds, difficulty, architecture, snapshots",
        place="abstract, 4.1, 4.5",
        protocol="The measurement of Figure 1 on other trainings and on parts of the main one. "
        + "; ".join(
            f"*{name}* ({len(trained[name].seeds)} seeds): {runs.plan(name, setting.paper).what}, "
            f"{trained[name].tasks[0]}"
            for name in NAMES
        )
        + ".",
        comparisons=[
            Comparison(
                f"$r_{{90}}$, four matrices: {name}", middle if name != "noise" else None, _raw(each), factor,
                choices={matrix: each[matrix].double().mean().item() for matrix in gauges.RAW},
            )
            for name, each in found.items()
            if name != "feed-forward"
        ]
        + [
            Comparison("$r_{90}$, four matrices: with feed-forward layers", None, _raw(found["feed-forward"]),
                       note="source: higher, no number"),
            Comparison("overlap of the bases of two seeds", None, same, note="root mean square cosine"),
            Comparison("null: overlap of random planes", None, chance),
        ],
        tables=[_trainings(found, right), _views(looked), _other_rank(main, trained["noise"])],
        figures=[_figure(found)],
        settings={"seed": setting.seed, "seeds": len(main.seeds)},
        open_choices={
            "whose dimension": "the mean of four matrices; each of them beside it",
            "difficulty": "text: m from 1 to 6, C of 8 or 16; code: m from 1 to 4, C = 8",
        },
        findings=_findings(found, right, looked, same, chance),
    )  # fmt: skip


def _raw(found: Ranks) -> float:
    return torch.stack([found[name] for name in gauges.RAW]).double().mean().item()


def _trainings(found: Mapping[str, Ranks], right: Mapping[str, Tensor]) -> Table:
    rows = []
    for name, each in found.items():
        cells = [_spread(each[q].double().mean(0)) for q in SHOWN]
        accuracy = [round(float(x), 3) for x in (right[name].mean(), right[name].min())]
        rows.append([name, len(right[name]), *accuracy, *cells])
    columns = ["training", "seeds", "final accuracy, mean", "lowest", *(f"r90 of {q}" for q in SHOWN)]
    return Table("r90 by training: mean ± standard deviation over seeds of the mean over layers", columns, rows)


def _spread(values: Tensor) -> str:
    """Mean ± standard deviation, where there is more than one value."""
    return f"{values.mean():.2f}" + (f" ± {values.std():.2f}" if len(values) > 1 else "")


def _views(looked: Mapping[str, tuple[Ranks, int]]) -> Table:
    rows = []
    for what, (each, count) in looked.items():
        rows.append([what, round(_raw(each), 2), rank_at(random_walk_spectrum(count))])
    return Table("r90 of parts of the main training", ["snapshots", "four matrices, mean", "random walk"], rows)


def _other_rank(main: Trajectory, noise: Trajectory) -> Table:
    """exp(entropy) of the singular values, which the code calls effective rank too."""
    rows = []
    for what, run in (("main", main), ("noise", noise)):
        values = [
            entropy_rank(spectrum(gauges.quantities(run, layer)[name][:, s]))
            for layer in range(run.sizes.layers)
            for name in gauges.RAW
            for s in range(len(run.seeds))
        ]
        rows.append([what, round(sum(values) / len(values), 2)])
    rows.append(["random walk", round(entropy_rank(random_walk_spectrum(len(main.theta))), 2)])
    return Table(
        "The code's other effective rank, exp(entropy of the normalised singular values)",
        ["path", "mean, four matrices"],
        rows,
        "The code shuffles the snapshots as a control; the order of rows changes no singular value.",
    )


def _figure(found: Mapping[str, Ranks]) -> Figure:
    series = []
    for i, (name, each) in enumerate(found.items()):
        values = [each[q].double().mean(0) for q in SHOWN]
        x = [j + 0.13 * (i - 2) for j, v in enumerate(values) for _ in v]
        series.append(Series(name, x, [float(y) for v in values for y in v], "points"))
    labels = ("$W_Q$", "$W_K$", "$W_V$", "$W_O$", "$W_QW_K^⊤$", "$W_VW_O$")
    panel = Panel(
        "dimension by training", "matrix whose path is measured", R90, series,
        y_scale="log", levels={"random walk": 6.0, "source, 3 to 4": 3.5, "most that 40 snapshots allow": 36.0},
        ticks={label: float(j) for j, label in enumerate(labels)},
    )  # fmt: skip
    return Figure("robustness", "$r_{90}$ of other trainings: a point per seed.", [panel])


def _findings(
    found: Mapping[str, Ranks],
    right: Mapping[str, Tensor],
    looked: Mapping[str, tuple[Ranks, int]],
    same: float,
    chance: float,
) -> list[str]:
    every = {name: _raw(each) for name, each in found.items()}
    (whole, _), *_, (rest, _) = looked.values()
    quarter = list(looked.values())[3][0]
    return [
        "Mean $r_{90}$ of the four matrices: "
        + ", ".join(f"{value:.2f} ({name}, accuracy {float(right[name].mean()):.2f})" for name, value in every.items())
        + ".",
        f"The number depends on which part of training is looked at: {_raw(whole):.2f} for all snapshots, "
        f"{_raw(quarter):.2f} for the first quarter, {_raw(rest):.2f} for the rest.",
        f"The bases of two seeds overlap by {same:.3f}, random planes by {chance:.3f}"
        f"{': orientations are unrelated' if same < 1.2 * chance else ''}.",
    ]


EXPERIMENT = Experiment("robustness", "Seeds, difficulty, architecture, snapshots", run)
