"""A difference of low rank, as a merged adapter leaves."""

import torch

from symgauge.comparison.difference import Diagnosis, Difference


def recognise(difference: Difference) -> Diagnosis | None:
    matrix = difference.matrix()
    if matrix is None or min(matrix.shape) < 4:
        return None
    values = torch.linalg.svdvals(matrix)
    allowed = difference.allowed * float(difference.found().norm())
    left = values.square().flip(0).cumsum(0).flip(0).sqrt()
    rank = int((left > allowed).sum()) or _sticking_out(values, *matrix.shape)
    if 0 < rank <= len(values) // 4 or (0 < rank <= len(values) // 2 and rank <= 2):
        return Diagnosis(f"differs by an update of rank {rank}, as a merged adapter leaves")
    return None


def _sticking_out(values: torch.Tensor, m: int, n: int) -> int:
    """Singular values above those of a random matrix that is as large as the rest."""
    rank = 0
    while rank < len(values):
        size = float(values[rank:].square().sum().sqrt()) / (m * n) ** 0.5
        if values[rank] <= 1.5 * size * (m**0.5 + n**0.5):
            break
        rank += 1
    return rank
