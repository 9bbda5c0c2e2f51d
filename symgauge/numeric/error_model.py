"""How large a rounding error may be: the tolerance of every float comparison, measured and never wished for.

Each product, norm and softmax computed in floating point is, up to rounding, the exact result for slightly different
weights (Higham, Accuracy and Stability of Numerical Algorithms, Section 3.5): relative changes of about ε√n for sums of
n terms. What that does to the output depends on depth, logit scale and norms all at once, so it is measured: roles are
shaken by a known relative amount in float64, and the output's relative change per unit of shaking is the *sensitivity*.
A group action adds its own *condition*: how far a role moves per unit of change of parameters and coordinates (about
cond(A) where A is inverted).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from symgauge.architecture import Architecture
from symgauge.wiring import wire

Roles = Mapping[str, Tensor]
Function = Callable[[Roles], Tensor]
Action = Callable[[Roles, Any], Mapping[str, Tensor]]

SAFETY = 2.0
"""Factor between the typical error of the model and what is allowed."""
_SHAKE = 2.0**-20
"""Relative size of the shaking: far above float64's rounding, and small enough to stay in the linear range."""
_DRAWS = 2


def longest_sum(architecture: Architecture, length: int) -> int:
    """The largest number of terms that one matrix product of the model adds up, for sequences of ``length``."""
    shapes = wire(architecture).shapes
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


def sensitivity(function: Function, roles: Roles, condition: Mapping[str, float], seed: int) -> float:
    """Relative change of the output per relative change of the roles; each role r is shaken by ``condition[r]``."""
    generator = torch.Generator().manual_seed(seed)
    output, worst = function(roles), 0.0
    for _ in range(_DRAWS):
        shaken = {
            name: x + _SHAKE * condition.get(name, 1.0) * x.square().mean().sqrt() * _noise(x, generator)
            for name, x in roles.items()
        }
        worst = max(worst, relative_error(output, function(shaken)) / _SHAKE)
    return worst


def conditions(act: Action, parameters: Roles, element: Any, seed: int) -> dict[str, float]:
    """Per role: relative change of the transformed role per relative change of parameters and element; at least 1."""
    generator = torch.Generator().manual_seed(seed)

    def shake(x: Any) -> Any:
        if not isinstance(x, Tensor) or not x.is_floating_point():
            return x
        return x * (1 + _SHAKE * _noise(x, generator))

    after = act(parameters, element)
    worst = dict.fromkeys(after, 1.0)
    for _ in range(_DRAWS):
        moved = act(tree_map(shake, dict(parameters)), tree_map(shake, element))
        for name in after:
            worst[name] = max(worst[name], relative_error(after[name], moved[name]) / _SHAKE)
    return worst


def allowed_error(epsilon: float, length: int, before: float, after: float) -> float:
    """2 ε √n (S + S′): ``length`` n of the longest sum, sensitivities S before and S′ after the action."""
    return SAFETY * epsilon * math.sqrt(length) * (before + after)
