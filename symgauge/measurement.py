"""How a fibre's dimension is measured for a user: the exact engine, and a second witness that "
"shares no code with it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch
from torch import Tensor, nn

from symgauge.checks import check_measuring
from symgauge.exact import dimension as engine
from symgauge.exact.probes import Inputs, Tokens
from symgauge.exact.result import FibreDimension
from symgauge.numeric.witness import rank_witness

_MORE = 64
"""Inputs that the second witness sees beside those of the exact run."""


def dimension(module: nn.Module, inputs: Inputs, *, witness: bool = True, **options: Any) -> FibreDimension:
    """As :func:`symgauge.exact.dimension.dimension`, with a second witness where float64 allows one.

    The float64 Jacobian of the plain module at the same point is ranked by its singular values. A clear gap at another
    rank makes the result undecided; ``float_rank``, ``gap`` and ``witness`` of the result say what was seen.

    Example:
        >>> import torch, symgauge
        >>> two = torch.nn.Sequential(torch.nn.Linear(3, 2, bias=False), torch.nn.Linear(2, 4, bias=False))
        >>> fibre = symgauge.dimension(two, symgauge.Vectors(length=1, width=3))
        >>> fibre.nullity, fibre.float_rank == fibre.rank   # GL(2) between the two
        (4, True)
    """
    shared = ("seed", "device", "rounds", "progress")
    check_measuring(**{name: options[name] for name in shared if name in options})
    fibre = engine.dimension(module, inputs, **options)
    return witnessed(fibre) if witness else fibre


def witnessed(fibre: FibreDimension) -> FibreDimension:
    """A result with what the float64 Jacobian of the plain module says of its rank."""
    if not fibre.saturated or not fibre.agree:
        return dataclasses.replace(fibre, witness="the exact rank is not settled, so there is nothing to witness")
    subject = fibre.subject
    more = fibre.inputs
    if not (fibre.exhausted and isinstance(subject.inputs, Tokens)):
        drawn = subject.inputs.draw(_MORE, torch.Generator().manual_seed(fibre.seed % 2**61 + 5))
        more = torch.cat([fibre.inputs.cpu(), drawn])

    def forward(module: nn.Module, batch: Tensor) -> list[Tensor]:
        found = subject.call(module, batch)
        return [found[name].movedim(axis, 0) for name, axis in subject.axes.items()]

    seen = rank_witness(
        subject.plain, [name for name, _ in fibre.names], fibre.theta, [more], output=fibre.output, forward=forward,
        device=fibre.theta.device,
    )  # fmt: skip
    gap = None if math.isnan(seen.gap) else seen.gap
    reason = seen.reason
    if seen.rank is None and seen.calm == fibre.rank:
        reason += f"; at a quarter of the point there is a gap at {seen.calm}, as the exact rank"
    return dataclasses.replace(fibre, float_rank=seen.rank, gap=gap, at_least=seen.at_least, witness=reason)
