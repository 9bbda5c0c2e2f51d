"""p-values of goodness-of-fit tests as functions of the statistic and the sample size, without a sample."""

from __future__ import annotations

import math
from itertools import pairwise

from scipy.stats import kstwo, norm


def shapiro_wilk(statistic: float, n: int) -> float:
    """p-value of W by Royston's approximation (Applied Statistics 44, 1995, R94), for 12 <= n <= 5000."""
    x = math.log(n)
    mean = 0.0038915 * x**3 - 0.083751 * x**2 - 0.31082 * x - 1.5861
    deviation = math.exp(0.0030302 * x**2 - 0.082676 * x - 0.4803)
    return float(norm.sf((math.log(1 - statistic) - mean) / deviation))


def kolmogorov_smirnov(statistic: float, n: int) -> float:
    """p-value of D against a fully specified distribution."""
    return float(kstwo.sf(statistic, n))


# Stephens (JASA 69, 1974): modified statistic and its upper tail probability, mean and variance estimated.
LILLIEFORS = ((0.775, 0.15), (0.819, 0.10), (0.895, 0.05), (0.955, 0.025), (1.035, 0.01))


def lilliefors(statistic: float, n: int) -> float:
    """p-value of D against a normal distribution with estimated mean and variance, by interpolation of log p.

    Between the ends of the table, 0.15 and 0.01; outside, the nearest piece is continued.
    """
    modified = statistic * (math.sqrt(n) - 0.01 + 0.85 / math.sqrt(n))
    pieces = list(pairwise(LILLIEFORS))
    (low, p_low), (high, p_high) = next((piece for piece in pieces if modified <= piece[1][0]), pieces[-1])
    weight = (modified - low) / (high - low)
    return math.exp((1 - weight) * math.log(p_low) + weight * math.log(p_high))


def anderson_darling(statistic: float) -> float:
    """p-value of A^2 for normality with estimated parameters, large samples, above 0.6 (D'Agostino and Stephens, 1986).

    Small samples only make it smaller: their correction factor raises the statistic.
    """
    return math.exp(1.2937 - 5.709 * statistic + 0.0186 * statistic**2)
