"""Integer matrices whose inverses are integer too."""

from __future__ import annotations

from random import Random

import torch
from torch import Tensor


def unimodular(size: int, seed: int) -> tuple[Tensor, Tensor]:
    """An integer matrix of determinant −1, not symmetric, and its inverse; both exact in float64."""
    rng, matrix = Random(seed), torch.zeros((size, size), dtype=torch.float64)
    # A symmetric draw would hide the difference between the inverse and its transpose.
    while (size > 1 and torch.equal(matrix, matrix.mT)) or not matrix.any():
        lower, upper = (torch.eye(size, dtype=torch.float64) for _ in range(2))
        for i in range(size):
            for j in range(i):
                lower[i, j], upper[j, i] = rng.choice([1, 2, 3]), rng.choice([-2, -1])
        lower[0] *= -1
        matrix = lower @ upper
    inverse = torch.linalg.inv(matrix).round()
    if not torch.equal(matrix @ inverse, torch.eye(size, dtype=torch.float64)):
        raise AssertionError("the inverse of the integer matrix is not exact")
    return matrix, inverse
