"""The linear maps that derivatives are made of: entry by entry, matrix products, sums, and gathers of entries.

Arrays of tangents and of rows have one axis more than the value, in front. ``push`` takes a tangent of the argument to
one of the result, ``pull`` takes rows the other way (the transposed map), and so does ``pull_owned`` for the rows of a
batch, whose entries have owners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.arithmetic.cotangents import NOBODY, Cotangent, one_owner
from symgauge.arithmetic.finite_field import FiniteField, Residues

_PADDING = 4
"""Uneven groups are summed as rows of one table unless that makes it so much larger."""


class LinearMap:
    """A linear map between arrays of two fixed shapes."""

    def push(self, field: FiniteField, t: Residues) -> Residues:
        raise NotImplementedError

    def pull(self, field: FiniteField, g: Residues) -> Residues:
        raise NotImplementedError

    def pull_owned(self, field: FiniteField, g: Cotangent, groups: int) -> Cotangent:
        """Rows of a batch. Here: of a map that does not bring entries together."""
        if g.owner is None:
            return Cotangent(self.pull(field, g.rows), None)
        return Cotangent(self.pull(field, g.rows), self.owners(g.owner))

    def owners(self, owner: Tensor) -> Tensor:
        return owner


@dataclass(frozen=True)
class Times(LinearMap):
    """Multiplication by ``factor``, entry by entry; it may have fewer axes."""

    factor: Residues

    def push(self, field: FiniteField, t: Residues) -> Residues:
        return field.mul(t, self.factor)

    def pull(self, field: FiniteField, g: Residues) -> Residues:
        return self.push(field, g)


@dataclass(frozen=True)
class Kept(LinearMap):
    """Entries where ``mask``, zero elsewhere."""

    mask: Tensor

    def push(self, field: FiniteField, t: Residues) -> Residues:
        return t.map(lambda x: torch.where(self.mask, x, 0))

    def pull(self, field: FiniteField, g: Residues) -> Residues:
        return self.push(field, g)


@dataclass(frozen=True)
class Softmax(LinearMap):
    """dx ↦ p·(dx − Σ p·dx) for weights p along an axis; a symmetric matrix."""

    weights: Residues
    dim: int

    def push(self, field: FiniteField, t: Residues) -> Residues:
        weighted = field.mul(t, self.weights)
        total = field.sum(weighted, [self.dim + 1], keepdim=True)
        return field.sub(weighted, field.mul(total, self.weights))

    def pull(self, field: FiniteField, g: Residues) -> Residues:
        return self.push(field, g)

    def pull_owned(self, field: FiniteField, g: Cotangent, groups: int) -> Cotangent:
        owner = None if g.owner is None else one_owner(g.owner, self.dim)
        if owner is None or g.owner is None:
            return Cotangent(self.pull(field, g.split(groups).rows), None)
        return Cotangent(self.pull(field, g.rows), owner.unsqueeze(self.dim).expand(g.owner.shape))


@dataclass(frozen=True)
class Total(LinearMap):
    """The sum over axes ``dims`` of an array of this ``shape``."""

    shape: torch.Size
    dims: tuple[int, ...]
    keepdim: bool

    def _expanded(self, x: Tensor, front: int) -> Tensor:
        for d in sorted(() if self.keepdim else self.dims):
            x = x.unsqueeze(d + front)
        return x.expand(*x.shape[:front], *self.shape)

    def push(self, field: FiniteField, t: Residues) -> Residues:
        return field.sum(t, [d + 1 for d in self.dims], self.keepdim)

    def pull(self, field: FiniteField, g: Residues) -> Residues:
        return g.map(lambda x: self._expanded(x, 1))

    def owners(self, owner: Tensor) -> Tensor:
        return self._expanded(owner, 0)


class Gather(LinearMap):
    """Entries that are copied or dropped: result[j] = argument[index[j]], or 0 where the index is negative."""

    def __init__(self, index: Tensor, shape: torch.Size) -> None:
        self.result, self.shape, self.size = index.shape, shape, shape.numel()
        self.index = index.reshape(-1)

    def push(self, field: FiniteField, t: Residues) -> Residues:
        holes = bool((self.index < 0).any())

        def look_up(x: Tensor) -> Tensor:
            flat = x.reshape(x.shape[0], self.size)
            flat = torch.cat([flat, flat.new_zeros((len(flat), 1))], 1) if holes else flat  # where −1 points to
            return flat[:, self.index].reshape(len(x), *self.result)

        return t.map(look_up)

    def pull(self, field: FiniteField, g: Residues) -> Residues:
        return _collected(field, g, self.index, self.size).map(lambda x: x.reshape(x.shape[0], *self.shape))

    def pull_owned(self, field: FiniteField, g: Cotangent, groups: int) -> Cotangent:
        if g.owner is None:
            return Cotangent(self.pull(field, g.rows), None)
        owner = g.owner.reshape(-1)
        used = (self.index >= 0) & (owner != NOBODY)
        index, mine = self.index[used], owner[used]
        highest = owner.new_full((self.size,), NOBODY).scatter_reduce_(0, index, mine, "amax")
        if bool((highest[index] == mine).all()):
            return Cotangent(self.pull(field, g.rows), highest.reshape(self.shape))
        apart = torch.where(used, owner * self.size + self.index, -1)
        rows = _collected(field, g.rows, apart, self.size * groups)
        return Cotangent(rows.map(lambda x: x.reshape(-1, *self.shape)), None)


def _collected(field: FiniteField, g: Residues, index: Tensor, size: int) -> Residues:
    """(n, …) summed into (n, size), entry j into index[j] (nowhere if that is negative)."""
    n, count = g.shape[0], index.numel()
    flat = g.map(lambda x: x.reshape(n, count))
    if count == size and bool((index == torch.arange(size, device=index.device)).all()):
        return flat
    places = torch.nonzero(index >= 0).flatten()
    targets, order = torch.sort(index[places], stable=True)
    order = places[order]
    targets, counts = torch.unique_consecutive(targets, return_counts=True)
    most = int(counts.max()) if len(counts) else 0
    if most * len(targets) > _PADDING * count + size:
        return flat.map(lambda x: field.reduce(x.new_zeros((n, size)).index_add_(1, index[places], x[:, places])))
    if most == 1:
        sums = flat.map(lambda x: x[:, order])
    else:
        table = padded(order, counts, most, count)
        even = count if len(order) == most * len(targets) else count + 1
        sums = flat.map(lambda x: x if even == count else torch.cat([x, x.new_zeros((n, 1))], 1))
        sums = field.sum(sums.map(lambda x: x[:, table.reshape(-1)].reshape(n, len(targets), most)), [2])
    if len(targets) == size:
        return sums

    def placed(x: Tensor) -> Tensor:
        result = x.new_zeros((n, size))
        result[:, targets] = x
        return result

    return sums.map(placed)


def padded(order: Tensor, counts: Tensor, most: int, filler: int) -> Tensor:
    """Numbers that follow one another in groups, as a table (groups, most) filled up with ``filler``."""
    table = order.new_full((len(counts), most), filler)
    column = torch.arange(most, device=order.device)
    table[column < counts[:, None]] = order
    return table


@dataclass(frozen=True)
class ByRight(LinearMap):
    """X ↦ X·B over the last two axes; X is (*lead, m, k), and B (*lead, k, n) or with fewer axes in front."""

    right: Residues

    def push(self, field: FiniteField, t: Residues) -> Residues:
        return _stacked(field, t, self.right)

    def pull(self, field: FiniteField, g: Residues) -> Residues:
        return _stacked(field, g, _flipped(self.right))

    def pull_owned(self, field: FiniteField, g: Cotangent, groups: int) -> Cotangent:
        if g.owner is None:
            return Cotangent(self.pull(field, g.rows), None)
        width = self.right.shape[-2]
        if (owner := one_owner(g.owner, -1)) is not None:
            return Cotangent(self.pull(field, g.rows), owner.unsqueeze(-1).expand(*owner.shape, width))
        owner = one_owner(g.owner.reshape(-1, g.owner.shape[-1]), 0)
        if owner is None:
            return Cotangent(self.pull(field, g.split(groups).rows), None)
        return Cotangent(self._apart(field, g.rows, owner, groups), None)

    def _apart(self, field: FiniteField, g: Residues, owner: Tensor, groups: int) -> Residues:
        """The pull of rows (n, *lead, m, columns) whose columns have owners: each owner's by itself."""
        n, *lead, m, columns = g.shape
        order = torch.argsort(owner, stable=True)
        order = order[owner[order] != NOBODY]
        counts = torch.bincount(owner[order], minlength=groups)
        most = int(counts.max())
        table = padded(order, counts, most, columns).reshape(-1)
        even = len(order) == len(table)

        def grouped(x: Tensor) -> Tensor:
            """(…, columns) → (…, groups, most)"""
            x = x if even else torch.cat([x, x.new_zeros((*x.shape[:-1], 1))], -1)
            return x[..., table].unflatten(-1, (groups, most))

        left = g.map(lambda x: grouped(x).movedim(-2, 0).movedim(1, -3).flatten(-3, -2))  # (groups, *lead, n·m, most)
        right = self.right.map(lambda x: grouped(x.expand(*lead, *x.shape[-2:])).movedim(-2, 0).mT)
        product = field.matmul(left, right)  # (groups, *lead, n·m, k)
        return product.map(lambda x: x.unflatten(-2, (n, m)).movedim(-3, 0).flatten(0, 1))


