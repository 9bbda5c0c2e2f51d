"""Rows of a Jacobian on their way back: how they enter one value, and which sequence of a batch they belong to.

All sequences of a batch share the parameters, and a row must not mix them. While a value is computed for each sequence
by itself, the rows of all sequences fit in one array: entry by entry they have an *owner*. Where entries of several
owners meet (a weight, a bias, a table of positions), rows are kept apart from there on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues

NOBODY = -1
"""Owner of an entry that no row reaches."""


@dataclass(frozen=True)
class Cotangent:
    """``rows`` (n, *shape) and the ``owner`` (*shape) of each entry; without owners, split: (n·groups, *shape)."""

    rows: Residues
    owner: Tensor | None

    def split(self, groups: int) -> Cotangent:
        """One row for each owner: (n · groups, *shape)."""
        if self.owner is None:
            return self
        size, n = self.owner.numel(), self.rows.shape[0]
        owner = self.owner.reshape(-1)
        reached = torch.nonzero(owner != NOBODY).flatten()
        place = owner[reached] * size + reached

        def spread(x: Tensor) -> Tensor:
            result = x.new_zeros((n, groups * size))
            result[:, place] = x.reshape(n, size)[:, reached]
            return result.reshape(n * groups, *x.shape[1:])

        return Cotangent(self.rows.map(spread), None)


def one_owner(owner: Tensor, dim: int) -> Tensor | None:
    """The owner along an axis, if there is only one everywhere (whatever has none aside); the axis is dropped."""
    if not owner.shape[dim]:
        return owner.sum(dim) + NOBODY
    highest = owner.amax(dim)
    same = (owner == highest.unsqueeze(dim)) | (owner == NOBODY)
    return highest if bool(same.all()) else None


def summed(arithmetic: FiniteField, terms: Sequence[Cotangent], groups: int) -> Cotangent:
    """The sum of what reaches one value by several ways."""
    total = terms[0]
    for term in terms[1:]:
        owner = _joint(total.owner, term.owner)
        if owner is None:
            total, term = total.split(groups), term.split(groups)
        total = Cotangent(arithmetic.add(total.rows, term.rows), owner)
    return total


def _joint(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """The owners of a sum; None if there are two for an entry, or the rows are split."""
    if a is None or b is None or a is b:
        return a if a is b else None
    agree = (a == b) | (a == NOBODY) | (b == NOBODY)
    return torch.maximum(a, b) if bool(agree.all()) else None
