"""Matching by least total cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def assignment(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """Column (n,) of each row of a cost matrix (n, n), by the Hungarian method."""
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(cost)[1], dtype=np.int64)
