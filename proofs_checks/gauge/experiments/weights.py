"""What the source leaves open about every error experiment at once: the law of the weights, and the sequence length.

Nothing is said of the weights. The laws are those that somebody who runs the tables again would take unasked: the usual
initialisations of attention layers, and unscaled normal entries, as inputs are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from proofs_checks.gauge.experiments.distribution import Distribution
from proofs_checks.gauge.experiments.elements import uniform
from proofs_checks.gauge.experiments.layer import Layer, Sizes, normal
from proofs_checks.gauge.experiments.subject import SHORT, SMALL_SPREAD, Subject
from proofs_checks.gauge.experiments.trials import PLAIN, TOKENS, Biases, Form
from symgauge.experiments.result import Table


class Law(NamedTuple):
    """Independent entries of mean 0. size(d_model, fan_in, fan_out): standard deviation, or bound of a uniform law."""

    size: Callable[[int, int, int], float]
    flat: bool = False


LAWS = {
    "N(0, 1/d)": Law(lambda d, fan_in, fan_out: d**-0.5),
    "N(0, 0.02²)": Law(lambda d, fan_in, fan_out: SMALL_SPREAD),  # GPT-2, BERT
    "Xavier, uniform": Law(lambda d, fan_in, fan_out: (6 / (fan_in + fan_out)) ** 0.5, flat=True),  # attention in torch
    "U(±1/√fan-in)": Law(lambda d, fan_in, fan_out: fan_in**-0.5, flat=True),  # linear layers in torch
    "N(0, 1)": Law(lambda d, fan_in, fan_out: 1.0),
}
LENGTHS = (TOKENS, SHORT)
GRID = [(law, tokens) for tokens in LENGTHS for law in LAWS]
TAKEN = GRID[0]
Cell = tuple[str, int]


def label(cell: Cell) -> str:
    """A choice in words."""
    return f"{cell[0]}, {cell[1]} tokens"


def subject_of(
    sizes: Sizes, cell: Cell, inputs: int, generator: torch.Generator, form: Form = PLAIN, biased: bool = False
) -> Subject:
    """A layer and inputs (N, n, d) with weights and length of `cell`; biases by the law of their matrix."""
    law, tokens = cell
    h, k, v, d = sizes
    joined = ((d, h * k), (d, h * k), (d, h * v), (h * v, d))

    def entries(which: int, *shape: int) -> Tensor:
        size, flat = LAWS[law].size(d, *joined[which]), LAWS[law].flat
        return size * ((2 * uniform(generator, *shape) - 1) if flat else normal(generator, *shape, device=device))

    device = generator.device
    layer = Layer(*(entries(i, *shape) for i, shape in enumerate(((h, d, k), (h, d, k), (h, d, v), (h, v, d)))))
    x = normal(generator, inputs, tokens, d, device=device)
    biases = Biases(*(entries(i, *shape) for i, shape in enumerate(((h, k), (h, k), (h, v), (d,))))) if biased else None
    return Subject(sizes, layer, x, form, biases)


def grid_table(found: Mapping[tuple[str, Cell], Distribution]) -> Table:
    """Every row of the source's table under every choice."""
    rows = [[name, *cell, f.trials, f.maximum, f.mean, f.std] for (name, cell), f in found.items()]
    columns = ["row", "weights", "tokens", "trials", "maximum", "mean", "standard deviation"]
    return Table("Errors per trial under (87)", columns, rows)


def control_table(found: Mapping[tuple[str, Cell], Distribution], what: str) -> Table:
    """The same with a map that is no symmetry."""
    rows = [[name, *cell, f.median, f.maximum] for (name, cell), f in found.items()]
    return Table(f"Control: {what}", ["row", "weights", "tokens", "median change", "maximum"], rows)


OPEN = {
    "distribution of weights": "; ".join(LAWS),
    "sequence length": " and ".join(f"{tokens}" for tokens in LENGTHS) + " tokens",
    "distribution of inputs": "independent standard normal entries",
}
