"""How many dimensions a path of parameters has by principal components, and how many a random walk would have."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from symgauge.errors import InvalidInput


def spectrum(snapshots: Tensor) -> Tensor:
    """Eigenvalues (min(n, N),) of the covariance of n snapshots (n, …) of N numbers, the largest first; float64.

    The covariance has 1/n before the sum. Raises InvalidInput for fewer than two snapshots.

    Source: arXiv 2602.10496, section 3.3.1.
    """
    return torch.linalg.svdvals(_centred(snapshots)).square() / len(snapshots)


def components(snapshots: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Mean (N,) and the first `count` principal directions (count, N) of snapshots (n, …); float64.

    Raises InvalidInput where the path has fewer directions than that.
    """
    centred = _centred(snapshots)
    _, values, directions = torch.linalg.svd(centred, full_matrices=False)
    if count > len(values) or not values[count - 1] > 1e-12 * values[0]:
        raise InvalidInput(f"the path has fewer than {count} principal directions; take more snapshots or fewer")
    return snapshots.flatten(1).double().mean(0), directions[:count]


def rank_at(eigenvalues: Tensor, share: float = 0.9) -> int:
    """r90: the smallest k such that the k largest eigenvalues make up `share` of the sum.

    Raises InvalidInput where the sum is not positive: a path that does not move has no dimension.
    """
    ordered = eigenvalues.double().sort(descending=True).values
    total = float(ordered.sum())
    if not total > 0 or not math.isfinite(total):
        raise InvalidInput(f"the variances add up to {total}; a path that does not move has no dimension")
    # A share met up to rounding counts as met, so that ten equal variances have r90 = 9.
    return int((ordered.cumsum(0) / total < share - 1e-12).sum()) + 1


def entropy_rank(eigenvalues: Tensor) -> float:
    """exp of the entropy of the normalised singular values, the other "effective rank" of the source's code."""
    values = eigenvalues.double().clamp_min(0).sqrt()
    p = values / values.sum()
    return float(torch.exp(-torch.special.xlogy(p, p).sum()))


def random_walk_spectrum(n: int) -> Tensor:
    """(n − 1,) what n snapshots of a random walk in very many dimensions have, per unit variance of a step.

    The Gram matrix of the centred walk is the pseudoinverse of the Laplacian of the path with n vertices, so its
    eigenvalues are 1/(4 sin²(πk/2n)), k = 1 … n−1; they add up to (n² − 1)/6.
    """
    if n < 2:
        raise InvalidInput(f"a walk of {n} snapshots has no spectrum; at least 2 are needed")
    k = torch.arange(1, n, dtype=torch.float64)
    return 1 / (4 * torch.sin(math.pi * k / (2 * n)).square())


def _centred(snapshots: Tensor) -> Tensor:
    if len(snapshots) < 2:
        raise InvalidInput(f"{len(snapshots)} snapshots make no path; at least 2 are needed")
    flat = snapshots.flatten(1).double()
    return flat - flat.mean(0)
