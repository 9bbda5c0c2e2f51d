"""The source's statistics (Table 8, F.7): which samples could have given them at all."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.stats import norm

from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.normality import normality
from proofs_checks.gauge.experiments.table_8 import separate
from proofs_checks.gauge.goodness_of_fit import anderson_darling, kolmogorov_smirnov, lilliefors, shapiro_wilk
from proofs_checks.gauge.reported import PERCENTILES, TABLE_2, TABLE_8, interval
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import record_outcome
from symgauge.experiments.suite import Setting

TRIALS = 100_000  # F.2.1


def sample_sizes(test: Callable[[float, int], float], name: str, largest: int) -> tuple[int, int]:
    """The smallest and largest n for which the reported statistic and p-value, before rounding, can belong together.

    p falls with n and with the distance of the statistic from its best value, so bisection finds the ends.
    """
    low, high = map(float, interval(TABLE_8[name][0]))
    mild, harsh = (high, low) if name == "Shapiro-Wilk" else (low, high)
    p_low, p_high = map(float, interval(TABLE_8[name][1]))
    return _first(lambda n: test(harsh, n) <= p_high, largest), _first(lambda n: test(mild, n) < p_low, largest) - 1


def _first(condition: Callable[[int], bool], largest: int) -> int:
    low, high = 12, largest
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle + 1, high)
    return low


@checks("tab-8")
def test_goodness_of_fit_table(evidence: EvidenceLog) -> None:
    shapiro = sample_sizes(shapiro_wilk, "Shapiro-Wilk", 5000)
    simple = sample_sizes(kolmogorov_smirnov, "Kolmogorov-Smirnov", TRIALS)
    estimated = sample_sizes(lilliefors, "Kolmogorov-Smirnov", TRIALS)
    evidence.audit(
        "sample sizes that each row allows; one sample would need one size",
        figures={
            "Shapiro-Wilk, n": list(shapiro),
            "Kolmogorov-Smirnov, n": list(simple),
            "with estimated parameters, n": list(estimated),
            "smallest by Kolmogorov-Smirnov": at_most(min(simple[0], estimated[0]), shapiro[1]),
        },
    )
    least = float(interval(TABLE_8["Anderson-Darling"][0])[0])
    reported = float(interval(TABLE_8["Anderson-Darling"][1])[0])
    evidence.audit(
        "largest p of the Anderson-Darling statistic, at any sample size",
        figures={"p": at_least(round(anderson_darling(least), 5), reported)},
    )
    evidence.audit(
        "p of the reported Kolmogorov-Smirnov statistic at the $10^5$ trials of F.2.1",
        figures={"p": at_least(kolmogorov_smirnov(float(interval("0.021")[0]), TRIALS), 0.05)},
    )
    evidence.audit(
        "the sizes and the p-value as corrected",
        on="correction",
        figures={
            "Shapiro-Wilk at most": at_most(shapiro[1], 500),
            "Kolmogorov-Smirnov at least": at_least(min(simple[0], estimated[0]), 1500),
            "Anderson-Darling p": at_most(round(anderson_darling(least), 5), 0.058),
        },
    )
    record_outcome(evidence)
    record_tests(evidence)


# As F.1.2, with heads a quarter as wide.
NARROW = (Sizes(4, 16, 16, 64), Sizes(8, 16, 16, 128), Sizes(12, 32, 32, 384))


def record_tests(evidence: EvidenceLog) -> None:
    """The three tests on one sample: errors of three narrow layers together, each input used once."""
    each = [np.log(separate(sizes, Setting(), 10, 10, 4)).ravel() for sizes in NARROW]
    pooled = np.concatenate(each)
    found = normality(pooled)
    evidence.numeric(
        "p-values of the three tests on one sample of our own: logarithms of errors of three narrow layers together",
        on="reproduction",
        figures={name: at_least(float(f"{p:.0e}"), 0.05) for name, p in zip(TABLE_8, found.p_values, strict=True)},
        cases=len(pooled),
    )
    ideal = norm.ppf((np.arange(len(pooled)) + 0.5) / len(pooled))
    p = min(normality(ideal).p_values)
    evidence.control("the same tests on a sample that is log-normal do not reject", p > 0.5, figures={"p": round(p, 2)})


@checks("F.7a")
def test_percentiles_against_table_2(evidence: EvidenceLog) -> None:
    at = interval(PERCENTILES[50])[1]
    shares = []
    for _, mean, deviation in TABLE_2.values():
        distance = (interval(mean)[0] - at) / interval(deviation)[1]
        # Cantelli: at most 1/(1 + k^2) of any distribution lies k deviations or more below its mean.
        shares.append(1 / (1 + distance**2) if distance > 0 else 1)
    share = round(float(sum(shares) / len(shares)), 4)
    evidence.audit(
        "largest possible share of errors below the reported median", figures={"share": at_least(share, 0.5)}
    )
    evidence.audit("the same share", on="correction", figures={"share": at_most(share, 0.48)})
    largest = max((maximum for maximum, _, _ in TABLE_2.values()), key=float)
    evidence.control(
        "the reported maximum is that of Table 2", kind="audit", figures={"maximum": equal(PERCENTILES[100], largest)}
    )
    record_outcome(evidence)


@checks("F.7b")
def test_percentiles_against_log_normal(evidence: EvidenceLog) -> None:
    (_, median), (ninety, _), (_, reported) = (map(float, interval(PERCENTILES[percent])) for percent in (50, 90, 99))
    deviation = math.log(ninety / median) / norm.ppf(0.9)
    smallest = median * math.exp(deviation * norm.ppf(0.99))
    evidence.audit(
        "smallest 99th percentile that the other two allow, against the reported one",
        figures={"99th percentile": at_most(float(f"{smallest:.3g}"), reported)},
    )
    evidence.audit(
        "the same", on="correction", figures={"99th percentile": at_least(float(f"{smallest:.3g}"), 7.0e-15)}
    )
    record_tests(evidence)
