"""Statistics of a set of parameter vectors, as in section 7 of the source."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Geometry:
    """Norms (n,), distances and cosines of all pairs (n (n − 1) / 2,), shares of variance by component (n − 1,),
    coordinates on the first two components (n, 2)."""

    norms: Tensor
    distances: Tensor
    cosines: Tensor
    shares: Tensor
    plane: Tensor

    @property
    def first(self) -> float:
        """Percent of the variance on the first component."""
        return 100 * float(self.shares[0])

    @property
    def ten(self) -> float:
        """Percent of the variance on the first ten."""
        return 100 * float(self.shares[:10].sum())

    @property
    def last(self) -> float:
        """Percent of the variance on the last component that is not zero by construction."""
        return 100 * float(self.shares[-1])

    @property
    def ratio(self) -> float:
        return self.first / self.last

    def row(self) -> list[float]:
        """Cells for a table: norm, distance (mean, least, most), cosine (mean, spread), shares, ratio."""
        d, c = self.distances, self.cosines
        distances = [float(d.mean()), float(d.min()), float(d.max())]
        return [
            *(round(x, 2) for x in [float(self.norms.mean()), *distances]),
            *(round(x, 3) + 0.0 for x in [float(c.mean()), float(c.std(correction=0))]),
            *(round(x, 2) for x in [self.first, self.ten, self.last, self.ratio]),
        ]


COLUMNS = ("norm", "distance", "least", "most", "cosine", "spread", "first %", "ten %", "last %", "ratio")


def pairs(n: int) -> tuple[Tensor, Tensor]:
    """Indices of all pairs i < j."""
    i, j = torch.triu_indices(n, n, 1)
    return i, j


def geometry(theta: Tensor) -> Geometry:
    """Of n vectors theta (n, P), n ≥ 3."""
    theta = theta.double()
    i, j = pairs(len(theta))
    norms = theta.norm(dim=1)
    cosines = (theta[i] * theta[j]).sum(1) / (norms[i] * norms[j])
    centred = theta - theta.mean(0)
    u, s, _ = torch.linalg.svd(centred, full_matrices=False)
    variance = s[:-1].square()  # the mean takes one component away
    return Geometry(norms, (theta[i] - theta[j]).norm(dim=1), cosines, variance / variance.sum(), u[:, :2] * s[:2])
