"""The vector fields among which symmetries are sought: affine in the parameters, and respecting the tensors' modes.

A *term* moves one tensor by a constant map of another (or of itself, or of the number 1) that leaves some modes alone:
δT[i, b] = Σ_k M[i, k] U[k, b]. Rotations, scalings, mixings of heads, shifts, biases that absorb a weight, and shears
between tables are all sums of terms; the entries of M are the unknowns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues

_JOINT, _WHOLE = 16, 6
"""Some modes of a tensor, or all, are mixed with each other where they have at most so many indices together."""
_APART = 4
"""Largest mode whose indices are moved apart, each by maps of its own."""
_SOURCES = 64
"""Longest contracted source of a vector: a bias that absorbs a table with more rows than this is not sought."""


def owner(name: str) -> str:
    """Of a parameter's name, what stands before the last part: its submodule. Some write it with underscores."""
    return name[: max(name.rfind("."), name.rfind("__"), 0)]


@dataclass(frozen=True)
class Block:
    """A tensor among all parameters: its entries are ``start`` … ``start + numel`` of θ."""

    name: str
    shape: tuple[int, ...]
    start: int

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def places(self) -> Tensor:
        """Positions in θ, in the tensor's shape."""
        return torch.arange(self.start, self.start + self.size).reshape(self.shape)


@dataclass(frozen=True)
class Part(Block):
    """One index of one mode of a tensor, which may move apart from the others: an expert in a stack, a head."""

    whole: Block
    mode: int
    index: int

    @property
    def places(self) -> Tensor:
        """Positions in θ, in the shape that is left."""
        return self.whole.places.select(self.mode, self.index)


def parts_of(block: Block, mode: int) -> list[Part]:
    """A tensor index by index."""
    shape = block.shape[:mode] + block.shape[mode + 1 :]
    return [Part(block.name, shape, block.start, block, mode, i) for i in range(block.shape[mode])]


def blocks_of(shapes: Sequence[tuple[str, tuple[int, ...]]]) -> list[Block]:
    """Tensors one after the other, as θ holds them."""
    blocks, start = [], 0
    for name, shape in shapes:
        blocks.append(Block(name, tuple(shape), start))
        start += blocks[-1].size
    return blocks


@dataclass(frozen=True)
class Term:
    """δ target = M · source, where mode ``kept[i][0]`` of the target is mode ``kept[i][1]`` of the source, untouched.

    ``source`` is None for a shift, whose M is a constant of the target's shape.
    """

    target: Block
    source: Block | None
    kept: tuple[tuple[int, int], ...] = ()

    @property
    def moved(self) -> tuple[int, ...]:
        """Modes of the target that M acts on."""
        kept = {t for t, _ in self.kept}
        return tuple(m for m in range(len(self.target.shape)) if m not in kept)

    @property
    def contracted(self) -> tuple[int, ...]:
        """Modes of the source that M sums over."""
        kept = {s for _, s in self.kept}
        return tuple(m for m in range(len(self.source.shape)) if m not in kept) if self.source else ()

    @property
    def shape(self) -> tuple[int, int]:
        """Of M: (indices moved, indices summed over)."""
        rows = math.prod(self.target.shape[m] for m in self.moved)
        return rows, math.prod(self.source.shape[m] for m in self.contracted) if self.source else 1

    @property
    def size(self) -> int:
        """How many unknowns M holds."""
        return math.prod(self.shape)

    def _target_places(self) -> Tensor:
        """Positions in θ of the target's entries: (rows of M, kept indices)."""
        order = [*self.moved, *(t for t, _ in self.kept)]
        return self.target.places.permute(order).reshape(self.shape[0], -1)

    def _source_places(self) -> Tensor:
        """Positions in θ of the source's entries: (columns of M, kept indices)."""
        assert self.source is not None
        order = [*self.contracted, *(s for _, s in self.kept)]
        return self.source.places.permute(order).reshape(self.shape[1], -1)

    def equations(self, rows: Tensor, theta: Tensor, field: FiniteField) -> Tensor:
        """What rows (m, P) of the Jacobian at ``theta`` (P,) say of M's entries: (m, size), all residues modulo p."""
        derivatives = rows[:, self._target_places()]
        if self.source is None:
            return derivatives.reshape(len(rows), -1)
        factor = Residues(theta[self._source_places()].mT.contiguous())
        count, moved, kept = derivatives.shape
        return field.matmul(Residues(derivatives.reshape(count * moved, kept)), factor).re.reshape(count, -1)

    def motion(self, maps: Tensor, theta: Tensor, size: int, field: FiniteField) -> Tensor:
        """What maps M (n, size of M) do at ``theta``, in a space of ``size`` parameters: (n, size), modulo p."""
        rows, columns = self.shape
        moved = maps
        if self.source is not None:
            factor = Residues(theta[self._source_places()])
            moved = field.matmul(Residues(maps.reshape(-1, columns)), factor).re.reshape(len(maps), rows, -1)
        result = torch.zeros((len(maps), size), dtype=torch.int64)
        result[:, self._target_places().reshape(-1)] = moved.reshape(len(maps), -1)
        return result

    def entries(self) -> tuple[Tensor, Tensor, Tensor]:
        """Where M's entries stand in the field's matrix: (unknown, row of θ, column), column 0 for the constant 1."""
        rows, columns = self.shape
        unknown = torch.arange(rows * columns).reshape(rows, columns, 1)
        target = self._target_places()[:, None, :]
        source = torch.zeros(1, 1, 1, dtype=torch.int64) if self.source is None else self._source_places()[None] + 1
        shape = torch.broadcast_shapes(unknown.shape, target.shape, source.shape)
        return tuple(x.expand(shape).reshape(-1) for x in (unknown, target, source))  # type: ignore[return-value]


