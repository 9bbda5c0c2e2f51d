"""Points at which tensors that are computed from parameters stand behind these, and how such tensors are called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from symgauge.discovery.ansatz import Block
from symgauge.discovery.derived import Derived, inverses, reciprocals
from symgauge.discovery.multiplied import Product, chain, outer, product, value
from symgauge.discovery.points import Point, Points
from symgauge.errors import Undecided

Computed = Derived | Product

_NAME = re.compile(r"1/(?P<over>.+)|\((?P<inverse>[^:]+)(:\d+×\d+)?\)⁻¹")
_CHAIN = re.compile(r"\((?P<left>.+):(?P<i>\d+)·(?P<right>.+):(?P<j>\d+)\)")


def extension(derived: Sequence[Computed], theta: Tensor, p: int | None = None) -> Tensor:
    """What stands behind θ (P,) in (θ, derived tensors)."""
    found: dict[str, Tensor] = {}
    return torch.cat([theta[:0], *(_value(each, theta, p, found) for each in derived)])


def _value(each: Block, theta: Tensor, p: int | None, found: dict[str, Tensor]) -> Tensor:
    """Factors that several products have are computed once."""
    if isinstance(each, Product):
        left, right = (_value(factor, theta, p, found) for factor in (each.left, each.right))
        return outer(left, right, p)
    if each.name not in found:
        found[each.name] = value(each, theta, p)
    return found[each.name]


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
        left, right = (_factor(name, blocks, start) for name in names)
        return None if left is None or right is None else product(left, right, start)
    return _named(names[0], blocks, start) if names else None


def _factor(name: str, blocks: Sequence[Block], start: int) -> Block | None:
    by_name = {block.name: block for block in blocks}
    match = _CHAIN.fullmatch(name)
    if name not in by_name and match and match["left"] in by_name and match["right"] in by_name:
        return chain(by_name[match["left"]], by_name[match["right"]], (int(match["i"]), int(match["j"])))
    return by_name.get(name) or _named(name, blocks, start)


def _named(name: str, blocks: Sequence[Block], start: int) -> Derived | None:
    every = (*reciprocals(blocks, start), *inverses(blocks, start))
    found = next((each for each in every if each.name == name), None)
    return None if found is None else replace(found, start=start)


def bases_of(name: str) -> tuple[str, ...]:
    """Names of the parameters that the tensor of this name is computed from; its own if it is a parameter."""
    if match := _CHAIN.fullmatch(name):
        return match["left"], match["right"]
    found = _NAME.fullmatch(name)
    return (name if found is None else found["over"] or found["inverse"],)
