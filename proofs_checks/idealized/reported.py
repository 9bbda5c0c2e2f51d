"""Numbers that the source reports, read from its quoted words, with their place."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from symgauge.claims.source_text import numbers, text_of

TEXT = text_of(Path(__file__).parent)


def read(quotation: str) -> list[float]:
    """The numbers of a quotation. Raises InvalidInput if the text does not have it."""
    return [float(number) for number in numbers(TEXT.quote(quotation))]


class Row(NamedTuple):
    """A row of Table 1: d, L, H; parameters, dimension of the symmetries, their ratio."""

    d: int
    layers: int
    heads: int
    parameters: int
    symmetries: int
    ratio: float


TABLE_1 = (
    Row(8, 1, 1, 800, 160, 0.200),
    Row(8, 1, 2, 800, 96, 0.120),
    Row(16, 1, 2, 3_200, 320, 0.100),
    Row(16, 2, 2, 6_272, 640, 0.102),
    Row(32, 2, 4, 25_088, 1_280, 0.051),
    Row(64, 4, 8, 198_656, 5_120, 0.026),
    Row(128, 6, 8, 1_187_840, 27_648, 0.023),
    Row(512, 12, 8, 37_879_808, 811_008, 0.021),
)

for _row in TABLE_1:
    TEXT.quote(f"d={_row.d}, L={_row.layers}, H={_row.heads} {_row.parameters:,} {_row.symmetries:,} {_row.ratio:.3f}")

TEXT.quote(r"\rho \propto d^{-1}")
FIGURE_1_EXPONENT = -1.0  # below Table 1 and §8.3: the ratio falls like 1/d

# Table 2: task, |V|, T; runs that converged, of how many; null dimension, its spread.
TABLE_2 = (
    ("Copy-Last", 2, 3, 8, 8, 4.0, 0.0),
    ("XOR", 2, 3, 8, 8, 4.0, 0.0),
    ("Copy-Last", 2, 4, 8, 8, 16.125, 0.33),
    ("Copy-Last", 3, 2, 8, 8, 0.0, 0.0),
)
for _name, _vocabulary, _length, _solved, _of, _null, _spread in TABLE_2:
    TEXT.quote(f"{_name} ( $V={_vocabulary}, T={_length}$ ) {_solved}/{_of} ${_null} \\pm {_spread}$ 320")
SYMMETRIES, PARAMETERS = map(int, (*read("symmetry upper bound of 320"), *read("3,136 total parameters")))

# §5.3: widths at the ends, their numbers of parameters.
_ENDS = list(map(int, read("$d=8$ (800 parameters) to $d=32$ (12,416 parameters)")))
FIGURE_2 = dict(zip(_ENDS[::2], _ENDS[1::2], strict=True))
(FIGURE_2_NULL,) = read("remains constant at 4.0")

# Table 3: sparsity in percent; accuracy after pruning and after retraining: Copy-Last, XOR.
TABLE_3 = {
    10: ((1.0, 1.0), (1.0, 1.0)),
    30: ((1.0, 1.0), (1.0, 1.0)),
    50: ((1.0, 1.0), (1.0, 1.0)),
    70: ((1.0, 1.0), (1.0, 1.0)),
    90: ((1.0, 1.0), (0.5, 1.0)),
    95: ((0.5, 1.0), (0.5, 1.0)),
}
for _percent, (_copying, _adding) in TABLE_3.items():
    TEXT.quote(f"{_percent}% {_copying[0]} {_copying[1]} {_adding[0]} {_adding[1]}")
KEPT, RETRAINED = map(  # §6.1: weights left at 95 %; §6.2: nonzero weights of the retrained solutions at 95 %
    int, (*read("approximately 157 nonzero parameters"), *read("approximately 1,600 nonzero parameters"))
)
TEXT.quote("All five Copy-Last trials and all five XOR trials")
TRIALS = 5  # §6.1

# §7.1 and §7.2.
(MODELS,) = map(int, read("We train 20 independent models"))
DISTANCE, DISTANCE_LOW, DISTANCE_HIGH = read("have mean 13.75 with a relatively narrow range from 12.47 to 15.65")
(NORM,) = read("cluster tightly around 9.68")
(COSINE,) = read(r"centered near zero (mean $\approx 0.0$)")
# Percent of the variance; first to last.
(FIRST,) = read("explains only 8.48%")
(TEN,) = read("components are needed to reach 63.76%")
(LAST,) = read("still explains 3.32%")
(RATIO,) = read("ratio of first-to-last explained variance of only 2.55")
