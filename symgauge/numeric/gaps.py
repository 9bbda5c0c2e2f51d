"""A rank read off floating-point singular values, with the gap that justifies it, or not at all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.errors import InvalidInput, Undecided


@dataclass(frozen=True)
class RankWithGap:
    """A rank and the singular values on both sides of the cut.

    Example:
        >>> import torch
        >>> from symgauge.numeric import rank_with_gap
        >>> found = rank_with_gap(torch.diag(torch.tensor([2.0, 1.0, 1e-20], dtype=torch.float64)))
        >>> found.rank, found.smallest_kept, found.gap > 1e12
        (2, 1.0, True)
    """

    rank: int
    smallest_kept: float
    """The rank-th singular value; NaN for rank 0."""
    largest_dropped: float
    """The next one; for full rank (or an exact zero) the rounding level of the largest."""
    gap: float
    """Their ratio."""

    def as_dict(self) -> dict[str, float]:
        """Plain data for a claim's record."""
        return {"rank": self.rank, "gap": self.gap, "kept": self.smallest_kept, "dropped": self.largest_dropped}


def rank_with_gap(matrix: Tensor, min_gap: float = 1e4) -> RankWithGap:
    """Rank of an (m, n) matrix: the cut with the widest ratio of neighbouring singular values.

    Values below ε · max(m, n) · σ₁ count as that rounding level, so gaps inside the noise do not count. The zero matrix
    has rank 0. Raises :class:`Undecided` if the widest ratio is below ``min_gap``, if a second cut is as good within a
    factor of ten, or if an entry is not finite; :class:`InvalidInput` for an empty matrix or ``min_gap`` ≤ 1.

    Example:
        >>> import torch
        >>> from symgauge.numeric import rank_with_gap
        >>> a = torch.randn(6, 2, dtype=torch.float64) @ torch.randn(2, 5, dtype=torch.float64)
        >>> rank_with_gap(a).rank
        2
    """
    if matrix.dim() != 2 or matrix.numel() == 0:
        raise InvalidInput(f"a rank needs a matrix with entries, not shape {tuple(matrix.shape)}")
    if not min_gap > 1:
        raise InvalidInput(f"min_gap must exceed 1, not {min_gap!r}")
    if not bool(torch.isfinite(matrix).all()):
        raise Undecided("the matrix has entries that are not finite, so it has no numerical rank")
    values = torch.linalg.svdvals(matrix).double().cpu()
    if float(values[0]) == 0:
        return RankWithGap(0, math.nan, 0.0, math.inf)
    return rank_of_values(values, torch.finfo(matrix.dtype).eps * max(matrix.shape) * float(values[0]), min_gap)


def visible_lengths(lengths: Tensor, noise: float, min_gap: float) -> Tensor:
    """What to divide columns of these lengths (n,) by, so that each has length one: 0-columns get infinity, and vanish.

    A column at rounding level (``noise``) is one of a parameter that the function does not see; scaled to length one,
    its rounding would count as a direction. Raises :class:`Undecided` for lengths between ``noise`` and ``min_gap``
    times it, which could be either.
    """
    unclear = (lengths > noise) & (lengths < noise * min_gap)
    if bool(unclear.any()):
        raise Undecided(
            f"column {int(unclear.nonzero()[0])} has length {float(lengths[unclear][0]):.3g}, too near to rounding "
            f"({noise:.3g}) to say whether its parameter is seen; use the exact engine"
        )
    return torch.where(lengths > noise, lengths, torch.inf)


def rank_of_values(values: Tensor, noise: float, min_gap: float = 1e4) -> RankWithGap:
    """The same cut of singular values, or sizes of eigenvalues, that are there already: (m,), largest first.

    noise: their rounding level; what lies below counts as lying there. Raises as `rank_with_gap` does.
    """
    raised = torch.cat([values, values.new_tensor([noise])]).clamp_min(noise)
    ratios = raised[:-1] / raised[1:]
    order = torch.argsort(ratios, descending=True)
    cut = int(order[0])
    gap = float(ratios[cut])
    if gap < min_gap:
        raise Undecided(
            f"no clear gap: the widest ratio of singular values is {gap:.3g}, at rank {cut + 1} of {len(values)}, and "
            f"{min_gap:.3g} was asked for; use the exact engine"
        )
    if len(order) > 1 and float(ratios[int(order[1])]) >= max(min_gap, gap / 10):
        raise Undecided(
            f"two cuts are equally good: ranks {cut + 1} and {int(order[1]) + 1} with gaps {gap:.3g} and "
            f"{float(ratios[int(order[1])]):.3g}; use the exact engine"
        )
    return RankWithGap(cut + 1, float(values[cut]), float(raised[cut + 1]), gap)