def own_actions(blocks: Sequence[Block]) -> Iterator[Term]:
    """Shifts of every tensor, and linear maps of each of its modes, of several together where they are small, or of one
    for every index of another."""
    for block in blocks:
        yield Term(block, None)
        modes = [m for m, size in enumerate(block.shape) if size > 1]
        joint: list[tuple[int, ...]] = []
        for count in range(len(modes), 1, -1):
            for chosen in itertools.combinations(modes, count):
                size = math.prod(block.shape[m] for m in chosen)
                most = _WHOLE if count == len(modes) else _JOINT
                if size <= most and not any(set(chosen) <= set(larger) for larger in joint):
                    joint.append(chosen)
        for chosen in [*joint, *((m,) for m in modes if not any(m in larger for larger in joint))]:
            yield Term(block, block, tuple((m, m) for m in range(len(block.shape)) if m not in chosen))
        if not modes:
            yield Term(block, block, tuple((m, m) for m in range(len(block.shape))))
        # Where two modes are too large to be mixed, each may at least move by its own map for every index of the other.
        for over in modes if len(modes) > 2 else ():
            apart = [m for m in modes if m != over and not any({m, over} <= set(larger) for larger in joint)]
            for part in parts_of(block, over) if block.shape[over] <= _APART else ():
                for m in apart:
                    mode = m - (m > over)
                    yield Term(part, part, tuple((k, k) for k in range(len(part.shape)) if k != mode))


def near_absorptions(targets: Sequence[Block], sources: Sequence[Block]) -> Iterator[Term]:
    """Vectors that take in a multiple of another tensor of their submodule, as a bias does of its weight."""
    for target in targets:
        yield from absorptions([target], [s for s in sources if owner(s.name) == owner(target.name)])


def absorptions(targets: Sequence[Block], sources: Sequence[Block]) -> Iterator[Term]:
    """Vectors that take in a multiple of another tensor: of its columns, its rows, or another vector's entries."""
    for target in (b for b in targets if len(b.shape) == 1):
        for source in sources:
            if source != target and len(source.shape) == 1:
                yield Term(target, source)
            elif source != target:
                yield from keeping_one(target, source)


def shears(targets: Sequence[Block], sources: Sequence[Block]) -> Iterator[Term]:
    """Matrices that take in a multiple of another tensor with which they share a mode."""
    for target in (b for b in targets if len(b.shape) > 1):
        for source in sources:
            if source != target:
                yield from keeping_one(target, source)


def keeping_one(target: Block, source: Block) -> Iterator[Term]:
    """Terms that keep one mode which both have."""
    for (i, n), (j, m) in itertools.product(enumerate(target.shape), enumerate(source.shape)):
        if n == m and source.size // m <= _SOURCES:
            yield Term(target, source, ((i, j),))
