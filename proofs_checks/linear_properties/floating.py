"""Effective complexity and linear properties of hidden states and unembeddings in floating point, with their gaps.

Nothing is decided by an absolute threshold: each decision is a cut between singular values, or between a residual and
its rounding level, and is refused (Undecided) where no gap justifies it. Unembeddings are centred over tokens, which
spans the same G as any pivot and depends on no choice of token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from symgauge.errors import InvalidInput, Undecided
from symgauge.numeric.gaps import RankWithGap, rank_of_values


def usual_gap(epsilon: float) -> float:
    """The gap asked for without a wish of one's own: a quarter of the digits (8,192 in float64, 54 in float32)."""
    return epsilon**-0.25


def ranked(values: Tensor, noise: float, min_gap: float, what: str) -> RankWithGap:
    """The rank of singular values, largest first. Raises Undecided, in the words of this module, without a gap."""
    if float(values[0]) <= noise:
        return RankWithGap(0, math.nan, float(values[0]), math.inf)
    try:
        return rank_of_values(values, noise, min_gap)
    except Undecided:
        raise Undecided(
            f"no one gap of {min_gap:.3g} or more separates the singular values of {what} from their rounding level "
            f"({noise:.2g}; the largest is {float(values[0]):.2g}): give more digits (float64) or a smaller gap"
        ) from None


@dataclass(frozen=True)
class Decision:
    """Whether something holds (None: undecided, for the ``reason``), the relative residual and the gap it rests on."""

    holds: bool | None
    residual: float
    gap: float = math.nan
    reason: str = ""


def two_sided(residual: float, noise: float, min_gap: float) -> Decision:
    """Zero or not: a residual relative to 1, against the bound of what rounding makes of zero.

    Zero within that bound, if the bound itself is far below 1; not zero if far above it; undecided in between.
    """
    if residual <= noise and noise * min_gap <= 1:
        return Decision(True, residual, 1 / noise)
    if residual >= noise * min_gap:
        return Decision(False, residual, residual / noise)
    reason = f"a relative residual of {residual:.2g} with rounding level {noise:.2g} is neither zero nor clearly not"
    return Decision(None, residual, reason=reason)


