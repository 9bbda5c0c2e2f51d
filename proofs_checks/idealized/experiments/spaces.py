"""Both null spaces of the Jacobian of all logits on all inputs: that of its rows and that of the parameters."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from proofs_checks.idealized.model import jacobians
from symgauge.architecture import Architecture
from symgauge.models.reference import forward
from symgauge.parameter_vector import ParameterVector

CUT = 1e-13
"""Singular values below this share of the largest count as zero: rounding leaves them below 1e-14 here."""


@dataclass(frozen=True, eq=False)
class Spaces:
    """Singular values (S, min(rows, P)) of the Jacobians of S models, largest first, and the two null dimensions.

    ``left``: rows − rank, combinations of outputs that no parameter moves. ``right``: P − rank, directions of
    parameters that move no output: what "local dimension of the solution manifold" means.
    """

    rows: int
    parameters: int
    values: Tensor

    @property
    def relative(self) -> Tensor:
        return self.values / self.values[:, :1]

    def near_zero(self, threshold: float = CUT, absolute: bool = False) -> Tensor:
        """(S,) how many of the singular values fall below a threshold, relative to the largest unless ``absolute``."""
        return ((self.values if absolute else self.relative) < threshold).sum(1)

    @property
    def ranks(self) -> Tensor:
        return self.values.shape[1] - self.near_zero()

    @property
    def left(self) -> Tensor:
        return self.rows - self.ranks

    @property
    def right(self) -> Tensor:
        return self.parameters - self.ranks

    @property
    def kept(self) -> Tensor:
        """(S,) the smallest value that counts, relative to the largest."""
        return self.relative.gather(1, (self.ranks - 1).unsqueeze(1)).squeeze(1)

    @property
    def dropped(self) -> float:
        """The largest value that does not count, over all models; 0 if there is none."""
        below = self.relative[self.relative < CUT]
        return float(below.max()) if len(below) else 0.0


def spaces(architecture: Architecture, theta: Tensor, inputs: Tensor) -> Spaces:
    """For every model theta (S, P) the singular values of its Jacobian on inputs (N, T), in float64."""
    each = [jacobians(architecture, one.double().unsqueeze(0), inputs)[0] for one in theta]
    return Spaces(each[0].shape[0], each[0].shape[1], torch.stack([torch.linalg.svdvals(j) for j in each]))


def mean_and_spread(counts: Tensor) -> tuple[float, float]:
    """Mean and standard deviation of the population, as the source seems to take it."""
    counts = counts.double()
    return float(counts.mean()), float(counts.std(correction=0))


def active(architecture: Architecture, theta: Tensor, inputs: Tensor) -> Tensor:
    """(N, d_ff) bool: which neurons of the first layer are on at the last position, for one model theta (P,)."""
    roles = ParameterVector.of(architecture).split(theta)
    attention = {name: value for name, value in roles.items() if name.startswith("layers.0.attention")}
    alone = architecture.replace(d_ff=0, vocabulary=0, layers=1)
    stream = forward(alone, attention, roles["token_table"][inputs])[:, -1]
    return stream @ roles["layers.0.ff.up.weight"] > 0


def predicted_left(architecture: Architecture, theta: Tensor, inputs: Tensor) -> int:
    """rows − rank of a one-layer model on two tokens, from its ReLU patterns.

    A query token has T classes of inputs, so 2 T logits. If all of them switch on the same neurons, its logits are
    affine in the H attention shares: 2 + 3 H numbers at most can move them.
    """
    length, heads = inputs.shape[1], architecture.heads
    patterns = active(architecture, theta, inputs)
    lost = 0
    for token in range(2):
        mine = patterns[inputs[:, -1] == token]
        if bool((mine == mine[0]).all()):
            lost += max(0, 2 * length - 2 - 3 * heads)
    return 2 * 2**length - 4 * length + lost
