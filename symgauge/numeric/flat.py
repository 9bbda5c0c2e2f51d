"""Roles as one vector, and the tangent vectors that a symmetry family gives at a parameter point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import jacfwd

from symgauge.architecture import Architecture
from symgauge.symmetries.base import Symmetry
from symgauge.wiring import wire


@dataclass(frozen=True)
class Flat:
    """The order of an architecture's roles in a parameter vector θ (P,): that of the wiring."""

    shapes: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, architecture: Architecture) -> Flat:
        return cls(wire(architecture).shapes)

    @property
    def size(self) -> int:
        return sum(math.prod(shape) for shape in self.shapes.values())

    def join(self, roles: Mapping[str, Tensor]) -> Tensor:
        """θ from roles."""
        return torch.cat([roles[name].reshape(-1) for name in self.shapes])

    def split(self, theta: Tensor) -> dict[str, Tensor]:
        """Roles from θ; views, so that derivatives pass."""
        parts = theta.split([math.prod(shape) for shape in self.shapes.values()])
        return {name: part.reshape(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}


def generators(family: Symmetry, architecture: Architecture, parameters: Mapping[str, Tensor]) -> Tensor:
    """Tangent vectors (coordinates, P): the derivative of the family's action at the identity, in float64."""
    wiring, flat = wire(architecture), Flat.of(architecture)

    def moved(x: Tensor) -> Tensor:
        return flat.join({**parameters, **family.act(architecture, wiring, parameters, x)})

    like = next(iter(parameters.values()))
    zero = torch.zeros(family.coordinates(architecture, wiring), dtype=torch.float64, device=like.device)
    jacobian: Tensor = jacfwd(moved)(zero)
    return jacobian.mT
