"""The numbers a table keeps of many errors, and their histogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from symgauge.errors import InvalidInput
from symgauge.experiments.result import Comparison, Series

EPSILON = float(torch.finfo(torch.float64).eps)
FACTOR = 2.0
"""Errors agree within this factor: order of summation and draws move them less, another protocol moves them more."""


class Distribution(NamedTuple):
    """Of the errors of so many trials. between: the part of the standard deviation that lies between elements."""

    trials: int
    maximum: float
    mean: float
    std: float
    median: float
    p95: float
    between: float

    def quantiles(self) -> tuple[float, float, float]:
        """Median, 95th percentile, maximum."""
        return self.median, self.p95, self.maximum


def distribution(errors: Tensor) -> Distribution:
    """errors: (E, N), a row per element. Raises InvalidInput for none, or for NaN or infinity among them."""
    if errors.numel() < 2:
        raise InvalidInput(f"a distribution needs at least two errors; there are {errors.numel()}")
    if not bool(torch.isfinite(errors).all()):
        raise InvalidInput("an error is no finite number, so nothing can be said of the trials")
    values = errors.flatten().sort().values
    # torch.quantile refuses more than 16 million numbers; the nearest rank is exact enough for counts like these.
    median, p95 = (values[min(len(values) - 1, int(share * len(values)))] for share in (0.5, 0.95))
    between = float(errors.mean(-1).std()) if len(errors) > 1 else 0.0
    return Distribution(
        errors.numel(), float(values[-1]), float(values.mean()), float(values.std()), float(median), float(p95), between
    )


def compared(
    name: str, reported: Sequence[str], found: Distribution, choices: Mapping[str, Distribution]
) -> list[Comparison]:
    """Maximum, mean and standard deviation beside the reported ones; choices: what other admissible ones gave."""
    labels = {"maximum": "maximum", "mean": "mean", "standard deviation": "std"}
    return [
        Comparison(
            f"{name}: {label}",
            float(text),
            getattr(found, part),
            FACTOR,
            choices={choice: getattr(other, part) for choice, other in choices.items()},
        )
        for (label, part), text in zip(labels.items(), reported, strict=True)
    ]


RATIO_COLUMNS = ["maximum", "mean", "standard deviation", "ratio of maxima", "of means", "of standard deviations"]


def over_reported(reported: Sequence[str], found: Distribution) -> list[float]:
    """A row under RATIO_COLUMNS: ours, then ours over the reported ones."""
    ours = [found.maximum, found.mean, found.std]
    return [*ours, *(value / float(text) for value, text in zip(ours, reported, strict=True))]


COLUMNS = ["trials", "maximum", "mean", "standard deviation", "max in ε", "(max − mean) / std"]


def cells(found: Distribution) -> list[float | int]:
    """A row under COLUMNS."""
    above = (found.maximum - found.mean) / found.std if found.std else 0.0
    return [
        found.trials, found.maximum, found.mean, found.std, round(found.maximum / EPSILON, 2), round(above, 2)
    ]  # fmt: skip


BINS = 60


def histogram(label: str, errors: Tensor) -> Series:
    """Share of trials per bin, as steps, with fewer bins for fewer trials. Raises InvalidInput if all are equal."""
    values = errors.flatten().to("cpu", torch.float64)
    low, high = float(values.min()), float(values.max())
    if not low < high:
        raise InvalidInput(f"{label}: all errors are {low}, which makes no histogram")
    bins = max(5, min(BINS, round(0.7 * len(values) ** 0.5)))
    # Scaled to [0, 1]: torch.histc loses its bins at 1e-15.
    shares = torch.histc((values - low) / (high - low), bins, 0, 1) / len(values)
    width = (high - low) / bins
    return Series(label, [low + (i + 0.5) * width for i in range(bins)], shares.tolist(), "steps")
