"""Tensors that are computed from parameters, and that others may take in: 1/γ, W⁻¹, and products of two tensors.

What undoes a norm's gain for the maps that read it is its reciprocal; what makes up for a constant behind a map is its
inverse, or what it annihilates; where there are two maps between, it is a product. A field that takes in such a tensor
is not affine in the parameters. Where it moves none of those that the tensor is computed from, the tensor is a constant
of its motion: as a linear map of (1, θ, derived tensors) it is proved, bracketed and run like an affine one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import flint
import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.discovery.ansatz import Block
from symgauge.discovery.points import Point, Points
from symgauge.discovery.slices import is_offset
from symgauge.errors import Undecided

Kind = Literal["reciprocal", "inverse"]

_WIDEST = 16
"""Largest matrix whose inverse is taken in."""
_NAME = re.compile(r"1/(?P<over>.+)|\((?P<inverse>[^:]+)(:\d+×\d+)?\)⁻¹")


@dataclass(frozen=True)
class Derived(Block):
    """A tensor that stands behind the parameters in (θ, derived tensors), as if it were one."""

    kind: Kind
    base: Block
    rows: int = 0
    """Of an inverse: how many rows the matrix has."""

    @property
    def bases(self) -> frozenset[str]:
        """Names of the parameters that it is computed from."""
        return frozenset([self.base.name])

    @property
    def degree(self) -> int:
        """By how much it raises the degree of what it stands in, cleared of denominators."""
        return self.size if self.kind == "reciprocal" else math.isqrt(self.size)

    def of(self, theta: Tensor, p: int | None = None) -> Tensor:
        """Its entries (size,) at parameters θ (P,): residues modulo p, or float64 if ``p`` is None.

        Raises ZeroDivisionError or ValueError where it has none modulo p.
        """
        entries = theta[self.base.places]
        if self.kind == "reciprocal":
            return 1 / entries if p is None else torch.tensor([pow(int(x), -1, p) for x in entries])
        square = _completed(entries.reshape(self.rows, -1))
        return (torch.linalg.inv(square) if p is None else _inverted(square, p)).reshape(-1)

    def along(self, theta: Tensor, motion: Tensor, field: FiniteField) -> Tensor:
        """Its derivative (size,) along a motion (P,) of the parameters at θ, modulo p."""
        here, speed = self.of(theta, field.p), motion[self.base.places]
        if self.kind == "reciprocal":
            return -(here * here % field.p) * speed % field.p
        n = math.isqrt(self.size)
        change = torch.zeros((n, n), dtype=torch.int64)
        matrix = speed.reshape(self.rows, -1)
        change[: matrix.shape[0], : matrix.shape[1]] = matrix
        inverse = Residues(here.reshape(n, n))
        return -field.matmul(field.matmul(inverse, Residues(change)), inverse).re.reshape(-1) % field.p


@dataclass(frozen=True)
class Product(Block):
    """All products of an entry of one tensor and an entry of another, each a parameter or computed from one."""

    left: Block
    right: Block

    @property
    def bases(self) -> frozenset[str]:
        """Names of the parameters that it is computed from."""
        return bases(self.left) | bases(self.right)

    @property
    def degree(self) -> int:
        """By how much it raises the degree of what it stands in, cleared of denominators."""
        return sum(each.degree if isinstance(each, Derived) else 1 for each in (self.left, self.right))

    def of(self, theta: Tensor, p: int | None = None) -> Tensor:
        """Its entries (size,) at parameters θ (P,), as those of :class:`Derived`."""
        return _outer(value(self.left, theta, p), value(self.right, theta, p), p)

    def along(self, theta: Tensor, motion: Tensor, field: FiniteField) -> Tensor:
        """Its derivative (size,) along a motion (P,) of the parameters at θ, modulo p."""
        p = field.p
        left, right = (value(each, theta, p) for each in (self.left, self.right))
        moved = [_along(each, theta, motion, field) for each in (self.left, self.right)]
        return (_outer(moved[0], right, p) + _outer(left, moved[1], p)) % p


Computed = Derived | Product


def product(left: Block, right: Block, start: int) -> Product:
    """The products of two tensors' entries, at ``start``: first all modes of the left one, then those of the other."""
    return Product(f"{left.name} * {right.name}", (*left.shape, *right.shape), start, left, right)


def bases(block: Block) -> frozenset[str]:
    """Names of the parameters that a tensor is computed from; its own if it is one."""
    return block.bases if isinstance(block, Derived | Product) else frozenset([block.name])


def value(block: Block, theta: Tensor, p: int | None = None) -> Tensor:
    """A tensor's entries (size,) at parameters θ (P,), be it computed from them or one of them."""
    return block.of(theta, p) if isinstance(block, Derived | Product) else theta[block.places.reshape(-1)]


def _along(block: Block, theta: Tensor, motion: Tensor, field: FiniteField) -> Tensor:
    return block.along(theta, motion, field) if isinstance(block, Derived) else motion[block.places.reshape(-1)]


