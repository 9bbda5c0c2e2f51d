"""F.6.2: how rounding errors of gauge-transformed layers add up with depth, and whether (91) describes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import jvp, vjp

from proofs_checks.gauge.experiments.elements import act, sample
from proofs_checks.gauge.experiments.layer import Layer, Sizes, attend, draw, normal
from symgauge.experiments.result import Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

SMALL, PAPER = Sizes(4, 16, 16, 64), Sizes(12, 64, 64, 768)
LAYERS = 24
RUNS = 3
TOKENS = {"small": 16, "paper": 64}
ITERATIONS = 8  # of the power method for a layer's condition number: within a few percent from below
COHERENT = 1e-10


@dataclass(frozen=True)
class Kind:
    """What surrounds the attention of a layer."""

    residual: bool
    norm: bool
    feed_forward: bool = False


KINDS = {
    "attention alone": Kind(False, False),
    "with norm": Kind(False, True),
    "with residual": Kind(True, False),
    "with residual and norm": Kind(True, True),
    "block with feed-forward": Kind(True, True, True),
}
SCALES = {"1/√d": 1.0, "0.5/√d": 0.5}


@dataclass(frozen=True)
class Growth:
    """Per layer, as ratios to the stream's Frobenius norm: error (after it), local (made in it, from a clean input),
    gain κ (relative growth of the error that comes in, to first order), condition (the largest such growth of any
    error). Geometric means over the runs."""

    error: list[float]
    local: list[float]
    gain: list[float]
    condition: list[float]

    @property
    def exponent(self) -> float:
        """a in error ~ depth^a, by least squares on logarithms; 1 is linear."""
        x = [math.log(i) for i in range(1, len(self.error) + 1)]
        middle = sum(x) / len(x)
        slope = sum((u - middle) * math.log(e) for u, e in zip(x, self.error, strict=True))
        return slope / sum((u - middle) ** 2 for u in x)

    @property
    def linear(self) -> list[float]:
        """ε_l = κ_l ε_{l−1} + e_l with the measured gains: (91) read as a recursion."""
        return self._recursion(self.gain, lambda carried, made: carried + made)

    @property
    def quadratic(self) -> list[float]:
        """ε_l² = (κ_l ε_{l−1})² + e_l²: errors of different layers have independent directions."""
        return self._recursion(self.gain, math.hypot)

    @property
    def worst(self) -> list[float]:
        """(91) read as a recursion, κ_l the layer's condition number as it says."""
        return self._recursion(self.condition, lambda carried, made: carried + made)

    def _recursion(self, gains: Sequence[float], add: Callable[[float, float], float]) -> list[float]:
        found = [self.local[0]]
        for gain, made in zip(gains[1:], self.local[1:], strict=True):
            found.append(add(gain * found[-1], made))
        return found


def _normalise(x: Tensor) -> Tensor:
    return x / x.square().mean(-1, keepdim=True).sqrt()


def _layer(weights: Layer, dense: tuple[Tensor, Tensor] | None, kind: Kind) -> Callable[[Tensor], Tensor]:
    def run(x: Tensor) -> Tensor:
        y = attend(weights, _normalise(x) if kind.norm else x)
        y = x + y if kind.residual else y
        if dense is not None:
            up, down = dense
            y = y + F.gelu(_normalise(y) @ up) @ down
        return y

    return run


def _share(a: Tensor, b: Tensor) -> float:
    return float(torch.linalg.vector_norm(a) / torch.linalg.vector_norm(b))


def condition(function: Callable[[Tensor], Tensor], x: Tensor, generator: torch.Generator) -> float:
    """‖J‖₂ ‖x‖ / ‖f(x)‖ by the power method on JᵀJ."""
    y, pull, *_ = vjp(function, x)
    v, size = normal(generator, *x.shape, device=x.device), x.new_zeros(())
    for _ in range(ITERATIONS):
        v = v / torch.linalg.vector_norm(v)
        size = torch.linalg.vector_norm(image := jvp(function, (x,), (v,))[1])
        (v,) = pull(image)
    return float(size) * _share(x, y)


