"""A family of symmetries given by generators: fields on a module's parameters, by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
from scipy import sparse
from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.discovery import writing
from symgauge.discovery.ansatz import blocks_of
from symgauge.discovery.extended import Computed, bases_of, computed, extension
from symgauge.discovery.fields import Fields, fields_from
from symgauge.discovery.integrated import run
from symgauge.model_graph import ModelGraph
from symgauge.symmetries.base import Output, Roles, Site, Symmetry, Unseen

_STEPS, _TERMS = 8, 14
"""exp(X) = exp(X/8)⁸, each by its series: to rounding for elements of norm up to 3."""
_FLOW_STEPS = 4
"""Steps of a flow that is integrated: to rounding as far as sampled elements go, unless there is a pole on the way."""
_FAR = 0.3
"""Standard deviation of a sampled element's coordinates."""


class DiscoveredFamily(Symmetry):
    """Subclasses give ``name``, ``title``, ``found`` and ``generators``.

    The element with coordinates x acts by exp(Σ xᵢ Xᵢ), where a step along Xᵢ does what its lines say. The series of
    the exponential is written in sums and products, which the exact engine differentiates. Where the fields move what
    they are computed from, the flow is integrated (:mod:`symgauge.discovery.integrated`).

    Example:
        >>> import torch, symgauge
        >>> class Product(DiscoveredFamily):
        ...     name, title = "product", "the first map is multiplied by a number and the second divided by it"
        ...     generators = (("0.weight += 0.weight", "1.weight -= 1.weight"),)
        ...
        >>> maps = torch.nn.Linear(3, 1, bias=False), torch.nn.Linear(1, 4, bias=False)
        >>> subject = symgauge.Subject(torch.nn.Sequential(*maps), symgauge.Vectors(length=1, width=3))
        >>> symgauge.account(subject, extra=[Product()]).complete
        True
    """

    acts_on = "parameters"
    found: ClassVar[str] = ""
    """Where it was discovered: the module and its sizes, seed, primes."""
    generators: ClassVar[Sequence[Sequence[str]]]
    """Of each generator the lines, as :mod:`symgauge.discovery.writing` has them."""

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of all parameters that it moves or reads."""
        every = [name for lines in self.generators for line in lines for name in writing.tensors(line)]
        return tuple(dict.fromkeys(base for name in every for base in bases_of(name)))

    def derived(self, shapes: Mapping[str, tuple[int, ...]]) -> list[Computed]:
        """Tensors in its lines that are computed from parameters of these shapes, one after the other."""
        blocks = blocks_of(list(shapes.items()))
        start = sum(block.size for block in blocks)
        found: list[Computed] = []
        for names in dict.fromkeys(writing.read_by(line) for lines in self.generators for line in lines):
            if (each := computed(names, blocks, start)) is not None:
                found.append(each)
                start += each.size
        return found

    def moving(self, shapes: Mapping[str, tuple[int, ...]]) -> bool:
        """Whether it moves what any of these is computed from."""
        moved = {writing.tensors(line)[0] for lines in self.generators for line in lines}
        return any(each.bases & moved for each in self.derived(shapes))

    def applies(self, a: Architecture | None, output: Output = "logits") -> bool:
        return output in self.outputs

    def sites(self, a: Architecture | None, graph: ModelGraph) -> list[Site]:
        count = len(self.generators)

        def sample(generator: torch.Generator) -> Tensor:
            return _FAR * torch.randn(count, generator=generator, dtype=torch.float64)

        return [Site(None, Integer(count), count, self._act, sample)]

    def unseen_alone(self, a: Architecture | None, role: str) -> Unseen | None:
        """A tensor that moves by itself may be put back."""
        return Unseen("it moves alone") if self.tensors == (role,) else None

    def fields(self, shapes: Mapping[str, tuple[int, ...]]) -> Fields:
        """The generators on the space of tensors of these shapes, one after the other, with :meth:`derived` behind."""
        places, size = _places({**shapes, **{each.name: each.shape for each in self.derived(shapes)}})
        matrices = []
        for lines in self.generators:
            rows, columns, factors = self._entries(lines, places)
            place = (rows.numpy(), columns.numpy())
            matrices.append(sparse.csr_array((factors.numpy(), place), shape=(size, size), dtype=np.int64))
        return fields_from(matrices, size - 1)

    def _act(self, roles: Roles, x: Tensor) -> dict[str, Tensor]:
        shapes = {name: tuple(roles[name].shape) for name in self.tensors}
        derived = self.derived(shapes)
        places, _ = _places({**shapes, **{each.name: each.shape for each in derived}})
        parts = [self._entries(lines, places) for lines in self.generators]
        rows, columns, factors = (torch.cat([part[i] for part in parts]) for i in range(3))
        owner = torch.cat([torch.full((len(part[0]),), i) for i, part in enumerate(parts)])
        speed = x[owner] * factors.to(torch.float64)
        theta = torch.cat([roles[name].reshape(-1) for name in shapes])

        def moved_by(point: Tensor) -> Tensor:
            return torch.zeros(point.shape, dtype=torch.float64).scatter_add(0, rows, speed * point[columns])

        def extended(theta: Tensor) -> Tensor:
            # The constant 1 stands before all entries; nothing moves it, nor what is computed from others.
            return torch.cat([torch.ones(1, dtype=torch.float64), theta, extension(derived, theta)])

        point = extended(theta)
        if self.moving(shapes):
            end = run(lambda at: moved_by(extended(at))[1 : 1 + len(theta)], theta, _FLOW_STEPS)
            point = torch.cat([point[:1], end])
        else:
            for _ in range(_STEPS):
                term = point
                for k in range(1, _TERMS + 1):
                    term = moved_by(term) / (_STEPS * k)
                    point = point + term
        moved = dict.fromkeys(writing.tensors(line)[0] for lines in self.generators for line in lines)
        return {name: point[places[name]] for name in moved}

    @staticmethod
    def _entries(lines: Sequence[str], places: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Of one generator: what moves, what moves it, and the factors."""
        found = [writing.parsed(line, places) for line in lines]
        factors = [torch.full((len(target),), factor) for target, _, factor in found]
        return torch.cat([t for t, _, _ in found]), torch.cat([s for _, s, _ in found]), torch.cat(factors)


def _places(shapes: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, Tensor], int]:
    """Positions of tensors that lie one after the other behind a constant, and how many there are in all."""
    places, start = {}, 1
    for name, shape in shapes.items():
        count = int(torch.Size(shape).numel())
        places[name] = torch.arange(start, start + count).reshape(shape)
        start += count
    return places, start
