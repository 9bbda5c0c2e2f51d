"""A fibre's dimension as a user measures it: the exact engine, and a second witness that shares no code with it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch
from torch import Tensor, nn

from symgauge.checks import check_choice, check_measuring
from symgauge.exact import dimension as engine
from symgauge.exact.probes import Inputs, Tokens
from symgauge.exact.result import FibreDimension
from symgauge.numeric.witness import rank_witness
from symgauge.subjects import subject_of
from symgauge.subjects.target import Parameters, Target

PARAMETERS: dict[str, Parameters] = {"random": "unset", "own": "own"}
"""By the point of a measurement, what a module that is built for it holds: a random point is drawn when measuring."""
_MORE = 64
"""Inputs that the second witness sees beside those of the exact run."""


def dimension(target: Target, inputs: Inputs | None = None, *, witness: bool = True, **options: Any) -> FibreDimension:
    """As :func:`symgauge.exact.dimension.dimension`, with a second witness where float64 allows one.

    ``target`` is whatever :func:`~symgauge.subjects.target.subject_of` takes: a module, an architecture, or a name as
    on the command line; ``inputs`` take the place of its own.

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
    check_choice("point", options.get("point", "random"), PARAMETERS)
    parameters = PARAMETERS[options.get("point", "random")]
    subject = subject_of(target, inputs, seed=options.get("seed", 0), parameters=parameters)
    fibre = engine.dimension(subject.module, subject.inputs, **options)
    return witnessed(fibre) if witness else fibre


def witnessed(fibre: FibreDimension) -> FibreDimension:
    """A result with what the float64 Jacobian of the plain module says of its rank."""
    if not fibre.saturated or not fibre.agree:
        return dataclasses.replace(fibre, witness="the exact rank is not settled, so there is nothing to witness")
    function = fibre.function
    more = fibre.inputs
    if not (fibre.exhausted and isinstance(function.inputs, Tokens)):
        drawn = function.inputs.draw(_MORE, torch.Generator().manual_seed(fibre.seed % 2**61 + 5))
        more = torch.cat([fibre.inputs.cpu(), drawn])

    def forward(module: nn.Module, batch: Tensor) -> list[Tensor]:
        found = function.call(module, batch)
        return [found[name].movedim(axis, 0) for name, axis in function.axes.items()]

    seen = rank_witness(
        function.plain, [name for name, _ in fibre.names], fibre.theta, [more], output=fibre.output, forward=forward,
        device=fibre.theta.device,
    )  # fmt: skip
    gap = None if math.isnan(seen.gap) else seen.gap
    reason = seen.reason
    if seen.rank is None and seen.calm == fibre.rank:
        reason += f"; at a quarter of the point there is a gap at {seen.calm}, as the exact rank"
    return dataclasses.replace(fibre, float_rank=seen.rank, gap=gap, at_least=seen.at_least, witness=reason)