def one_run(
    kind: Kind, sizes: Sizes, scale: float, layers: int, tokens: int, seed: int, device: str, coherent: float = 0.0
) -> Growth:
    """coherent: a control; adds an error of this relative size to each layer, in the direction of the one there is."""
    generator = torch.Generator(device).manual_seed(seed)
    spread, width = scale * sizes.d_model**-0.5, 4 * sizes.d_model
    x = normal(generator, tokens, sizes.d_model, device=device)
    moved, elements = x, sample(sizes, layers, generator).each()
    errors, local, gains, conditions = [], [], [], []
    for number, element in enumerate(elements):
        weights = draw(sizes, generator, spread, device)
        dense = None
        if kind.feed_forward:
            up = spread * normal(generator, sizes.d_model, width, device=device)
            dense = up, scale * width**-0.5 * normal(generator, width, sizes.d_model, device=device)
        plain = _layer(weights, dense, kind)
        changed = _layer(act(weights, element), dense, kind)
        output, other, alone = plain(x), changed(moved), changed(x)
        if coherent:
            way = other - output
            added = way * (coherent * torch.linalg.vector_norm(output) / torch.linalg.vector_norm(way))
            other, alone = other + added, alone + added
        local.append(_share(alone - output, output))
        if number:
            carried = jvp(plain, (x,), (moved - x,))[1]
            gains.append(_share(carried, output) / _share(moved - x, x))
        else:
            gains.append(1.0)  # nothing comes into the first layer
        conditions.append(condition(plain, x, generator))
        x, moved = output, other
        errors.append(_share(moved - x, x))
    return Growth(errors, local, gains, conditions)


def growth(
    kind: Kind, sizes: Sizes, scale: float, layers: int, tokens: int, runs: int, setting: Setting, coherent: float = 0.0
) -> Growth:
    """Runs with seeds setting.seed, + 1, …, and their geometric means."""
    seeds = range(setting.seed, setting.seed + runs)
    found = [one_run(kind, sizes, scale, layers, tokens, seed, setting.device, coherent) for seed in seeds]

    def mean(name: str) -> list[float]:
        return [
            math.exp(sum(map(math.log, each)) / runs) for each in zip(*(getattr(f, name) for f in found), strict=True)
        ]

    return Growth(mean("error"), mean("local"), mean("gain"), mean("condition"))


def run(setting: Setting) -> Result:
    sizes, layers = (PAPER if setting.paper else SMALL), LAYERS
    tokens, runs = TOKENS[setting.scale], setting.seeds or RUNS
    found: dict[tuple[str, str], Growth] = {}
    for number, (label, scale) in enumerate(SCALES.items()):
        for part, (name, kind) in enumerate(KINDS.items()):
            setting.tick(f"{name}, weights ~ {label}", (number + part / len(KINDS)) / (len(SCALES) + 0.2))
            found[label, name] = growth(kind, sizes, scale, layers, tokens, runs, setting)
    setting.tick("control", 0.95)
    control = growth(KINDS["with residual and norm"], sizes, 1.0, layers, tokens, runs, setting, COHERENT)
    return Result(
        key="depth",
        title="Errors over depth",
        place="F.6.2, (91)",
        protocol=f"{layers} layers with {sizes}, {tokens} tokens, float64, {runs} runs. Every layer is transformed "
        f"by an "
        "element of its own, drawn as in F.1.3; the error is that of the stream after each layer, relative. Beside "
        "it: the "
        "local error $e_l$ that a layer makes on a clean input, the gain $\\kappa_l$ by which it carries on the "
        "error that "
        "comes in (to first order), and its condition number, the largest gain of any error. Control: errors of "
        f"relative size {COHERENT:.0e} that all point the same way.",
        tables=[_table(found, control), _recursions(found)],
        figures=[_figure(found, control)],
        settings={"seed": setting.seed, "layers": layers, "tokens": tokens, "runs": runs},
        open_choices={
            "depth, layers, weights": f"{layers} layers of independent random weights, two scales",
            "norm": "RMS without gain, before attention (and feed-forward)",
            "(91)": "read as the recursion $\\varepsilon_l = \\kappa_l \\varepsilon_{l-1} + e_l$",
            "$\\kappa_l$": "the layer's relative condition number, and the gain of the error that is there",
        },
        findings=_findings(found, control),
    )


