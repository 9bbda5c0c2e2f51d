"""The tangent vectors that a symmetry family gives at a parameter point."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.func import jacfwd

from symgauge.architecture import Architecture
from symgauge.parameter_vector import ParameterVector
from symgauge.symmetries.base import Symmetry
from symgauge.wiring import wire


def generators(family: Symmetry, architecture: Architecture, parameters: Mapping[str, Tensor]) -> Tensor:
    """Tangent vectors (coordinates, P): the derivative of the family's action at the identity, in float64."""
    wiring, vector = wire(architecture), ParameterVector.of(architecture)

    def moved(x: Tensor) -> Tensor:
        return vector.join({**parameters, **family.act(architecture, wiring, parameters, x)})

    like = next(iter(parameters.values()))
    zero = torch.zeros(family.coordinates(architecture, wiring), dtype=torch.float64, device=like.device)
    jacobian: Tensor = jacfwd(moved)(zero)
    return jacobian.mT
