"""What a space sees between the place where a constant is added to it and the place where it is taken away."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from sympy import Expr, Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import ModelGraph, Norm
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles
from symgauge.symmetries.constants import moved, reading, take_back
from symgauge.symmetries.elements import differences, identity, inverse, vanishing
from symgauge.symmetries.space import Constant, Moment, Reader, Space
from symgauge.symmetries.spaces import written_scale
from symgauge.symmetries.value_constants import stacked_output


@dataclass
class Gap:
    """What a space sees between ``first``, which adds a constant, and ``then`` (or nothing), which takes it away."""

    a: Architecture
    graph: ModelGraph
    space: Space
    first: Constant | None
    then: Constant | None
    moments: list[Moment] = field(default_factory=list)
    opening: bool = False
    """Whether the gap starts with the offset of the norm that opened the space."""

    @property
    def source(self) -> Norm | None:
        """The LayerNorm whose null direction readers of the first moment can use."""
        source = self.space.source
        return source if self.opening and source is not None and source.kind == "layer" else None

    def by_moment(self) -> Iterator[tuple[Moment, list[tuple[Reader, Norm | None]]]]:
        """Moments of the gap with their readers, each with the norm it reads directly, if that helps."""
        for position, moment in enumerate(self.moments):
            yield moment, [(r, self.source if position == 0 and not r.tied else None) for r in moment.readers]

    def readers(self) -> Iterator[tuple[Reader, Norm | None]]:
        """All readers in the gap."""
        for _, readers in self.by_moment():
            yield from readers

    def columns(self, reader: Reader) -> int:
        """Number of outputs of a reader (the vocabulary, if tied)."""
        return self.graph.shapes[reader.weight][-2 if reader.tied else -1]

    def obstacles(self) -> list[Reader]:
        """Readers with columns that cannot bear a constant."""
        return [
            reader
            for reader, norm in self.readers()
            if norm is None and len(reader.columns) < self.columns(reader) and not self.unhindered(reader)
        ]

    def unhindered(self, reader: Reader) -> bool:
        """Whether constants need not be taken back: a router that chooses one expert, values that hand them on."""
        one_expert = reader.router and self.a.experts is not None and self.a.experts.active == 1
        return one_expert or reader.onward is not None

    def handed_on(self, roles: Roles, readers: list[tuple[Reader, Norm | None]], c: Tensor) -> Tensor:
        """Constants (n, d) that the space has in the next moment: ``c`` and what values make of it."""
        for reader, norm in readers:
            if reader.onward is not None and norm is None:
                values = c @ torch.cat(list(roles[reader.weight]), dim=1)
                c = c + values @ stacked_output(self.a, roles, reader.onward) * written_scale(self.a)
        return c

    def blocked(self, reader: Reader) -> tuple[int, Expr]:
        """How many columns of a reader cannot bear a constant, in numbers and letters."""
        shape, letters = self.graph.shapes[reader.weight], s.shape(self.a, reader.weight)
        missing = self.columns(reader) - len(reader.columns)
        width: Expr = Integer(missing) if reader.columns else letters[-2 if reader.tied else -1]
        if reader.router and self.a.experts is not None and self.a.experts.routing == "softmax":
            missing, width = missing - 1, width - 1
        return (missing * shape[0], width * letters[0]) if len(shape) == 3 else (missing, width)

    def size(self) -> tuple[int, Expr]:
        """Dimension of the vectors c that every reader in the gap bears, in numbers and letters."""
        norms = [norm for moment in self.moments for norm in moment.norms]
        obstacles = self.obstacles()
        if (self.then is None and self.space.taken) or any(norm.kind == "rms" for norm in norms):
            return 0, Integer(0)
        if norms:
            return (0, Integer(0)) if obstacles else (1, Integer(1))
        lost = [self.blocked(reader) for reader in obstacles]
        count = self.space.width - sum(number for number, _ in lost)
        if count <= 0:
            return 0, Integer(0)
        return count, s.d - s.total((r.weight, letters) for r, (_, letters) in zip(obstacles, lost, strict=True))

    def vector(self, roles: Roles, x: Tensor) -> Tensor:
        """The shift c (d,) with coordinates x."""
        obstacles, blocked = self.obstacles(), []
        carried = one = identity(self.space.width, x)
        for moment, readers in self.by_moment():
            if moment.norms:
                # What LayerNorm reads may have moved along 1 alone.
                level = x * torch.ones(self.space.width, dtype=x.dtype, device=x.device)
                return level if carried is one else level @ inverse(carried)
            blocked += [carried @ self.blocked_matrix(roles, r) for r in moment.readers if r in obstacles]
            carried = self.handed_on(roles, readers, carried)
        if not obstacles:
            return x
        # c must vanish on the blocked columns: solve for its first entries.
        return vanishing(x, torch.cat(blocked, dim=1))

    def blocked_matrix(self, roles: Roles, reader: Reader) -> Tensor:
        weight = roles[reader.weight].mT if reader.tied else roles[reader.weight]
        missing = [c for c in range(self.columns(reader)) if c not in reader.columns]
        weight = weight[..., torch.tensor(missing, device=weight.device)]
        if reader.router and self.a.experts is not None and self.a.experts.routing == "softmax":
            return weight @ differences(len(missing), weight)
        return weight if weight.dim() == 2 else torch.cat([weight[i] for i in range(weight.shape[0])], dim=1)

    def act(self, roles: Roles, c: Tensor) -> dict[str, Tensor]:
        """Add c at the start of the gap, take it away at its end, and let the readers bear it."""
        changed = {} if self.first is None else moved(roles, self.first, c)
        now = ChainMap(changed, roles)  # type: ignore[arg-type]
        for _, readers in self.by_moment():
            for reader, norm in readers:
                changed |= self.bear(now, reader, norm, reading(roles, reader, c))
            c = self.handed_on(roles, readers, c.unsqueeze(0)).squeeze(0)
        if self.then is not None:
            changed |= moved(now, self.then, -c)
        return changed

    def bear(self, roles: Roles, reader: Reader, norm: Norm | None, constant: Tensor) -> dict[str, Tensor]:
        """Undo ``constant`` in a reader's result, by its null direction where nothing else can."""
        columns = self.columns(reader)
        if len(reader.columns) == columns:
            return take_back(self.a, roles, reader, constant)
        if norm is None or norm.offset is None:
            return {}
        own = torch.tensor([float(c in reader.columns) for c in range(columns)]).to(constant)
        changed = take_back(self.a, roles, reader, constant * own) if reader.columns else {}
        inverse = 1 / roles[norm.gain]
        v = constant * (1 - own) / (roles[norm.offset] * inverse).sum()
        return changed | {reader.weight: roles[reader.weight] - inverse.unsqueeze(-1) * v.unsqueeze(-2)}


def gaps(a: Architecture, graph: ModelGraph, space: Space) -> list[tuple[int, Gap]]:
    """One gap from each moment with constants (its position comes first) to the next."""
    found: list[tuple[int, Gap]] = []
    for position, moment in enumerate(space.moments):
        if moment.constants:
            if found:
                found[-1][1].then = moment.constants[0]
            found.append((position, Gap(a, graph, space, moment.constants[0], None, opening=position == 0)))
        if found:
            found[-1][1].moments.append(moment)
    return found


def open_gap(a: Architecture, graph: ModelGraph, space: Space, position: int) -> Gap:
    """The gap from a moment without constants of its own to the next constant, if there is one."""
    gap = Gap(a, graph, space, None, None)
    for moment in space.moments[position:]:
        if moment.constants:
            gap.then = moment.constants[0]
            break
        gap.moments.append(moment)
    return gap
