"""Named tensors as one parameter vector θ: the order, and the way there and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from symgauge.architecture import Architecture
from symgauge.model_graph import graph_of


@dataclass(frozen=True)
class ParameterVector:
    """Name → shape, in the order of θ (P,).

    >>> vector = ParameterVector({"a": (2,), "b": (1, 2)})
    >>> vector.split(torch.arange(4))["b"]
    tensor([[2, 3]])
    """

    shapes: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, what: Architecture | nn.Module) -> ParameterVector:
        """Of an architecture's roles in the order of its graph, or a module's parameters, tied ones once."""
        if isinstance(what, Architecture):
            return cls(graph_of(what).shapes)
        return cls({name: tuple(p.shape) for name, p in what.named_parameters()})

    @property
    def size(self) -> int:
        """P."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    @property
    def slices(self) -> dict[str, slice]:
        """Name → its place in θ."""
        found, start = {}, 0
        for name, shape in self.shapes.items():
            found[name] = slice(start, start + math.prod(shape))
            start = found[name].stop
        return found

    def join(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """θ (…, P) from tensors (…, *shape) with one batch shape in front, or none."""
        parts = [(tensors[name], len(shape)) for name, shape in self.shapes.items()]
        return torch.cat([x.reshape(*x.shape[: x.dim() - n], -1) for x, n in parts], -1)

    def split(self, theta: Tensor) -> dict[str, Tensor]:
        """Tensors (…, *shape) from θ (…, P); views, so that derivatives pass."""
        parts = theta.split([math.prod(shape) for shape in self.shapes.values()], -1)
        named = zip(self.shapes.items(), parts, strict=True)
        return {name: part.reshape(*theta.shape[:-1], *shape) for (name, shape), part in named}
