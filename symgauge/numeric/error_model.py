"""How large a rounding error may be: the tolerance of every float comparison, measured and never wished for.

Each product, norm and softmax computed in floating point is, up to rounding, the exact result for slightly different
weights (Higham, Accuracy and Stability of Numerical Algorithms, Section 3.5): relative changes of about ε√n for sums of
n terms. What that does to the output depends on depth, logit scale and norms all at once, so it is measured: roles are
shaken by a known relative amount in float64, and the output's relative change per unit of shaking is the *sensitivity*.
A group action adds its own *condition*: how far a role moves per unit of change of parameters and coordinates (about
cond(A) where A is inverted).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from symgauge.architecture import Architecture
from symgauge.model_graph import graph_of

Roles = Mapping[str, Tensor]
Function = Callable[[Roles], Tensor]
Action = Callable[..., Mapping[str, Tensor]]
"""(roles, element) → the roles it changes, or all."""

SAFETY = 2.0
"""Factor between the typical error of the model and what is allowed."""
_SHAKES = (2.0**-20, 2.0**-30, 2.0**-40)
"""Relative sizes of the shaking, the first that keeps changes below ``_LINEAR``; all far above rounding."""
_LINEAR = 0.05
_DRAWS = 2


def longest_sum(architecture: Architecture, length: int) -> int:
    """The largest number of terms that one matrix product of the model adds up, for sequences of ``length``."""
    shapes = graph_of(architecture).shapes
    sums = [
        shape[0] * shape[1] if name.endswith("output.weight") else shape[-2]
        for name, shape in shapes.items()
        if name.endswith(".weight")
    ]
    return max([length, *sums])


def relative_error(expected: Tensor, found: Tensor) -> float:
    """‖found − expected‖ / ‖expected‖ in the Frobenius norm, in float64; infinity if anything is not finite."""
    expected, found = expected.double(), found.double()
    error = float(torch.linalg.vector_norm(found - expected) / torch.linalg.vector_norm(expected))
    return error if math.isfinite(error) else math.inf


def _noise(x: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x.device)


def _amplification(change: Callable[[float], float]) -> float:
    """Relative change per relative shaking, in the linear range; infinite if even the least shaking leaves it."""
    for size in _SHAKES:
        found = change(size)
        if found <= _LINEAR:
            return found / size
    return math.inf


def sensitivity(function: Function, roles: Roles, condition: Mapping[str, float], seed: int) -> float:
    """Relative change of the output per relative change of the roles; each role r is shaken by ``condition[r]``."""
    output = function(roles)
    sizes = {name: condition.get(name, 1.0) * x.square().mean().sqrt() for name, x in roles.items()}
    if not all(math.isfinite(size) for size in sizes.values()):
        return math.inf

    def change(size: float, draw: int) -> float:
        generator = torch.Generator().manual_seed(seed + draw)
        shaken = {name: x + size * sizes[name] * _noise(x, generator) for name, x in roles.items()}
        return relative_error(output, function(shaken))

    return max(_amplification(functools.partial(change, draw=draw)) for draw in range(_DRAWS))


def conditions(act: Action, parameters: Roles, element: Any, seed: int) -> dict[str, float]:
    """Per role: relative change of the transformed role per relative change of parameters and element; at least 1."""
    after = act(parameters, element)

    @functools.cache
    def moved(size: float, draw: int) -> Mapping[str, Tensor]:
        generator = torch.Generator().manual_seed(seed + draw)

        def shake(x: Any) -> Any:
            if not isinstance(x, Tensor) or not x.is_floating_point():
                return x
            return x * (1 + size * _noise(x, generator))

        return act(tree_map(shake, dict(parameters)), tree_map(shake, element))

    def condition(name: str, draw: int) -> float:
        return _amplification(lambda size: relative_error(after[name], moved(size, draw)[name]))

    return {name: max(1.0, *(condition(name, draw) for draw in range(_DRAWS))) for name in after}


def allowed_error(epsilon: float, length: int, before: float, after: float) -> float:
    """2 ε √n (S + S′): ``length`` n of the longest sum, sensitivities S before and S′ after the action."""
    return SAFETY * epsilon * math.sqrt(length) * (before + after)
