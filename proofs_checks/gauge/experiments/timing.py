"""Time of the trials, and the rate of a plain matrix product beside it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch

from proofs_checks.gauge.experiments.elements import Elements, sample
from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.subject import Subject, subject
from proofs_checks.gauge.experiments.trials import TOKENS, default_chunk, operations

LEAST_SECONDS = 0.3


class Timing(NamedTuple):
    """seconds: wall clock of the whole protocol after inputs and weights are drawn, namely elements, changed weights,
    attention and errors; drawing: the part for elements. rate, product_rate: FLOP/s of the protocol, counting the
    matrix products of attention alone, every input once unchanged and once per element; and of one float64 product of
    the shape of the largest of them."""

    sizes: Sizes
    tokens: int
    trials: int
    elements: int
    seconds: float
    drawing: float
    rate: float
    product_rate: float

    @property
    def share(self) -> float:
        """Of the product's rate."""
        return self.rate / self.product_rate

    def seconds_for(self, trials: int, elements: int) -> float:
        """Of so many trials under so many elements: drawing goes with the elements, all else with the trials."""
        return self.drawing * elements / self.elements + (self.seconds - self.drawing) * trials / self.trials

    @property
    def milliseconds(self) -> float:
        """Per trial."""
        return 1000 * self.seconds / self.trials


def timed(
    sizes: Sizes,
    inputs: int,
    elements: int,
    device: str = "cpu",
    seed: int = 0,
    repeats: int = 2,
    tokens: int = TOKENS,
) -> Timing:
    """Table 5's protocol, `inputs` × `elements` trials: the fastest of `repeats` runs, after a short one to warm up."""
    g = torch.Generator(device).manual_seed(seed)
    drawn = subject(sizes, inputs, g, tokens=tokens)
    Subject(sizes, drawn.layer, drawn.inputs[:2]).under(sample(sizes, 2, g))
    before = product_rate(sizes, drawn)
    runs = []
    for _ in range(repeats):
        some, drawing = _clocked(partial(sample, sizes, elements, g), device)
        runs.append((drawing + _clocked(partial(_maximum, drawn, some), device)[1], drawing))
    seconds, drawing = min(runs)
    rate = operations(sizes, tokens) * inputs * (elements + 1) / seconds
    product = max(before, product_rate(sizes, drawn))
    return Timing(sizes, tokens, inputs * elements, elements, seconds, drawing, rate, product)


def _maximum(drawn: Subject, some: Elements) -> float:
    return float(drawn.under(some).max())


def product_rate(sizes: Sizes, drawn: Subject) -> float:
    """FLOP/s of the product of as many inputs as the trials take at once with the weights of all projections."""
    chunk = min(len(drawn.inputs), default_chunk(sizes, drawn.inputs.shape[1], drawn.inputs))
    x = drawn.inputs[:chunk].flatten(0, 1)
    weights = torch.cat([part.transpose(0, 1).flatten(1) for part in drawn.layer[:3]], 1)
    out = x @ weights
    device, best, spent = x.device.type, float("inf"), 0.0
    while spent < LEAST_SECONDS:
        _, seconds = _clocked(lambda: torch.mm(x, weights, out=out), device)
        best, spent = min(best, seconds), spent + seconds
    return 2 * x.numel() * weights.shape[1] / best


def _clocked(work: Callable[[], Any], device: str) -> tuple[Any, float]:
    """Result and seconds of wall clock, with the card idle before and after."""

    def wait() -> None:
        if torch.device(device).type == "cuda":
            torch.cuda.synchronize()

    wait()
    start = time.perf_counter()
    result = work()
    wait()
    return result, time.perf_counter() - start
