"""Figures 1 to 3, F.5.3: the loss along gauge orbits, how far the parameters move, and the straight line between."""

from __future__ import annotations

import torch
from torch import Tensor

from proofs_checks.gauge.experiments import figure_1_choices
from proofs_checks.gauge.experiments.figure_1_choices import RELATIVE, Choice
from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.orbits import RESIDUALS, Path, at_distance, follow, reach, straight
from proofs_checks.gauge.experiments.trials import TOKENS
from proofs_checks.gauge.experiments.weights import LAWS, LENGTHS
from proofs_checks.gauge.reported import LOSS_VARIATION, ORBIT_DISTANCE
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

SIZES = Sizes(4, 64, 64, 256)
SEQUENCES = {"small": 2, "paper": 32}  # F.1.2: 32
PATHS = {"small": 2, "paper": 10}
STEP = 0.25
STEPS = 24  # t up to 6
LIMIT, DISTANCE = float(LOSS_VARIATION), float(ORBIT_DISTANCE)
LINE = 21
TAKEN = Choice("Small", "N(0, 1/d)", TOKENS, "target N(0, 1)", RELATIVE)
ALONG = "t: how far along the orbit exp(tX)θ"


def run(setting: Setting) -> Result:
    times = STEP * torch.arange(1, STEPS + 1, dtype=torch.float64)
    sequences, count = SEQUENCES[setting.scale], setting.seeds or PATHS[setting.scale]
    paths = []
    for number in range(count):
        setting.tick("orbit", 0.4 * number / count)
        paths.append(follow(SIZES, setting, setting.seed + number, times, sequences, TOKENS))
    stop = max(at_distance(path, DISTANCE) for path in paths)
    t = float(times[stop])
    variations = {name: max(float(p.change[name][: stop + 1].max()) for p in paths) for name in RESIDUALS}
    choices = figure_1_choices.swept(setting, times, sequences, DISTANCE)
    choices[TAKEN] = variations[TAKEN.target]
    reached = {name: min(reach(p, name, LIMIT) for p in paths) for name in RESIDUALS}
    setting.tick("straight line", 0.8)
    lines = straight(SIZES, setting, setting.seed, t, LINE, sequences, TOKENS)
    barriers = {name: float(line.max()) for name, (_, line) in lines.items()}
    return Result(
        key="figure-1",
        title="Loss along gauge orbits",
        place="Figures 1-3, F.5.3",
        protocol=f"$\\gamma(t) = \\exp(tX)\\,\\theta_0$ for a layer with {SIZES}, {sequences} sequences of {TOKENS} "
        f"tokens, float64, {count} paths, $t$ up to {float(times[-1]):g}. $X$ is general (independent entries of "
        f"variance 1 / "
        "width, so $t$ counts factors of $e$). Mean squared error to a target that has nothing to do with the "
        "layer, as "
        "in F.5.2, or to its own output with noise of 10 % or 1 %, that is, near a minimum. Control: the straight line "
        "between the same end points.",
        comparisons=[
            Comparison(
                "largest variation of the loss up to distance 100",
                LIMIT,
                choices[TAKEN],
                limit=True,
                choices={str(choice): value for choice, value in choices.items() if choice != TAKEN},
                note=f"{TAKEN}; $\\|\\theta_0\\|_F$ = {paths[0].size:.3g}",
            ),
        ],
        tables=[_table(paths[0]), _barriers(reached, barriers, t), figure_1_choices.table(choices, LIMIT)],
        figures=[_loss(paths[0]), _distances(paths), _connectivity(lines, t)],
        settings={"seed": setting.seed, "tokens": TOKENS, "sequences": sequences, "paths": count},
        open_choices={
            "length of $X$, range of $t$": "entries of variance 1 / width; $t$ from 0 to 6",
            "loss": "mean and sum of squared errors, three targets",
            "variation": "relative to the loss at $t = 0$, and absolute",
            "configuration, sequence length": "all three; " + " and ".join(map(str, LENGTHS)) + " tokens",
            "distribution of weights": "; ".join(LAWS),
        },
        findings=_findings(paths, t, variations, reached, barriers, choices),
    )


