"""Numbers that the source reports, with their place. Text, so that the reported precision stays visible."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

EPSILON = "2.22e-16"  # §6 and below Table 2: machine epsilon of float64


class Heads(NamedTuple):
    """Sizes of one attention layer."""

    h: int
    d_k: int
    d_v: int
    d_model: int


# F.1.2: name, sizes, batch size.
CONFIGURATIONS = {
    "Small": (Heads(4, 64, 64, 256), 32),
    "Medium": (Heads(8, 64, 64, 512), 32),
    "Large": (Heads(12, 128, 128, 1536), 16),
}

# Table 2: relative error under transformations in G_max: maximum, mean, standard deviation, in the order of F.1.2.
TABLE_2 = {
    "Small": ("3.66e-15", "2.06e-15", "1.91e-16"),
    "Medium": ("3.17e-15", "2.31e-15", "1.33e-16"),
    "Large": ("5.28e-15", "4.25e-15", "1.75e-16"),
}

# Table 3: the same, for one sector at a time.
TABLE_3 = {
    "QK only": ("5.61e-16", "4.36e-16", "2.45e-17"),
    "VO only": ("4.61e-15", "3.29e-15", "1.59e-16"),
    "QK + VO": ("4.74e-15", "3.31e-15", "1.84e-16"),
    "Permutation only": ("1.76e-15", "1.18e-15", "1.35e-16"),
}

# Table 4: relative change under transformations outside G_max: median, 95th percentile, maximum.
TABLE_4 = {
    "Cross-head mixing": ("1.01", "1.10", "1.12"),
    "Non-commuting (RoPE)": ("0.034", "0.057", "0.062"),
    "Random orthogonal": ("0.89", "0.95", "0.98"),
}

# Table 5: total seconds, milliseconds per transformation.
TABLE_5 = {"Small": ("18.51", "0.19"), "Medium": ("32.33", "0.32"), "Large": ("170.82", "1.71")}

# Table 6: sizes, maximal error under transformations in G_max.
TABLE_6 = {
    "Config A": (Heads(8, 64, 128, 1024), "4.91e-15"),
    "Config B": (Heads(8, 128, 64, 512), "5.02e-15"),
    "Config C": (Heads(12, 96, 64, 768), "4.77e-15"),
    "GPT-2": (Heads(12, 64, 64, 768), "5.11e-15"),
    "BERT-Base": (Heads(12, 64, 64, 768), "4.89e-15"),
    "GPT-3 config": (Heads(96, 128, 128, 12288), "7.33e-15"),
    "GPT-2 (10k steps)": (Heads(12, 64, 64, 768), "5.44e-15"),
    "GPT-2 (converged)": (Heads(12, 64, 64, 768), "5.67e-15"),
}

# Table 7: h, d_k, d_v, predicted nullity. d_model is not in the table; Table 1, A2 makes it h d_v.
TABLE_7 = ((4, 64, 64, 32_768), (8, 64, 64, 65_536), (12, 64, 128, 245_760))

# F.1.1: memory of the graphics card, in bytes.
CARD_BYTES = 95 * 10**9

# Table 8: test statistic, p-value.
TABLE_8 = {
    "Shapiro-Wilk": ("0.994", "0.082"),
    "Anderson-Darling": ("0.731", "0.064"),
    "Kolmogorov-Smirnov": ("0.021", "0.071"),
}

# F.7: percentiles of the error.
PERCENTILES = {50: "2.1e-15", 90: "4.2e-15", 99: "5.1e-15", 100: "5.28e-15"}

# Abstract and §7.1: parameters of the two models whose redundancy is quoted.
BASE_PARAMETERS = 110 * 10**6
GPT_3_PARAMETERS = 175 * 10**9


def exact(text: str) -> Fraction:
    """The reported number as it stands."""
    return Fraction(text)


def interval(text: str) -> tuple[Fraction, Fraction]:
    """All numbers that round to the reported one: half a unit of its last digit to each side."""
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    half = Fraction(1, 2) * Fraction(10) ** (int(exponent or 0) - decimals)
    return exact(text) - half, exact(text) + half


def epsilons(text: str) -> float:
    """A reported error in units of the reported machine epsilon."""
    return float(exact(text) / exact(EPSILON))
