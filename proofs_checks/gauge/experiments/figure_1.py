"""Figures 1 to 3, F.5.3: the loss along gauge orbits, how far the parameters move, and the straight line between."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from proofs_checks.gauge.experiments.layer import (
    Generator,
    Layer,
    Sizes,
    attend,
    draw,
    draw_generator,
    exponential,
    normal,
)
from symgauge.errors import Undecided
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

SIZES = Sizes(4, 64, 64, 256)
TOKENS = 64
SEQUENCES = {"small": 2, "paper": 32}  # F.1.2: 32
PATHS = {"small": 2, "paper": 10}
STEP = 0.25
STEPS = 24  # t up to 6
LIMIT = 1e-14
DISTANCE = 100.0
RESIDUALS = {"target N(0, 1)": None, "residual 10 %": 0.1, "residual 1 %": 0.01}
LINE = 21
ALONG = "t: how far along the orbit exp(tX)θ"


@dataclass(frozen=True)
class Path:
    """Along exp(tX)·θ: times (T,), distance ‖θ(t) − θ(0)‖_F, condition (of the worst matrix of exp(tX)), error of the
    function, |loss(t) / loss(0) − 1| by residual; size: ‖θ(0)‖_F."""

    times: Tensor
    distance: Tensor
    condition: Tensor
    error: Tensor
    change: dict[str, Tensor]
    size: float


def targets(output: Tensor, generator: torch.Generator) -> dict[str, Tensor]:
    """Independent of the layer (F.5.2), or its own output with noise of a share of its size: near a minimum."""
    noise = normal(generator, *output.shape, device=output.device)
    size = output.square().mean().sqrt()
    return {name: noise if share is None else output + share * size * noise for name, share in RESIDUALS.items()}


def unit_generator(sizes: Sizes, generator: torch.Generator, device: str) -> Generator:
    """X of independent entries N(0, 1 / width): its spectral radius is near 1, so that t counts factors of e."""
    x, y = draw_generator(sizes, generator, device)
    return Generator(x / sizes.d_k**0.5, y / sizes.d_v**0.5)


def mean_square(output: Tensor, target: Tensor) -> Tensor:
    return (output - target).square().mean()


def follow(sizes: Sizes, setting: Setting, seed: int, times: Tensor, sequences: int, tokens: int) -> Path:
    """Raises Undecided if a loss at t = 0 is zero or not finite."""
    device = setting.device
    random = torch.Generator(device).manual_seed(seed)
    layer = draw(sizes, random, sizes.d_model**-0.5, device)
    x = normal(random, sequences, tokens, sizes.d_model, device=device)
    direction = unit_generator(sizes, random, device)
    start = attend(layer, x)
    wanted = targets(start, random)
    losses = {name: mean_square(start, y) for name, y in wanted.items()}
    if not all(bool(loss > 0) for loss in losses.values()):
        raise Undecided("a loss at the start of the path is zero or not a number, so its relative change says nothing")
    rows = []
    for t in times.tolist():
        moved = exponential(layer, direction, t)
        output = attend(moved, x)
        conditions = [torch.linalg.cond(torch.matrix_exp(t * part)).max() for part in direction]
        changes = [(mean_square(output, y) / losses[name] - 1).abs() for name, y in wanted.items()]
        error = torch.linalg.vector_norm(output - start) / torch.linalg.vector_norm(start)
        rows.append(torch.stack([_distance(moved, layer), max(conditions), error, *changes]))
    distance, condition, error, *changes = torch.stack(rows).cpu().unbind(-1)
    size = float(torch.linalg.vector_norm(layer.flat()))
    return Path(times, distance, condition, error, dict(zip(wanted, changes, strict=True)), size)


def _distance(a: Layer, b: Layer) -> Tensor:
    return torch.linalg.vector_norm(a.plus(b, -1.0).flat())


def straight(
    sizes: Sizes, setting: Setting, seed: int, t: float, points: int, sequences: int, tokens: int
) -> dict[str, tuple[Tensor, Tensor]]:
    """By residual: loss / loss(0) along the orbit from θ to exp(tX)θ, and along the straight line, (points,) each."""
    device = setting.device
    random = torch.Generator(device).manual_seed(seed)
    layer = draw(sizes, random, sizes.d_model**-0.5, device)
    x = normal(random, sequences, tokens, sizes.d_model, device=device)
    direction = unit_generator(sizes, random, device)
    start = attend(layer, x)
    wanted = targets(start, random)
    end = exponential(layer, direction, t)
    difference = end.plus(layer, -1.0)
    curves: dict[str, tuple[list[Tensor], list[Tensor]]] = {name: ([], []) for name in wanted}
    for share in torch.linspace(0, 1, points, dtype=torch.float64).tolist():
        on_orbit = attend(exponential(layer, direction, share * t), x)
        on_line = attend(layer.plus(difference, share), x)
        for name, y in wanted.items():
            loss = mean_square(start, y)
            for part, output in zip(curves[name], (on_orbit, on_line), strict=True):
                part.append(mean_square(output, y) / loss)
    return {name: (torch.stack(a).cpu(), torch.stack(b).cpu()) for name, (a, b) in curves.items()}


def at_distance(path: Path, distance: float) -> int:
    """The first time index whose distance is at least `distance`. Raises Undecided if the path does not go so far."""
    beyond = (path.distance >= distance).nonzero()
    if not len(beyond):
        raise Undecided(f"the path ends at distance {float(path.distance.max()):.3g}, before {distance:.3g}")
    return int(beyond[0])


def reach(path: Path, name: str, limit: float = LIMIT) -> float:
    """Distance up to which |loss(t) / loss(0) − 1| stays below limit."""
    above = (path.change[name] > limit).nonzero()
    last = int(above[0]) - 1 if len(above) else len(path.times) - 1
    return float(path.distance[last]) if last >= 0 else 0.0


def run(setting: Setting) -> Result:
    times = STEP * torch.arange(1, STEPS + 1, dtype=torch.float64)
    sequences, count = SEQUENCES[setting.scale], setting.seeds or PATHS[setting.scale]
    paths = []
    for number in range(count):
        setting.tick("orbit", 0.8 * number / count)
        paths.append(follow(SIZES, setting, setting.seed + number, times, sequences, TOKENS))
    stop = max(at_distance(path, DISTANCE) for path in paths)
    t = float(times[stop])
    setting.tick("straight line", 0.8)
    lines = straight(SIZES, setting, setting.seed, t, LINE, sequences, TOKENS)
    variations = {name: max(float(p.change[name][: stop + 1].max()) for p in paths) for name in RESIDUALS}
    reached = {name: min(reach(p, name) for p in paths) for name in RESIDUALS}
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
                variations["target N(0, 1)"],
                limit=True,
                choices={name: value for name, value in variations.items() if name != "target N(0, 1)"},
                note="relative to the loss; $\\|\\theta_0\\|_F$ = " + f"{paths[0].size:.3g}",
            ),
        ],
        tables=[_table(paths[0]), _barriers(reached, barriers, t)],
        figures=[_loss(paths[0]), _distances(paths), _connectivity(lines, t)],
        settings={"seed": setting.seed, "tokens": TOKENS, "sequences": sequences, "paths": count},
        open_choices={
            "length of $X$, range of $t$": "entries of variance 1 / width; $t$ from 0 to 6",
            "loss": "mean squared error, three targets",
            "variation: absolute or relative": "relative to the loss at $t = 0$",
            "configuration, weight scale": f"{SIZES}; $1/\\sqrt{{d}}$",
        },
        findings=_findings(paths, t, variations, reached, barriers),
    )


def _findings(
    paths: list[Path], t: float, variations: dict[str, float], reached: dict[str, float], barriers: dict[str, float]
) -> list[str]:
    first, near, nearest = paths[0], "residual 10 %", "residual 1 %"
    at = at_distance(first, DISTANCE)
    fits = variations["target N(0, 1)"] < LIMIT
    return [
        f"Up to distance 100, about {DISTANCE / first.size:.1f} times the length of the parameters, the loss "
        + ("varies by less" if fits else "varies by **more**")
        + f" than 1e-14 for a random target ({variations['target N(0, 1)']:.1e}).",
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