def _findings(
    paths: list[Path],
    t: float,
    variations: dict[str, float],
    reached: dict[str, float],
    barriers: dict[str, float],
    choices: dict[Choice, float],
) -> list[str]:
    first, near, nearest = paths[0], "residual 10 %", "residual 1 %"
    at = at_distance(first, DISTANCE)
    fits = variations["target N(0, 1)"] < LIMIT
    return [
        f"Up to distance 100, about {DISTANCE / first.size:.1f} times the length of the parameters, the loss "
        + ("varies by less" if fits else "varies by **more**")
        + f" than 1e-14 for a random target ({variations['target N(0, 1)']:.1e}).",
        f"Over all that is open the variation goes from {min(choices.values()):.1e} to {max(choices.values()):.1e}: "
        + "; ".join(f"{name} {low:.1e} to {high:.1e}" for name, (low, high) in _by_variation(choices).items())
        + f". {sum(value <= LIMIT for value in choices.values())} of {len(choices)} choices keep the limit.",
        f"That figure depends on the target more than on the symmetry: for a residual of 1 % the variation is "
        f"{variations[nearest]:.1e}, because the function itself changes by {float(first.error[at]):.1e} there.",
        f"Constancy ends with the precision: 1e-14 is kept up to distance {reached['target N(0, 1)']:.3g}, "
        f"{reached[near]:.3g} and {reached[nearest]:.3g} for the three targets; the error grows with the condition "
        f"of $\\exp(tX)$, "
        f"which is {float(first.condition[at]):.2g} at distance 100 and {float(first.condition[-1]):.1e} at the end.",
        f"On the straight line between the same end points ($t = 0$ and {t:g}) the loss rises to {barriers[near]:.3g} "
        f"and {barriers[nearest]:.3g} times its value at the ends, for residuals of 10 % and 1 %. The orbit "
        f"connects them "
        "without a barrier, which the line does not. It connects equal functions only; nothing follows for "
        "different minima.",
    ]


def _by_variation(choices: dict[Choice, float]) -> dict[str, tuple[float, float]]:
    kinds = dict.fromkeys(choice.variation for choice in choices)
    values = {kind: [v for choice, v in choices.items() if choice.variation == kind] for kind in kinds}
    return {kind: (min(each), max(each)) for kind, each in values.items()}


def _table(path: Path) -> Table:
    rows = []
    for i in range(3, len(path.times), 4):
        rest = [float(path.change[name][i]) for name in RESIDUALS]
        row = [path.times[i], path.distance[i], path.condition[i], path.error[i]]
        rows.append([*(float(f"{float(x):.3g}") for x in row), *rest])
    columns = ["t", "distance", "condition of exp(tX)", "error of the function", *RESIDUALS]
    return Table("Along the first path: relative variation of the loss by target", columns, rows)


def _barriers(reached: dict[str, float], barriers: dict[str, float], t: float) -> Table:
    rows = [[name, float(f"{reached[name]:.3g}"), float(f"{barriers[name]:.4g}")] for name in RESIDUALS]
    columns = ["target", "distance with variation below 1e-14", "highest loss on the line / loss at the ends"]
    return Table(f"Orbit and straight line (end points t = 0 and {t:g})", columns, rows)


def _loss(path: Path) -> Figure:
    times = path.times.tolist()
    floor = 1e-17  # the logarithm of an exact zero
    curves = [Series(name, times, values.clamp_min(floor).tolist()) for name, values in path.change.items()]
    error = Series("error of the function", times, path.error.tolist())
    model = Series("ε × condition", times, (torch.finfo(torch.float64).eps * path.condition).tolist())
    return Figure(
        "figure-1",
        "Relative change of the loss along a gauge orbit, by target. It is rounding, which grows with the condition of "
        "the group element: flat within 1e-14 near the start, and lost in the end. Exact zeros are drawn at 1e-17.",
        [Panel("loss along the orbit", ALONG, "|loss(t) / loss(0) − 1|", [*curves, error, model], "linear", "log",
               {"limit of the source": LIMIT})],
    )  # fmt: skip


def _distances(paths: list[Path]) -> Figure:
    curves = [Series(f"path {n}", p.times.tolist(), p.distance.tolist()) for n, p in enumerate(paths[:6], 1)]
    return Figure(
        "figure-2",
        "How far the parameters move while the function stays: Frobenius distance from the start.",
        [Panel("parameters along the orbit", ALONG, "‖θ(t) − θ(0)‖_F", curves, "linear", "log",
               {"distance 100": DISTANCE, "‖θ(0)‖_F": paths[0].size})],
    )  # fmt: skip


def _connectivity(lines: dict[str, tuple[Tensor, Tensor]], t: float) -> Figure:
    shares = torch.linspace(0, 1, LINE).tolist()
    panels = []
    for name in ("target N(0, 1)", "residual 10 %"):
        orbit, line = lines[name]
        curves = [
            Series("gauge orbit", shares, orbit.tolist(), "line+points"),
            Series("straight line", shares, line.tolist(), "line+points"),
        ]
        panels.append(Panel(f"loss, {name}", "share of the way from θ to exp(tX)θ", "loss / loss at the start", curves))
    return Figure(
        "figure-3",
        f"From θ to exp(tX)θ, t = {t:g}: along the orbit the loss does not change, along the straight line it rises.",
        panels,
    )


EXPERIMENT = Experiment("figure-1", "Loss along gauge orbits", run)
