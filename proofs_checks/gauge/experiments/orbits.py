"""What happens along a gauge orbit: the loss, the function, how far the parameters move; and on the straight line."""

from __future__ import annotations

import math
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
from proofs_checks.gauge.experiments.weights import subject_of
from symgauge.errors import Undecided
from symgauge.experiments.suite import Setting

RESIDUALS = {"target N(0, 1)": None, "residual 10 %": 0.1, "residual 1 %": 0.01}


@dataclass(frozen=True)
class Path:
    """Along exp(tX)·θ: times (T,), distance ‖θ(t) − θ(0)‖_F, condition (of the worst matrix of exp(tX)), error of the
    function, |loss(t) / loss(0) − 1| by target; loss(0), a mean of so many squares; size: ‖θ(0)‖_F."""

    times: Tensor
    distance: Tensor
    condition: Tensor
    error: Tensor
    change: dict[str, Tensor]
    loss: dict[str, float]
    outputs: int
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


def follow(
    sizes: Sizes,
    setting: Setting,
    seed: int,
    times: Tensor,
    sequences: int,
    tokens: int,
    law: str = "N(0, 1/d)",
    stop: float = math.inf,
) -> Path:
    """law: of the weights, by its name in `weights`; stop: the distance after which no further times are tried.

    Raises Undecided if a loss at t = 0 is zero or not finite.
    """
    device = setting.device
    random = torch.Generator(device).manual_seed(seed)
    drawn = subject_of(sizes, (law, tokens), sequences, random)
    layer, x = drawn.layer, drawn.inputs
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
        if float(rows[-1][0]) >= stop:
            break
    distance, condition, error, *changes = torch.stack(rows).cpu().unbind(-1)
    return Path(
        times[: len(rows)],
        distance,
        condition,
        error,
        dict(zip(wanted, changes, strict=True)),
        {name: float(loss) for name, loss in losses.items()},
        start.numel(),
        float(torch.linalg.vector_norm(layer.flat())),
    )


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


def reach(path: Path, name: str, limit: float) -> float:
    """Distance up to which |loss(t) / loss(0) − 1| stays below limit."""
    above = (path.change[name] > limit).nonzero()
    last = int(above[0]) - 1 if len(above) else len(path.times) - 1
    return float(path.distance[last]) if last >= 0 else 0.0
