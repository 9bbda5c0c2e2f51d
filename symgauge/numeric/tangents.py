"""The tangent vectors that a symmetry family gives at a parameter point."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.func import jacfwd

from symgauge.architecture import Architecture
from symgauge.model_graph import graph_of
from symgauge.parameter_vector import ParameterVector
from symgauge.symmetries.base import Symmetry


def generators(family: Symmetry, architecture: Architecture, parameters: Mapping[str, Tensor]) -> Tensor:
    """Tangent vectors (coordinates, P): the derivative of the family's action at the identity, in float64.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import generators
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> generators(family, a, roles).shape   # 2 · 3² directions, all parameters
        torch.Size([18, 100])
    """
    graph, vector = graph_of(architecture), ParameterVector.of(architecture)

    def moved(x: Tensor) -> Tensor:
        return vector.join({**parameters, **family.act(architecture, graph, parameters, x)})

    like = next(iter(parameters.values()))
    zero = torch.zeros(family.coordinates(architecture, graph), dtype=torch.float64, device=like.device)
    jacobian: Tensor = jacfwd(moved)(zero)
    return jacobian.mT