class Representation:
    """Hidden states f (n, d), one row per context, and unembeddings g (V, d), one row per token; any float dtype.

    Computed in float64; the dtype given decides the rounding level. Raises InvalidInput for shapes that do not fit or
    entries that are not finite.
    """

    def __init__(self, hidden: Tensor, unembedding: Tensor, min_gap: float | None = None) -> None:
        for name, table in (("hidden states", hidden), ("unembedding", unembedding)):
            if table.dim() != 2 or not table.is_floating_point() or not table.numel():
                raise InvalidInput(
                    f"the {name} must be a matrix of floating-point numbers, not {table.dtype} of shape "
                    f"{tuple(table.shape)}"
                )
            if not bool(torch.isfinite(table).all()):
                raise InvalidInput(f"the {name} hold NaN or infinite entries")
        if hidden.shape[1] != unembedding.shape[1]:
            hint = "; give the unembedding with one row per token" if hidden.shape[1] == unembedding.shape[0] else ""
            raise InvalidInput(
                f"hidden states have width {hidden.shape[1]} and unembeddings {unembedding.shape[1]}, so they have no "
                f"dot products{hint}"
            )
        if len(unembedding) < 2:
            raise InvalidInput("one token has probability 1 in every model; give the unembedding of two or more")
        self.epsilon = max(torch.finfo(table.dtype).eps for table in (hidden, unembedding))
        self.min_gap = usual_gap(self.epsilon) if min_gap is None else min_gap
        if not self.min_gap > 1:
            raise InvalidInput(f"the gap must exceed 1, not {min_gap!r}")
        self.f, self.g = hidden.double(), unembedding.double()
        self.g0 = self.g - self.g.mean(0)

    @cached_property
    def noise(self) -> float:
        """Bound on the norm of the error of L that rounding f and g to their dtype makes."""
        f, g0 = (float(torch.linalg.matrix_norm(x, 2)) for x in (self.f, self.g0))
        return self.epsilon * (float(self.f.norm()) * g0 + f * float(self.g.norm()))

    @cached_property
    def _seen(self) -> tuple[Tensor, Tensor]:
        """Left singular vectors (n, k) and singular values (k,) of L = f g₀ᵀ, through the triangular factor of g₀."""
        factor = torch.linalg.qr(self.g0, mode="r")[1]
        left, values, _ = torch.linalg.svd(self.f @ factor.mT, full_matrices=False)
        return left, values

    @property
    def singular_values(self) -> Tensor:
        """Those of L, largest first, min(n, V, d) of them."""
        return self._seen[1]

    @cached_property
    def effective_complexity(self) -> RankWithGap:
        """rank L with its gap. Raises Undecided without one."""
        return ranked(self.singular_values, self.noise, self.min_gap, "the logit ratios")

    @cached_property
    def embedding_rank(self) -> RankWithGap:
        """dim F with its gap. Raises Undecided without one."""
        values, noise = torch.linalg.svdvals(self.f), self.epsilon * float(self.f.norm())
        return ranked(values, noise, self.min_gap, "the hidden states")

    @cached_property
    def unembedding_rank(self) -> RankWithGap:
        """dim G with its gap. Raises Undecided without one."""
        values, noise = torch.linalg.svdvals(self.g0), self.epsilon * float(self.g.norm())
        return ranked(values, noise, self.min_gap, "the unembedding")

    def answers_from_probabilities(self, targets: Tensor) -> Decision:
        """rank[L | 1 | ℓ] = rank[L | 1] for targets (n, k): the answers are affine in the log-probability ratios."""
        rank = self.effective_complexity
        return self._affine(self._seen[0][:, : rank.rank], self.noise / rank.smallest_kept, targets)

    def answers_from_hidden(self, targets: Tensor) -> Decision:
        """The same with f in place of L: the answers are affine in this model's hidden states."""
        left = torch.linalg.svd(self.f, full_matrices=False)[0]
        rank = self.embedding_rank
        return self._affine(left[:, : rank.rank], self.epsilon * float(self.f.norm()) / rank.smallest_kept, targets)

    def _affine(self, basis: Tensor, noise: float, targets: Tensor) -> Decision:
        """Whether every column of the targets lies in the span of an orthonormal basis and the constants."""
        n = len(self.f)
        if targets.dim() != 2 or len(targets) != n or not targets.shape[1] or not targets.is_floating_point():
            raise InvalidInput(
                f"answers must be floating-point numbers with a row for each of the {n} contexts, not {targets.dtype} "
                f"of shape {tuple(targets.shape)}"
            )
        if not bool(torch.isfinite(targets).all()):
            raise InvalidInput("the answers hold NaN or infinite entries")
        noise += max(self.epsilon, torch.finfo(targets.dtype).eps) * n
        ones = torch.full((n, 1), n**-0.5, dtype=torch.float64)
        rest = ones - basis @ (basis.mT @ ones)
        constant = two_sided(float(rest.norm()), noise, self.min_gap)
        if constant.holds is None:
            return constant
        if not constant.holds:
            basis = torch.cat([basis, rest / rest.norm()], 1)
        if basis.shape[1] >= n:
            return Decision(
                None, math.nan, reason=f"{n} contexts of rank {basis.shape[1]} (with the constants) are met by any "
                "answers at all; give more contexts",
            )  # fmt: skip
        targets = targets.double()
        # Relative to how much the answers vary: a large constant would hide what is left over.
        varying = (targets - targets.mean(0)).norm(dim=0)
        moving = varying > noise * targets.norm(dim=0)
        if not bool(moving.any()):
            return Decision(None, 0.0, reason="the answers are the same for every context, which says nothing")
        left, scale = (targets - basis @ (basis.mT @ targets))[:, moving].norm(dim=0), 1 / varying[moving]
        levels = noise * targets[:, moving].norm(dim=0) * scale
        decisions = [
            two_sided(float(x), float(level), self.min_gap) for x, level in zip(left * scale, levels, strict=True)
        ]
        # One answer that is clearly not linear settles it; otherwise one that is undecided does.
        return max(decisions, key=lambda d: ({False: 2, None: 1, True: 0}[d.holds], d.residual))

    def parallel(self, first: tuple[int, int], second: tuple[int, int]) -> Parallelism:
        """Two differences g(a) − g(b): parallel in N (what probabilities see of them), and in the whole space."""
        for token in (*first, *second):
            if not 0 <= token < len(self.g):
                raise InvalidInput(f"token {token} is none of the {len(self.g)} tokens, numbered from 0")
        if len({frozenset(first), frozenset(second)}) < 2 or any(a == b for a, b in (first, second)):
            raise InvalidInput("parallelism is asked of two different pairs of two different tokens")
        u, v = (self.g[a] - self.g[b] for a, b in (first, second))
        rounding = [self.epsilon * float(self.g[a].norm() + self.g[b].norm()) for a, b in (first, second)]
        size, columns = float(torch.linalg.matrix_norm(self.f, 2)), (self.f @ u, self.f @ v)
        seen = [
            size * r + self.epsilon * float(self.f.norm() * x.norm()) for r, x in zip(rounding, (u, v), strict=True)
        ]
        ratio = float(columns[0] @ columns[1] / (columns[1] @ columns[1]).clamp_min(torch.finfo().tiny))
        return Parallelism(self._proportional(*columns, seen), self._proportional(u, v, rounding), ratio)

    def _proportional(self, u: Tensor, v: Tensor, noise: list[float]) -> Decision:
        sizes = [float(u.norm()), float(v.norm())]
        for size, level in zip(sizes, noise, strict=True):
            if size <= level * self.min_gap:
                return Decision(None, math.nan, reason="a difference is too small to have a direction")
        one, two = u / sizes[0], v / sizes[1]
        # Sine of the angle, from the difference of unit vectors: 1 − cos² would lose half of the digits.
        sine = min(float((one - two).norm()), float((one + two).norm()))
        return two_sided(
            min(sine, 1.0), sum(level / size for level, size in zip(noise, sizes, strict=True)), self.min_gap
        )


@dataclass(frozen=True)
class Parallelism:
    """Whether two differences of unembeddings are parallel, and the ratio of their visible parts."""

    visible: Decision
    whole: Decision
    ratio: float
