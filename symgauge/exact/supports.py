"""Which tensors move together: the kernel of a Jacobian by the smallest sets of tensors that can move alone.

A direction of the kernel that is zero outside a few tensors says who trades with whom, in any module and with no
knowledge of its architecture: values with outputs, a norm's gain with the maps that read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import Residues
from symgauge.exact.rank import Echelon
from symgauge.exact.result import FibreDimension


@dataclass(frozen=True)
class TensorSet:
    """Tensors that move while all others rest. ``new_directions`` counts those that the sets before it do not span."""

    tensors: tuple[str, ...]
    dimension: int
    new_directions: int

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {"tensors": list(self.tensors), "dimension": self.dimension, "new_directions": self.new_directions}


@dataclass(frozen=True)
class Motion:
    """How unexplained directions move a tensor: ``need`` of them do, whatever known ones are added; ``can`` may.

    They are the least and the greatest dimension of its motions, over all ways to choose the unexplained directions.
    """

    need: int
    can: int


@dataclass(frozen=True)
class Supports:
    """Sets of tensors that move alone, smallest first; ``left`` directions need more tensors at once.

    ``unknown``: how the directions that were not known move each tensor; ``remaining``: the same for those left.
    """

    sets: tuple[TensorSet, ...]
    left: int
    unknown: dict[str, Motion]
    remaining: dict[str, Motion]


def supports(fibre: FibreDimension, at_most: int = 3, known: Echelon | None = None) -> Supports:
    """Sets of at most ``at_most`` tensors that carry kernel directions, with their dimensions, exact over the field.

    Only sets that bring something new are given: beyond ``known`` (rows of length P inside the kernel), and beyond the
    sets before, which are ordered by size and then as the module's tensors are.
    """
    search = _Search(fibre)
    spanned = Echelon(search.field, search.columns, search.device)
    if known is not None:
        spanned.add(search.compressed(known.basis))
    unknown = search.motions(spanned)
    sets = []
    for size in range(1, at_most + 1):
        if spanned.rank == fibre.nullity:
            break
        # All are found before the first is added: what is spanned is what smaller sets span.
        for members, vectors in sorted(search.sets(size, spanned), key=lambda found: found[0]):
            if new_directions := spanned.add(vectors):
                sets.append(TensorSet(tuple(search.names[t] for t in members), vectors.shape[0], new_directions))
    return Supports(tuple(sets), fibre.nullity - spanned.rank, unknown, search.motions(spanned))


class _Search:
    """The kernel on as few columns as tell its vectors apart: of each tensor, only some on which the others depend."""

    def __init__(self, fibre: FibreDimension) -> None:
        self.field, self.device = fibre.echelon.field, fibre.echelon.pivots.device
        kernel, start, chosen = fibre.kernel(), 0, []
        self.names: list[str] = []
        self.blocks: list[Tensor] = []
        """For each tensor that takes part, its columns."""
        for name, count in fibre.names:
            part = Echelon(self.field, count, self.device)
            part.add(_columns(kernel, torch.arange(start, start + count, device=self.device)))
            if part.rank:
                first = sum(len(block) for block in self.blocks)
                self.names.append(name)
                self.blocks.append(torch.arange(first, first + part.rank, device=self.device))
                chosen.append(start + part.pivots)
            start += count
        self.chosen = torch.cat(chosen) if chosen else torch.zeros(0, dtype=torch.int64, device=self.device)
        self.columns = len(self.chosen)
        self.kernel = self.compressed(kernel)

    def compressed(self, vectors: Residues) -> Residues:
        """Vectors of the kernel (m, P), on the chosen columns."""
        return _columns(vectors, self.chosen)

    def resting(self, vectors: Residues, tensors: list[int]) -> Residues:
        """A basis of the combinations of independent ``vectors`` that leave these tensors alone."""
        if not tensors or not vectors.shape[0]:
            return vectors
        columns = torch.cat([self.blocks[t] for t in tensors])
        moved = Echelon(self.field, vectors.shape[0], self.device)
        moved.add(vectors.map(lambda x: x[:, columns].mT.contiguous()))
        return self.field.matmul(moved.kernel(), vectors)

    def sets(self, size: int, spanned: Echelon) -> Iterator[tuple[tuple[int, ...], Residues]]:
        """Sets of this many tensors with all kernel vectors that move no others, where ``spanned`` lacks some.

        ``spanned`` holds what smaller sets carry, so these need all of their tensors.
        """
        everyone = list(range(len(self.names)))
        return self._split(self.kernel, [(everyone, size)], spanned)

    def _split(
        self, vectors: Residues, places: list[tuple[list[int], int]], spanned: Echelon
    ) -> Iterator[tuple[tuple[int, ...], Residues]]:
        """Sets with so many members from each place, inside of ``vectors``, all kernel vectors on these places.

        Vectors that fall apart into parts on disjoint tensors are looked at part by part: a set that needs all of its
        members lies in one of them. Then the largest place is halved.
        """
        if bool(spanned.contains(vectors).all()):
            return
        for members, part in self._parts(vectors):
            inside = [([t for t in place if t in members], wanted) for place, wanted in places]
            if any(len(place) < wanted for place, wanted in inside):
                continue
            if all(len(place) == wanted for place, wanted in inside):
                if not bool(spanned.contains(part).all()):
                    yield tuple(sorted(members)), part
                continue
            index = max(range(len(inside)), key=lambda i: len(inside[i][0]) - inside[i][1])
            place, wanted = inside.pop(index)
            halves = place[: len(place) // 2], place[len(place) // 2 :]
            for first in range(wanted + 1):
                chosen = [(half, n) for half, n in zip(halves, (first, wanted - first), strict=True) if n]
                if all(len(half) >= n for half, n in chosen):
                    kept = {t for half, _ in (*inside, *chosen) for t in half}
                    rest = [t for t in members if t not in kept]
                    yield from self._split(self.resting(part, rest), [*inside, *chosen], spanned)

    def _parts(self, vectors: Residues) -> Iterator[tuple[set[int], Residues]]:
        """The finest way to write a space as a sum of spaces that move disjoint sets of tensors."""
        echelon = Echelon(self.field, self.columns, self.device)
        echelon.add(vectors)
        reduced = echelon.basis
        moved = ~self.field.is_zero(reduced)
        moves = torch.stack([moved[:, block].any(1) for block in self.blocks], 1)
        left = torch.ones(len(moves), dtype=torch.bool, device=self.device)
        while bool(left.any()):
            rows = torch.zeros_like(left)
            rows[int(left.to(torch.uint8).argmax())] = True
            while True:
                members = moves[rows].any(0)
                grown = moves[:, members].any(1)
                if bool((grown == rows).all()):
                    break
                rows = grown
            left &= ~rows
            yield set(torch.nonzero(members).flatten().tolist()), Residues(*(x[rows] for x in reduced.parts()))

    def motions(self, spanned: Echelon) -> dict[str, Motion]:
        """How the directions that are not spanned move each tensor that takes part in the kernel."""
        missing, result = self.kernel.shape[0] - spanned.rank, {}
        if not missing:
            return {}
        for name, block in zip(self.names, self.blocks, strict=True):
            part = Echelon(self.field, len(block), self.device)
            part.add(_columns(spanned.basis, block))
            result[name] = Motion(len(block) - part.rank, min(missing, len(block)))
        return result


def _columns(vectors: Residues, columns: Tensor) -> Residues:
    return vectors.map(lambda x: x[:, columns].contiguous())
