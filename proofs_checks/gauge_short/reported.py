"""Numbers of the long version that the short one sums up; it has no tables of its own."""

from __future__ import annotations

EPSILON = 2.22e-16
"""Machine epsilon as the long version has it."""
LARGEST_ERRORS = {
    "Small": 3.66e-15,
    "Medium": 3.17e-15,
    "Large": 5.28e-15,
    "QK only": 5.61e-16,
    "VO only": 4.61e-15,
    "QK + VO": 4.74e-15,
    "Permutation only": 1.76e-15,
    "Config A": 4.91e-15,
    "Config B": 5.02e-15,
    "Config C": 4.77e-15,
    "GPT-2": 5.11e-15,
    "BERT-Base": 4.89e-15,
    "GPT-3 config": 7.33e-15,
    "GPT-2 (10k steps)": 5.44e-15,
    "GPT-2 (converged)": 5.67e-15,
}
"""Tables 2, 3 and 6: the largest relative error under elements of the group, row by row."""
