"""Spectrum of the Hessian of a squared loss at an exact critical point of an attention layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import vjp, vmap

from proofs_checks.gauge.experiments.layer import Sizes, attend, draw, normal, split
from symgauge.numeric.gaps import RankWithGap, rank_of_values

TOKENS = 16
ROWS = 2  # outputs per parameter, so that data does not limit the rank
CHUNK = 512  # rows of the Jacobian at a time: memory is the D × D matrix and CHUNK × D


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues (D,) of the Hessian of ½ · mean square error, by size, largest first; outputs: how many there were.

    Multiplied by 2 · outputs they are those of the summed loss ‖f(X) − Y‖² of F.5.2.
    """

    sizes: Sizes
    values: Tensor
    outputs: int

    @property
    def rank(self) -> RankWithGap:
        """By the widest gap; raises Undecided where there is none."""
        return rank_of_values(self.values, torch.finfo(torch.float64).eps * float(self.values[0]))

    @property
    def nullity(self) -> int:
        """By the gap; an upper bound, since what is lost in rounding counts as zero (very small weights)."""
        return len(self.values) - self.rank.rank

    @property
    def smallest_kept(self) -> float:
        """The smallest eigenvalue that no gauge direction explains."""
        return float(self.values[-self.sizes.gauge - 1])

    @property
    def largest_zero(self) -> float:
        """The largest of the h(d_k² + d_v²) smallest eigenvalues."""
        return float(self.values[-self.sizes.gauge])

    def below(self, threshold: float, summed: bool = False) -> int:
        """How many eigenvalues an absolute threshold counts as zero, for the mean or the summed loss."""
        return int((self.values * (2 * self.outputs if summed else 1) < threshold).sum())


def spectrum(
    sizes: Sizes, spread: float, seed: int, device: str = "cpu", tick: Callable[[float], None] = lambda share: None
) -> Spectrum:
    """Weights N(0, spread²), inputs N(0, 1), teacher = student.

    The residual vanishes, so the point is critical exactly and the Hessian is JᵀJ / outputs, with nothing left out.
    J is taken CHUNK rows at a time, for one sequence after the other.
    """
    generator = torch.Generator(device).manual_seed(seed)
    theta = draw(sizes, generator, spread, device).flat()
    sequences = math.ceil(ROWS * sizes.parameters / (TOKENS * sizes.d_model))
    inputs = normal(generator, sequences, TOKENS, sizes.d_model, device=device)
    gram = theta.new_zeros(sizes.parameters, sizes.parameters)
    for number, x in enumerate(inputs):
        tick(number / sequences)
        for rows in _rows(theta, x, sizes):
            gram.addmm_(rows.mT, rows)
    outputs = inputs.numel()
    values = torch.linalg.eigvalsh(gram.div_(outputs)).abs().cpu()
    return Spectrum(sizes, values.sort(descending=True).values, outputs)


def _rows(theta: Tensor, x: Tensor, sizes: Sizes) -> Iterator[Tensor]:
    output, pull, *_ = vjp(lambda t: attend(split(t, sizes), x).flatten(), theta)
    unit = torch.eye(output.numel(), dtype=theta.dtype, device=theta.device)
    return map(vmap(lambda cotangent: pull(cotangent)[0]), unit.split(CHUNK))
