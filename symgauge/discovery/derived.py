"""Tensors that are computed from one parameter, and that others may take in: 1/γ and W⁻¹.

What undoes a norm's gain for the maps that read it is its reciprocal; what makes up for a constant behind a map is its
inverse, or what it annihilates. A field that takes in such a tensor is not affine in the parameters. Where it moves
none of those that the tensor is computed from, the tensor is a constant of its motion: as a linear map of
(1, θ, derived tensors) it is proved, bracketed and run like an affine one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import flint
import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.discovery.ansatz import Block
from symgauge.discovery.slices import is_offset

Kind = Literal["reciprocal", "inverse"]

_WIDEST = 16
"""Largest matrix whose inverse is taken in."""


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
