"""F.5.3 under all that the source leaves open: the loss, how its variation is taken, layer, weights, length."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

from torch import Tensor

from proofs_checks.gauge.experiments.orbits import RESIDUALS, Path, at_distance, follow
from proofs_checks.gauge.experiments.subject import SIZES
from proofs_checks.gauge.experiments.weights import GRID
from symgauge.experiments.result import Table
from symgauge.experiments.suite import Setting

PATHS = 2
RELATIVE, MEAN, SUM = "relative", "absolute, mean of squares", "absolute, sum of squares"
VARIATIONS = (RELATIVE, MEAN, SUM)


class Choice(NamedTuple):
    """One of what is open: configuration, law of the weights, tokens, target and how the variation is taken."""

    configuration: str
    weights: str
    tokens: int
    target: str
    variation: str

    def __str__(self) -> str:
        return f"{self.variation}; {self.target}; {self.configuration}, {self.weights}, {self.tokens} tokens"


def unit(path: Path, target: str, variation: str) -> float:
    """What a relative change of the loss of 1 is."""
    return {RELATIVE: 1.0, MEAN: path.loss[target], SUM: path.loss[target] * path.outputs}[variation]


def swept(setting: Setting, times: Tensor, sequences: int, distance: float) -> dict[Choice, float]:
    """Largest variation of the loss up to `distance`, over a few paths, under every choice. Raises Undecided where a
    path ends before."""
    found = {}
    for number, (name, (law, tokens)) in enumerate(product(SIZES, GRID)):
        setting.tick(f"{name}, {law}, {tokens} tokens", 0.4 + 0.4 * number / (len(SIZES) * len(GRID)))
        paths = []
        for seed in range(setting.seed, setting.seed + PATHS):
            path = follow(SIZES[name], setting, seed, times, sequences, tokens, law, distance)
            at_distance(path, distance)
            paths.append(path)
        for target, variation in product(RESIDUALS, VARIATIONS):
            values = [unit(path, target, variation) * float(path.change[target].max()) for path in paths]
            found[Choice(name, law, tokens, target, variation)] = max(values)
    return found


def table(found: Mapping[Choice, float], limit: float) -> Table:
    """By variation, target and weights: the interval over configurations and lengths."""
    rows = []
    for key in dict.fromkeys((c.variation, c.target, c.weights) for c in found):
        values = [value for c, value in found.items() if (c.variation, c.target, c.weights) == key]
        rows.append([*key, min(values), max(values), f"{sum(v <= limit for v in values)} of {len(values)}"])
    columns = ["variation", "target", "weights", "smallest", "largest", "within the limit"]
    return Table("Largest variation of the loss up to the distance, over configurations and lengths", columns, rows)
