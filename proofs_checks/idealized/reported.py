"""Numbers that the source reports, with their place."""

from __future__ import annotations

from typing import NamedTuple


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

FIGURE_1_EXPONENT = -1.0  # below Table 1 and §8.3: the ratio falls like 1/d

# Table 2: task, |V|, T; runs that converged, of how many; null dimension, its spread.
TABLE_2 = (
    ("Copy-Last", 2, 3, 8, 8, 4.0, 0.0),
    ("XOR", 2, 3, 8, 8, 4.0, 0.0),
    ("Copy-Last", 2, 4, 8, 8, 16.125, 0.33),
    ("Copy-Last", 3, 2, 8, 8, 0.0, 0.0),
)
SYMMETRIES = 320  # Table 2, last column
PARAMETERS = 3_136  # §5.1, Table 3

FIGURE_2 = {8: 800, 32: 12_416}  # §5.3: widths at the ends, their numbers of parameters
FIGURE_2_NULL = 4.0

# Table 3: sparsity in percent; accuracy after pruning and after retraining: Copy-Last, XOR.
TABLE_3 = {
    10: ((1.0, 1.0), (1.0, 1.0)),
    30: ((1.0, 1.0), (1.0, 1.0)),
    50: ((1.0, 1.0), (1.0, 1.0)),
    70: ((1.0, 1.0), (1.0, 1.0)),
    90: ((1.0, 1.0), (0.5, 1.0)),
    95: ((0.5, 1.0), (0.5, 1.0)),
}
KEPT = 157  # §6.1: weights left at 95 %
RETRAINED = 1_600  # §6.2: nonzero weights of the retrained solutions at 95 %
TRIALS = 5  # §6.1

# §7.1 and §7.2.
MODELS = 20
DISTANCE, DISTANCE_LOW, DISTANCE_HIGH = 13.75, 12.47, 15.65
NORM = 9.68
COSINE = 0.0
FIRST, TEN, LAST, RATIO = 8.48, 63.76, 3.32, 2.55  # percent of the variance; first to last

# What is said of clusters among the trained models: place -> whether there are any.
CLUSTERS = {
    "abstract: branches discovered via clustering": True,
    "Figure 5: no clear clustering": False,
    "§7.3: the absence of clustering": False,
    "§8.1: no dominant clustering structure": False,
}