def _outer(left: Tensor, right: Tensor, p: int | None) -> Tensor:
    products = (left[:, None] * right[None, :]).reshape(-1)
    return products if p is None else products % p


def extension(derived: Sequence[Computed], theta: Tensor, p: int | None = None) -> Tensor:
    """What stands behind θ (P,) in (θ, derived tensors)."""
    factors = [f for each in derived for f in ((each.left, each.right) if isinstance(each, Product) else (each,))]
    values = {each.name: each for each in factors}
    found = {name: value(each, theta, p) for name, each in values.items()}
    return torch.cat(
        [
            theta[:0],
            *(
                _outer(found[each.left.name], found[each.right.name], p)
                if isinstance(each, Product)
                else found[each.name]
                for each in derived
            ),
        ]
    )


def _completed(matrix: Tensor) -> Tensor:
    """A square matrix: unit columns behind a tall one, unit rows below a wide one.

    Its inverse holds a one-sided inverse of the matrix, and what the matrix annihilates on the other side.
    """
    rows, columns = matrix.shape
    unit = torch.eye(max(rows, columns), dtype=matrix.dtype)
    return torch.cat([matrix, unit[:, columns:]], 1) if rows >= columns else torch.cat([matrix, unit[rows:]])


def _inverted(matrix: Tensor, p: int) -> Tensor:
    inverse = flint.nmod_mat(len(matrix), len(matrix), [int(x) for x in matrix.reshape(-1)], p).inv()
    return torch.tensor([int(x) for x in inverse.entries()])


class Extended:
    """Points at which derived tensors stand behind the parameters."""

    def __init__(self, points: Points, derived: Sequence[Computed]) -> None:
        self.fibre, self.primes, self.derived = points.fibre, points.primes, derived
        self._points = points

    @property
    def size(self) -> int:
        """Of (θ, derived tensors)."""
        return self.fibre.parameters + sum(each.size for each in self.derived)

    def used(self, prime: int) -> int:
        return self._points.used(prime)

    def point(self, number: int, prime: int) -> Point:
        point = self._points.point(number, prime)
        return Point(
            self.extended(point.theta, prime), point.rows, point.degree + sum(each.degree for each in self.derived)
        )

    def extended(self, theta: Tensor, p: int | None = None) -> Tensor:
        """(θ, derived tensors) at θ.

        Raises:
            Undecided: one of them does not exist there modulo p.
        """
        try:
            return torch.cat([theta, extension(self.derived, theta, p)])
        except (ZeroDivisionError, ValueError):
            raise Undecided(
                f"a parameter that is divided by is 0 modulo {p} at a random point; pass another seed"
            ) from None


def computed(names: Sequence[str], blocks: Sequence[Block], start: int) -> Computed | None:
    """The derived tensor that is called so, or the product of two tensors, at ``start``; None for a parameter."""
    if len(names) == 2:
        factors = [_named(name, blocks, start) or next((b for b in blocks if b.name == name), None) for name in names]
        return None if factors[0] is None or factors[1] is None else product(factors[0], factors[1], start)
    return _named(names[0], blocks, start) if names else None


def _named(name: str, blocks: Sequence[Block], start: int) -> Derived | None:
    every = (*reciprocals(blocks, start), *inverses(blocks, start))
    found = next((each for each in every if each.name == name), None)
    return None if found is None else replace(found, start=start)


def base_of(name: str) -> str:
    """The name of the parameter that the tensor of this name is computed from; its own if it is a parameter."""
    found = _NAME.fullmatch(name)
    return name if found is None else found["over"] or found["inverse"]


def reciprocals(blocks: Sequence[Block], start: int) -> Iterator[Derived]:
    """Of vectors that multiply, one after the other from position ``start``."""
    for block in blocks:
        if len(block.shape) == 1 and not is_offset(block.name):
            yield Derived(f"1/{block.name}", block.shape, start, "reciprocal", block)
            start += block.size


def inverses(blocks: Sequence[Block], start: int) -> Iterator[Derived]:
    """Of matrices completed to square ones, any tensor's first modes against its last; each at ``start``."""
    for block in blocks:
        for cut in range(1, len(block.shape)):
            rows, columns = math.prod(block.shape[:cut]), math.prod(block.shape[cut:])
            if 1 < max(rows, columns) <= _WIDEST:
                shape = inverse_shape(block.shape, cut)
                called = block.name if len(block.shape) == 2 else f"{block.name}:{rows}×{columns}"
                yield Derived(f"({called})⁻¹", shape, start, "inverse", block, rows)


def inverse_shape(shape: tuple[int, ...], cut: int) -> tuple[int, ...]:
    """Of the completed inverse of a tensor with this shape, read as a matrix of its first ``cut`` modes against the
    others: modes of the longer side are one."""
    before, behind = shape[:cut], shape[cut:]
    rows, columns = math.prod(before), math.prod(behind)
    return (*(behind if rows <= columns else (rows,)), *(before if rows >= columns else (columns,)))
