"""Products of two tensors, each a parameter or computed from some: what is between when there are two maps."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.discovery.ansatz import Block
from symgauge.discovery.derived import Derived


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
        return sum(each.degree if isinstance(each, Derived | Chain) else 1 for each in (self.left, self.right))

    def of(self, theta: Tensor, p: int | None = None) -> Tensor:
        """Its entries (size,) at parameters θ (P,), as those of :class:`Derived`."""
        return outer(value(self.left, theta, p), value(self.right, theta, p), p)

    def along(self, theta: Tensor, motion: Tensor, field: FiniteField) -> Tensor:
        """Its derivative (size,) along a motion (P,) of the parameters at θ, modulo p."""
        p = field.p
        left, right = (value(each, theta, p) for each in (self.left, self.right))
        moved = [_along(each, theta, motion, field) for each in (self.left, self.right)]
        return (outer(moved[0], right, p) + outer(left, moved[1], p)) % p


@dataclass(frozen=True)
class Chain(Block):
    """The product of two parameters as matrices: the sum over one mode of each, ``over``."""

    left: Block
    right: Block
    over: tuple[int, int]

    @property
    def bases(self) -> frozenset[str]:
        """Names of the parameters that it is computed from."""
        return frozenset([self.left.name, self.right.name])

    @property
    def degree(self) -> int:
        """By how much it raises the degree of what it stands in."""
        return 2

    def of(self, theta: Tensor, p: int | None = None) -> Tensor:
        """Its entries (size,) at parameters θ (P,), as those of :class:`Derived`."""
        return self._matmul(theta[self.left.places], theta[self.right.places], p)

    def along(self, theta: Tensor, motion: Tensor, field: FiniteField) -> Tensor:
        """Its derivative (size,) along a motion (P,) of the parameters at θ, modulo p."""
        (left, left_moved), (right, right_moved) = (
            (theta[each.places], motion[each.places]) for each in (self.left, self.right)
        )
        return (self._matmul(left_moved, right, field.p) + self._matmul(left, right_moved, field.p)) % field.p

    def _matmul(self, left: Tensor, right: Tensor, p: int | None) -> Tensor:
        n = self.left.shape[self.over[0]]
        one, other = left.movedim(self.over[0], -1).reshape(-1, n), right.movedim(self.over[1], 0).reshape(n, -1)
        if p is None:
            return (one @ other).reshape(-1)
        return FiniteField(p).matmul(Residues(one), Residues(other)).re.reshape(-1)


def product(left: Block, right: Block, start: int) -> Product:
    """The products of two tensors' entries, at ``start``: first all modes of the left one, then those of the other."""
    return Product(f"{left.name} * {right.name}", (*left.shape, *right.shape), start, left, right)


def chain(left: Block, right: Block, over: tuple[int, int]) -> Chain:
    """The product of two parameters summed over a mode of each; first the left one's other modes, then the right's."""
    shape = (
        *(n for m, n in enumerate(left.shape) if m != over[0]),
        *(n for m, n in enumerate(right.shape) if m != over[1]),
    )
    return Chain(f"({left.name}:{over[0]}·{right.name}:{over[1]})", shape, 0, left, right, over)


def bases(block: Block) -> frozenset[str]:
    """Names of the parameters that a tensor is computed from; its own if it is one."""
    return block.bases if isinstance(block, Derived | Product | Chain) else frozenset([block.name])


def value(block: Block, theta: Tensor, p: int | None = None) -> Tensor:
    """A tensor's entries (size,) at parameters θ (P,), be it computed from them or one of them."""
    return block.of(theta, p) if isinstance(block, Derived | Product | Chain) else theta[block.places.reshape(-1)]


def _along(block: Block, theta: Tensor, motion: Tensor, field: FiniteField) -> Tensor:
    if isinstance(block, Derived | Chain):
        return block.along(theta, motion, field)
    return motion[block.places.reshape(-1)]


def outer(left: Tensor, right: Tensor, p: int | None) -> Tensor:
    """All products of entries (m,) and (n,): (m·n,), modulo p if there is one."""
    products = (left[:, None] * right[None, :]).reshape(-1)
    return products if p is None else products % p
