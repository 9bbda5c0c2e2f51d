"""Random roles in general position, so that nothing vanishes by accident of initialisation."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import graph_of


def _spread(name: str, shape: tuple[int, ...]) -> float:
    """Standard deviation that keeps activations of order one: 1/√(number of inputs summed) for linear maps."""
    if name.endswith("output.weight"):
        return 1 / math.sqrt(shape[0] * shape[1])
    if name.endswith(".weight"):
        return 1 / math.sqrt(shape[-2])
    return 0.5 if name.endswith((".bias", ".offset")) else 1.0


def random_parameters(architecture: Architecture, seed: int = 0) -> dict[str, Tensor]:
    """Roles of ``architecture`` (float64, canonical shapes) with every entry random; logits are of order one.

    Biases and offsets are not zero, and gains have both signs and sizes in [0.5, 1.5], so that a symmetry that only
    holds at a usual initialisation is not mistaken for a generic one.

    Example:
        >>> import symgauge
        >>> from symgauge.models.reference import random_parameters
        >>> a = symgauge.Architecture(d_model=4, heads=2, d_k=3, d_v=2, vocabulary=7)
        >>> roles = random_parameters(a)
        >>> roles["token_table"].shape, roles.keys() == symgauge.graph_of(a).shapes.keys()
        (torch.Size([7, 4]), True)
    """
    generator = torch.Generator().manual_seed(seed)
    roles = {}
    for name, shape in graph_of(architecture).shapes.items():
        if name.endswith(".gain"):
            sizes = 0.5 + torch.rand(shape, generator=generator, dtype=torch.float64)
            signs = 2 * torch.randint(0, 2, shape, generator=generator) - 1
            roles[name] = sizes * signs
        else:
            roles[name] = _spread(name, shape) * torch.randn(shape, generator=generator, dtype=torch.float64)
    return roles