@dataclass(frozen=True)
class ByLeft(LinearMap):
    """X ↦ A·X, which is (Xᵀ·Aᵀ)ᵀ."""

    left: Residues

    @property
    def _transposed(self) -> ByRight:
        return ByRight(_flipped(self.left))

    def push(self, field: FiniteField, t: Residues) -> Residues:
        return _flipped(self._transposed.push(field, _flipped(t)))

    def pull(self, field: FiniteField, g: Residues) -> Residues:
        return _flipped(self._transposed.pull(field, _flipped(g)))

    def pull_owned(self, field: FiniteField, g: Cotangent, groups: int) -> Cotangent:
        owner = None if g.owner is None else g.owner.mT
        found = self._transposed.pull_owned(field, Cotangent(_flipped(g.rows), owner), groups)
        return Cotangent(_flipped(found.rows), None if found.owner is None else found.owner.mT)


def _flipped(x: Residues) -> Residues:
    return x.map(lambda t: t.mT)


def _stacked(field: FiniteField, x: Residues, y: Residues) -> Residues:
    """(n, *lead, m, k) · (*lead, k, l): the n arrays are folded into the rows, for few large products."""
    tall = field.matmul(x.map(lambda t: t.movedim(0, -3).flatten(-3, -2)), y)
    return tall.map(lambda t: t.unflatten(-2, (x.shape[0], -1)).movedim(-3, 0))


def gathers(index: Tensor, shapes: Sequence[torch.Size]) -> list[Gather]:
    """The maps of a concatenation, from one ``index`` into all entries of the arrays, one array after the other."""
    result, start = [], 0
    for shape in shapes:
        size = shape.numel()
        inside = (index >= start) & (index < start + size)
        result.append(Gather(torch.where(inside, index - start, -1), shape))
        start += size
    return result
