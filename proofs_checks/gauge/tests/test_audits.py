"""The arithmetic that the audits of the gauge paper rest on, against independent oracles."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from proofs_checks.gauge import goodness_of_fit as fit
from proofs_checks.gauge.dimension_counts import gauge_dimension, orbit_dimension
from proofs_checks.gauge.reported import Heads, epsilons, exact, interval


@pytest.mark.parametrize("n", [20, 100, 440, 1000, 4000])
def test_shapiro_wilk_against_scipy(n) -> None:
    found = stats.shapiro(np.random.default_rng(n).normal(size=n))
    assert fit.shapiro_wilk(found.statistic, n) == pytest.approx(found.pvalue, rel=1e-6)


@pytest.mark.parametrize("n", [50, 1000])
def test_kolmogorov_smirnov_against_scipy(n) -> None:
    found = stats.kstest(np.random.default_rng(n).normal(size=n), "norm", method="exact")
    assert fit.kolmogorov_smirnov(found.statistic, n) == pytest.approx(found.pvalue, rel=1e-9)


@pytest.mark.parametrize("factor", [0.80, 0.857, 0.93])
def test_lilliefors_against_simulation(factor) -> None:
    n, runs = 150, 8000
    samples = np.sort(np.random.default_rng(3).normal(size=(runs, n)), axis=1)
    scaled = (samples - samples.mean(axis=1, keepdims=True)) / samples.std(axis=1, ddof=1, keepdims=True)
    cumulative, steps = stats.norm.cdf(scaled), np.arange(n) / n
    distances = np.maximum((cumulative - steps).max(axis=1), (steps + 1 / n - cumulative).max(axis=1))
    share = float((distances >= factor / np.sqrt(n)).mean())
    expected = fit.lilliefors(factor / np.sqrt(n), n)
    # Four standard errors of the simulated share, and the table's own two digits.
    assert abs(share - expected) <= 4 * np.sqrt(expected / runs) + 0.03 * expected


@pytest.mark.parametrize(("statistic", "p"), [(0.631, 0.10), (0.752, 0.05), (0.873, 0.025), (1.035, 0.01)])
def test_anderson_darling_against_its_table(statistic, p) -> None:
    assert fit.anderson_darling(statistic) == pytest.approx(p, rel=0.03)


def test_reported_numbers_keep_their_precision() -> None:
    assert interval("27.71") == (Fraction("27.705"), Fraction("27.715"))
    assert interval("2.1e-15") == (Fraction(205, 10**17), Fraction(215, 10**17))
    assert interval("5") == (Fraction(9, 2), Fraction(11, 2))
    assert exact("2.22e-16") == Fraction(222, 10**18)
    assert epsilons("4.44e-16") == 2.0


def test_orbit_dimension_sees_a_degenerate_point() -> None:
    sizes = Heads(2, 2, 3, 4)
    assert orbit_dimension(sizes, seed=5) == gauge_dimension(2, 2, 3) == 26
    assert orbit_dimension(sizes, seed=5, degenerate=True) == 24