def _findings(found: dict[tuple[str, str], Growth], control: Growth) -> list[str]:
    main = {name: found["1/√d", name] for name in KINDS}
    bare = [main["attention alone"].exponent, main["with norm"].exponent]
    full, alone = main["with residual and norm"], main["with residual"]
    tame = [g for g in found.values() if g.exponent < 1]
    linear = [g.linear[-1] / g.error[-1] for g in tame]
    quadratic = [g.quadratic[-1] / g.error[-1] for g in tame]
    below = "sub-linearly" if max(bare) < 1 else "**not always** sub-linearly"
    return [
        f"Errors grow {below} without any residual connection too: with exponents {bare[0]:.2f} and {bare[1]:.2f}, "
        f"against {full.exponent:.2f} with residual and norm.",
        f"Residual connections without a norm give exponent {alone.exponent:.2f} at weight scale 1/√d, and an error of "
        f"{alone.error[-1]:.1e} in the end: the stream grows, attention sharpens, and errors are amplified. So "
        f"they are "
        "not what damps.",
        f"Where growth is sub-linear, adding squares, "
        f"$\\varepsilon_l^2 = \\kappa_l^2\\varepsilon_{{l-1}}^2 + e_l^2$, gives "
        f"the measured error within {min(quadratic):.2f} to {max(quadratic):.2f}; adding, as in (91), is too large by "
        f"{min(linear):.1f} to {max(linear):.1f}. The errors of different layers have independent directions; "
        f"that, and no "
        "damping, makes them grow like a root of the depth.",
        f"With $\\kappa_l$ the condition number, as (91) says, the sum is too large by at least "
        f"{min(g.worst[-1] / g.error[-1] for g in tame):.1e}.",
        f"Control: errors of one direction add up with exponent {control.exponent:.2f}.",
    ]


def _table(found: dict[tuple[str, str], Growth], control: Growth) -> Table:
    columns = [
        "weights",
        "layer",
        "exponent",
        "error, first",
        "error, last",
        "local, last",
        "mean gain",
        "mean condition",
    ]
    rows = [[scale, name, *_row(g)] for (scale, name), g in found.items()]
    rows.append(["1/√d", "control: one direction", *_row(control)])
    return Table("Growth of the relative error with depth", columns, rows, note="Exponent 1 is linear growth.")


def _row(g: Growth) -> list[float]:
    def mean(values: Sequence[float]) -> float:
        return math.exp(sum(map(math.log, values)) / len(values))

    numbers = (g.exponent, g.error[0], g.error[-1], g.local[-1], mean(g.gain[1:]), mean(g.condition[1:]))
    return [float(f"{x:.3g}") for x in numbers]


def _recursions(found: dict[tuple[str, str], Growth]) -> Table:
    rows = []
    for (scale, name), g in found.items():
        ratios = [each[-1] / g.error[-1] for each in (g.quadratic, g.linear, g.worst)]
        rows.append([scale, name, *(float(f"{ratio:.3g}") for ratio in ratios)])
    columns = ["weights", "layer", "squares added", "(91), measured gains", "(91), condition numbers"]
    return Table("Predicted over measured error after the last layer", columns, rows)


def _figure(found: dict[tuple[str, str], Growth], control: Growth) -> Figure:
    depths = [float(i) for i in range(1, len(control.error) + 1)]
    curves = [Series(name, depths, found["1/√d", name].error, "line+points") for name in KINDS]
    start = found["1/√d", "with residual and norm"].error[0]
    curves.append(Series("linear growth", depths, [start * d for d in depths]))
    g = found["1/√d", "with residual and norm"]
    recursions = [
        Series("measured", depths, g.error, "points"),
        Series("squares added", depths, g.quadratic),
        Series("(91), measured gains", depths, g.linear),
        Series("(91), condition numbers", depths, g.worst),
    ]
    return Figure(
        "depth",
        "Left: relative error of the stream after each layer (weights ~ 1/√d). Growth is slower than linear with and "
        "without residual connections, and fastest for residual connections without a norm. Right: three ways to "
        "predict "
        "it, for layers with residual and norm.",
        [
            Panel("error by depth", "layers", "relative error", curves, "log", "log"),
            Panel("predictions, residual and norm", "layers", "relative error", recursions, "log", "log"),
        ],
    )


EXPERIMENT = Experiment("depth", "Errors over depth", run)
