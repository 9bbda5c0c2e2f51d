"""Numbers that the source reports, read from its quoted words, with their place. Text: the precision stays visible."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from symgauge.claims.source_text import numbers, text_of

TEXT = text_of(Path(__file__).parent)


def read(quotation: str) -> list[str]:
    """The decimal numbers of a quotation, 5.28×10^{-15} as "5.28e-15". Raises InvalidInput if the text has it not."""
    return [number for number in numbers(TEXT.quote(quotation)) if "." in number]


EPSILON = read(r"\varepsilon_{\rm mach} \approx 2.22 \times 10^{-16}$ for float64")[0]  # §6, below Table 2: of float64


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
for _name, (_sizes, _batch) in CONFIGURATIONS.items():
    TEXT.quote(f"{_name} {' '.join(map(str, _sizes))} {_batch}")

# Table 2: relative error under transformations in G_max: maximum, mean, standard deviation, in the order of F.1.2.
_MAXIMA = read(r"3.66 \times 10^{-15} 3.17 \times 10^{-15} 5.28 \times 10^{-15}")
_MEANS = read(r"2.06 \times 10^{-15} 2.31 \times 10^{-15} 4.25 \times 10^{-15}")
_DEVIATIONS = read(r"1.91 \times 10^{-16} 1.33 \times 10^{-16} 1.75 \times 10^{-16}")
TABLE_2 = dict(zip(CONFIGURATIONS, zip(_MAXIMA, _MEANS, _DEVIATIONS, strict=True), strict=True))

# Table 3: the same, for one sector at a time.
TABLE_3 = {
    "QK only": read("QK only 5.61×10^{-16} 4.36×10^{-16} 2.45×10^{-17}"),
    "VO only": read("VO only 4.61×10^{-15} 3.29×10^{-15} 1.59×10^{-16}"),
    "QK + VO": read("QK + VO 4.74×10^{-15} 3.31×10^{-15} 1.84×10^{-16}"),
    "Permutation only": read("Permutation only 1.76×10^{-15} 1.18×10^{-15} 1.35×10^{-16}"),
}

# Table 4: relative change under transformations outside G_max: median, 95th percentile, maximum.
_OUTSIDE = read("Random orthogonal 1.01 1.10 1.12 0.034 0.057 0.062 0.89 0.95 0.98")
TABLE_4 = {
    "Cross-head mixing": _OUTSIDE[:3],
    "Non-commuting (RoPE)": _OUTSIDE[3:6],
    "Random orthogonal": _OUTSIDE[6:],
}

# Table 5: total seconds, milliseconds per transformation.
_SMALL = read("h=4 18.51 0.19")
_REST = read("h = 8 $h = 12$ 32.33 170.82 0.32 1.71")
TABLE_5 = {"Small": _SMALL, "Medium": _REST[::2], "Large": _REST[1::2]}

# Table 6: sizes, maximal error under transformations in G_max.
TABLE_6 = {
    name: (Heads(*sizes), read(f"{name} {' '.join(map(str, sizes))} {error}")[0])
    for name, sizes, error in (
        ("Config A", (8, 64, 128, 1024), "4.91×10^{-15}"),
        ("Config B", (8, 128, 64, 512), "5.02×10^{-15}"),
        ("Config C", (12, 96, 64, 768), "4.77×10^{-15}"),
        ("GPT-2", (12, 64, 64, 768), "5.11×10^{-15}"),
        ("BERT-Base", (12, 64, 64, 768), "4.89×10^{-15}"),
        ("GPT-3 config", (96, 128, 128, 12288), "7.33×10^{-15}"),
        ("GPT-2 (10k steps)", (12, 64, 64, 768), "5.44×10^{-15}"),
        ("GPT-2 (converged)", (12, 64, 64, 768), "5.67×10^{-15}"),
    )
}

# Table 7: h, d_k, d_v, predicted nullity. d_model is not in the table; Table 1, A2 makes it h d_v.
TABLE_7 = ((4, 64, 64, 32_768), (8, 64, 64, 65_536), (12, 64, 128, 245_760))
TEXT.quote(r"32,768 32,768 … 65,\!536 65,\!536 … h = 12, d_k = 64, d_v = 128 245,760 245,760")

# Words by which the source would say what it leaves out of F.5.1.
SPECTRUM_METHODS = ("Lanczos", "eigensolver", "Hessian-vector", "power iteration")
WAYS_TO_CRITICAL_POINTS = ("Newton", "trained to convergence", "gradient norm", "minimized")

# F.1.1: memory of the graphics card, in bytes.
CARD_BYTES = 95 * 10**9
TEXT.quote("NVIDIA H100 NVL with 95GB VRAM")

# F.5.2: the largest inner product, and the limit that it is held against.
INNER_PRODUCT = read("the maximum inner product observed was 3.41×10^{-13}")[0]
(INNER_PRODUCT_LIMIT,) = numbers(TEXT.quote(r"Verify $|\langle \nabla L, v_X \rangle| < 10^{-12}$"))

# F.5.3: what the loss varies by along an orbit, and how far the parameters move.
LOSS_VARIATION, ORBIT_DISTANCE = numbers(
    TEXT.quote(r"constant loss (variations < $10^{-14}$) despite parameters moving distance O(100) in Frobenius norm")
)

# Below Table 7: eigenvalues that count as zero.
(ZERO_EIGENVALUE,) = numbers(TEXT.quote('We define "zero" eigenvalues as those below 10^{-11}'))

# Table 8: test statistic, p-value.
_FITS = read("Shapiro-Wilk (on log errors) Anderson-Darling Kolmogorov-Smirnov 0.994 0.731 0.021 0.082 0.064 0.071")
TABLE_8 = dict(
    zip(("Shapiro-Wilk", "Anderson-Darling", "Kolmogorov-Smirnov"), zip(_FITS[:3], _FITS[3:], strict=True), strict=True)
)

# F.7: percentiles of the error.
PERCENTILES = {
    50: read(r"50th percentile: $2.1 \times 10^{-15}")[0],
    90: read(r"90th percentile: $4.2 \times 10^{-15}")[0],
    99: read(r"99th percentile: $5.1 \times 10^{-15}")[0],
    100: read(r"Maximum observed: $5.28 \times 10^{-15}")[0],
}

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
