"""Constants on a stream that move from one place to another: norm offsets, embedding tables, biases.

Between the place where a vector c is added and the place where it is taken away again, everything that reads the stream
has to bear it: a linear reader through its bias (or because softmax does not see it), a LayerNorm if c is along **1**.
A reader of a LayerNorm's own result has a further way: its null direction turns the offset's sum into any constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from sympy import Expr, Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.symmetries import symbols as s
from symgauge.symmetries.attention_biases import moved, through_heads
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.elements import differences, inverse, shifts
from symgauge.symmetries.readers import reading, take_back
from symgauge.symmetries.spaces import Constant, Moment, Reader, Space, spaces, written_scale
from symgauge.wiring import Attention, Norm, Wiring


@dataclass
class Gap:
    """What a space sees between ``first``, which adds a constant, and ``then`` (or nothing), which takes it away."""

    a: Architecture
    w: Wiring
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

    def readers(self) -> Iterator[tuple[Reader, Norm | None]]:
        """Readers in the gap, each with the norm it reads directly, if that helps."""
        for position, moment in enumerate(self.moments):
            for reader in moment.readers:
                yield reader, (self.source if position == 0 and not reader.tied else None)

    def columns(self, reader: Reader) -> int:
        """Number of outputs of a reader (the vocabulary, if tied)."""
        return self.w.shapes[reader.weight][-2 if reader.tied else -1]

    def obstacles(self) -> list[Reader]:
        """Readers with columns that cannot bear a constant."""
        return [
            reader
            for reader, norm in self.readers()
            if norm is None and len(reader.columns) < self.columns(reader) and not self.indifferent(reader)
        ]

    def indifferent(self, reader: Reader) -> bool:
        return reader.router and self.a.experts is not None and self.a.experts.active == 1

    def blocked(self, reader: Reader) -> tuple[int, Expr]:
        """How many columns of a reader cannot bear a constant, in numbers and letters."""
        shape, letters = self.w.shapes[reader.weight], s.shape(self.a, reader.weight)
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
        if any(moment.norms for moment in self.moments):
            return x * torch.ones(self.space.width, dtype=x.dtype, device=x.device)
        obstacles = self.obstacles()
        if not obstacles:
            return x
        # c must vanish on the blocked columns: solve for its first entries.
        seen = torch.cat([self.blocked_matrix(roles, reader) for reader in obstacles], dim=1)
        rank = seen.shape[1]
        first = -(x.unsqueeze(0) @ seen[rank:]) @ inverse(seen[:rank])
        return torch.cat([first.squeeze(0), x])

    def blocked_matrix(self, roles: Roles, reader: Reader) -> Tensor:
        weight = roles[reader.weight].mT if reader.tied else roles[reader.weight]
        missing = [c for c in range(self.columns(reader)) if c not in reader.columns]
        weight = weight[..., torch.tensor(missing, device=weight.device)]
        if reader.router and self.a.experts is not None and self.a.experts.routing == "softmax":
            return weight @ differences(len(missing), weight)
        return weight if weight.dim() == 2 else torch.cat([weight[i] for i in range(weight.shape[0])], dim=1)

    def act(self, roles: Roles, c: Tensor) -> dict[str, Tensor]:
        """Add c at the start of the gap, take it away at its end, and let the readers bear it."""
        now = dict(roles) if self.first is None else {**roles, **moved(roles, self.first, c)}
        if self.then is not None:
            now |= moved(now, self.then, -c)
        for reader, norm in self.readers():
            now |= self.bear(now, reader, norm, reading(roles, reader, c))
        return {role: value for role, value in now.items() if value is not roles[role]}

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


def gaps(a: Architecture, w: Wiring, space: Space) -> list[tuple[int, Gap]]:
    """One gap from each moment with constants (its position comes first) to the next."""
    found: list[tuple[int, Gap]] = []
    for position, moment in enumerate(space.moments):
        if moment.constants:
            if found:
                found[-1][1].then = moment.constants[0]
            found.append((position, Gap(a, w, space, moment.constants[0], None, opening=position == 0)))
        if found:
            found[-1][1].moments.append(moment)
    return found


def open_gap(a: Architecture, w: Wiring, space: Space, position: int) -> Gap:
    """The gap from a moment without constants of its own to the next constant, if there is one."""
    gap = Gap(a, w, space, None, None)
    for moment in space.moments[position:]:
        if moment.constants:
            gap.then = moment.constants[0]
            break
        gap.moments.append(moment)
    return gap


class _GapFamily(Symmetry):
    """Shifts across gaps; subclasses say which."""

    def opening(self) -> bool:
        raise NotImplementedError

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        found = []
        for space in spaces(a, w):
            # Where only LayerNorms read, every constant moves along 1 alone: the writers' mean has that already.
            for position, gap in gaps(a, w, space):
                count, size = (0, Integer(0)) if space.centred(position) else gap.size()
                if count and (gap.opening and space.source is not None) == self.opening():
                    layer = s.layer_of(space.moments[position].constants[0].roles[0])
                    found.append(Site(layer, size, count, _crossing(gap), shifts(count)))
        return found


def _crossing(gap: Gap) -> Callable[[Roles, Tensor], dict[str, Tensor]]:
    return lambda roles, x: gap.act(roles, gap.vector(roles, x))


class NormOffset(_GapFamily):
    name = "norm-offset"
    title = (
        "A norm's offset moves; the maps that read it take the constant back in their biases or along their null "
        "direction, and in Post-LN models the next bias on the stream takes it away."
    )
    source = "claims CT-5; readers without biases derived here"

    def opening(self) -> bool:
        return True


class BiasCarry(_GapFamily):
    name = "bias-carry"
    title = "A bias (or table) on the stream moves and a later one takes it away; what reads in between bears it."
    source = "claims CT-5 (one Pre-LN block alone); in general derived here"

    def opening(self) -> bool:
        return False


class ValueCarry(Symmetry):
    name = "value-carry"
    title = (
        "Where attention has a value bias but nothing added with it, what the value bias writes is taken away by the "
        "next bias on the stream, if everything that reads in between bears it."
    )
    source = "derived here"

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        if a.attention != "softmax" or not a.value_bias:
            return []
        values = {sub.output.weight: sub.value.bias for sub in w.sublayers() if isinstance(sub, Attention)}
        found = []
        for space in spaces(a, w):
            for position, moment in enumerate(space.moments):
                outputs = [m.weight for m in moment.writers if m.weight in values]
                if outputs and not moment.constants:
                    gap = open_gap(a, w, space, position)
                    if gap.size()[0] == space.width:
                        found.append(self._site(a, gap, outputs[0], str(values[outputs[0]])))
        return found

    def _site(self, a: Architecture, gap: Gap, output: str, bias: str) -> Site:
        # Beyond d_model directions, the output map kills the rest: those are counted with the value bias.
        total = a.groups * a.d_v
        count = min(total, a.d_model)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            t = torch.cat([x, torch.zeros(total - count, dtype=x.dtype, device=x.device)]) if count < total else x
            t = t.reshape(a.groups, a.d_v)
            written = through_heads(a, roles, output, t) * written_scale(a)
            return {**gap.act(roles, written), bias: roles[bias] + t}

        return Site(s.layer_of(output), s.g * s.d_v if count == total else s.d, count, act, shifts(count))


class _TogetherFamily(Symmetry):
    """Constants added at the same moment trade a vector; subclasses say which."""

    tables: bool

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        found = []
        for space in spaces(a, w):
            for position, moment in enumerate(space.moments):
                first, *others = moment.constants or [Constant(())]
                centred = space.centred(position)
                found += [self._site(space, centred, first, other) for other in others if other.table == self.tables]
        return found

    def _site(self, space: Space, centred: bool, first: Constant, other: Constant) -> Site:
        # Along 1 both move alone where only LayerNorms read.
        count = space.width - 1 if centred else space.width

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            c = torch.cat([x, torch.zeros_like(x[:1])]) if centred else x
            return moved(roles, first, c) | moved(roles, other, -c)

        layer = s.layer_of(other.roles[0])
        return Site(layer, s.d - 1 if centred else s.d, count, act, shifts(count))


class TableShift(_TogetherFamily):
    name = "table-shift"
    title = "A vector added to all rows of one embedding table is taken from all rows of another."
    source = "claims CT-5"
    tables = True


class BiasTrade(_TogetherFamily):
    name = "bias-trade"
    title = "Biases added to the stream at the same place (parallel blocks, shared experts) trade a vector."
    source = "derived here"
    tables = False
