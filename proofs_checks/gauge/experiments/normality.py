"""Tests of normality with estimated mean and variance, on one sample, with p-values that hold for that case."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from symgauge.errors import InvalidInput

Sample = NDArray[np.float64]
SHAPIRO_LIMIT = 5000  # Royston's approximation of its p-value goes no further (Applied Statistics 44, 1995, R94)


@dataclass(frozen=True)
class Normality:
    """Statistics and p-values of Shapiro-Wilk (W), Anderson-Darling (A²) and Kolmogorov-Smirnov (D), and the shape."""

    count: int
    w: float
    w_p: float
    a2: float
    a2_p: float
    d: float
    d_p: float
    skewness: float
    kurtosis: float
    """Excess."""

    @property
    def p_values(self) -> tuple[float, float, float]:
        """In the order of Table 8."""
        return self.w_p, self.a2_p, self.d_p


def normality(sample: Sample, repetitions: int | None = None) -> Normality:
    """All three tests on `sample` (n,), n ≥ 8.

    p-values of A² and D by simulation of normal samples of the same size (for D this is Lilliefors' test), never below
    1 / (repetitions + 1); repetitions: 999, or 199 for large samples. W on at most 5,000 values, evenly picked.
    Raises InvalidInput for a sample that is too small, constant or not finite.
    """
    sample = np.asarray(sample, dtype=np.float64).ravel()
    if len(sample) < 8 or not np.isfinite(sample).all() or np.ptp(sample) == 0:
        raise InvalidInput(
            f"a test of normality needs 8 or more different finite numbers, not {len(sample)} like these"
        )
    n = len(sample)
    repetitions = repetitions or (999 if n <= 10_000 else 199)
    a2, d = (
        stats.goodness_of_fit(
            stats.norm, sample, statistic=name, n_mc_samples=repetitions, rng=np.random.default_rng(n)
        )
        for name in ("ad", "ks")
    )
    picked = sample[np.linspace(0, n - 1, min(n, SHAPIRO_LIMIT)).astype(int)]
    tests = [x for found in (stats.shapiro(picked), a2, d) for x in (found.statistic, found.pvalue)]
    return Normality(n, *[float(x) for x in (*tests, stats.skew(sample), stats.kurtosis(sample))])


def quantiles(sample: Sample, points: int = 200) -> tuple[Sample, Sample]:
    """Normal quantiles and those of the standardised sample: a Q-Q plot."""
    z = np.sort((sample - sample.mean()) / sample.std(ddof=1))
    at = np.unique(np.linspace(0, len(z) - 1, points).astype(int))
    at = np.unique(np.concatenate([at, np.arange(min(10, len(z))), np.arange(max(0, len(z) - 10), len(z))]))
    return special.ndtri((at + 0.5) / len(z)), z[at]


def variance_shares(table: Sample) -> dict[str, float]:
    """Shares of the variance of a crossed table (elements, inputs) that go with the row, the column, and neither.

    Two-way random effects by the method of moments; 0 where the estimate is negative.
    """
    rows, columns = table.shape
    if min(rows, columns) < 2:
        raise InvalidInput(f"shares of the variance need at least two elements and two inputs, not {table.shape}")
    mean, by_row, by_column = table.mean(), table.mean(1, keepdims=True), table.mean(0, keepdims=True)
    rest = ((table - by_row - by_column + mean) ** 2).sum() / ((rows - 1) * (columns - 1))
    row = max(0.0, (by_row.var(ddof=1) * columns - rest) / columns)
    column = max(0.0, (by_column.var(ddof=1) * rows - rest) / rows)
    total = row + column + rest
    return {"element": float(row / total), "input": float(column / total), "rest": float(rest / total)}
