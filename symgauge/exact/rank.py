"""Row echelon forms over GF(p²), grown block by block: rank, membership and kernel of a tall stream of rows.

Of the reduced echelon form only what stands in the free columns is kept, as centred float64 residues; all heavy work is
matrix products on it, the same on CPU and CUDA. python-flint is the independent oracle in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.arithmetic.modular_products import Parts, add_product, centred, nonzero, residues
from symgauge.errors import InvalidInput
from symgauge.exact.elimination import eliminate

_PANEL = 256
"""Rows that are reduced together by those before."""
_LEAF = 32
"""Rows in which pivots are sought one by one."""


class Echelon:
    """The reduced row echelon form of all rows added so far; ``columns`` is their length.

    ``pivots`` (rank,) are the columns in which it is the identity, in the order of its rows.
    """

    def __init__(self, field: FiniteField, columns: int, device: torch.device | str = "cpu") -> None:
        self.field = field
        self.columns = columns
        self.pivots = torch.zeros(0, dtype=torch.int64, device=device)
        self._free = torch.arange(columns, device=device)
        self._dependent: Parts = (torch.zeros((0, columns), dtype=torch.float64, device=device),)
        """The form's entries in the free columns (rank, columns − rank)."""

    @property
    def rank(self) -> int:
        return len(self.pivots)

    @property
    def basis(self) -> Residues:
        """The rows of the form, (rank, columns)."""
        return self._placed(self._dependent, self._free, self.pivots)

    def kernel(self) -> Residues:
        """A basis (columns − rank, columns) of the vectors that every row annihilates (without conjugation)."""
        return self._placed(tuple(-x.mT for x in self._dependent), self.pivots, self._free)

    def _placed(self, entries: Parts, columns: Tensor, ones: Tensor) -> Residues:
        """Rows (…, columns) with the given entries, and the identity at ``ones``."""
        placed = [self.field.zeros((len(ones), self.columns), ones.device) for _ in entries]
        for whole, part in zip(placed, entries, strict=True):
            whole[:, columns] = residues(part, self.field.p)
        placed[0][torch.arange(len(ones), device=ones.device), ones] = 1
        return Residues(*placed)

    def copy(self) -> Echelon:
        """An echelon form that grows on its own from here."""
        twin = Echelon(self.field, self.columns, self.pivots.device)
        # Growing replaces these and does not write into them.
        twin.pivots, twin._free, twin._dependent = self.pivots, self._free, self._dependent
        return twin

    def _panels(self, rows: Residues) -> Iterator[Parts]:
        if rows.re.dim() != 2 or rows.shape[1] != self.columns:
            raise InvalidInput(f"rows of length {self.columns} expected, got an array of shape {tuple(rows.shape)}")
        for start in range(0, rows.shape[0], _PANEL):
            yield tuple(centred(x[start : start + _PANEL], self.field.p) for x in rows.parts())

    def _reduce(self, rows: Parts) -> Parts:
        """What the form leaves of rows: nothing in the pivot columns, and this (…, columns − rank) in the free ones."""
        if not self.rank:
            return rows
        free, lead = (_columns(rows, index) for index in (self._free, self.pivots))
        return add_product(free, lead, self._dependent, self.field.p, -1)

    def reduce(self, rows: Residues) -> Residues:
        """Rows minus their projection on the span: zero exactly for rows inside it.

        Raises:
            InvalidInput: ``rows`` is not of shape (…, columns).
        """
        found = [self._reduce(panel) for panel in self._panels(rows)]
        extended = any(len(parts) == 2 for parts in found)
        result = [torch.zeros_like(rows.re) for _ in range(1 + extended)]
        for i, parts in enumerate(found):
            for whole, part in zip(result, parts, strict=False):
                whole[i * _PANEL : (i + 1) * _PANEL, self._free] = residues(part, self.field.p)
        return Residues(*result)

    def contains(self, rows: Residues) -> Tensor:
        """For each row, whether it lies in the span."""
        outside = [nonzero(self._reduce(panel)).any(1) for panel in self._panels(rows)]
        return ~torch.cat([torch.zeros(0, dtype=torch.bool, device=rows.re.device), *outside])

    def add(self, rows: Residues) -> int:
        """Add rows; returns by how much the rank grew."""
        before = self.rank
        for panel in self._panels(rows):
            if self.rank == self.columns:
                break
            self._add(panel)
        return self.rank - before

    def _add(self, rows: Parts) -> None:
        """Add rows: reduce them, find an echelon form of what is left by halves, and join it to this one."""
        rows = self._reduce(rows)
        count = rows[0].shape[0]
        if count <= _LEAF:
            self._add_leaf(rows)
            return
        part = Echelon(self.field, len(self._free), self.pivots.device)
        for half in (slice(0, count // 2), slice(count // 2, count)):
            part._add(tuple(x[half] for x in rows))
        self._append(part._dependent, part.pivots, part._free)

    def _add_leaf(self, rows: Parts) -> None:
        """Add a few reduced rows, seeking pivots in a narrow window of columns at a time."""
        while True:
            live = nonzero(rows)
            if not bool(live.any()):
                return
            window = _window(live)
            transform, pivots = eliminate(_columns(rows, window), self.field)
            pivots = window[pivots]
            rest = torch.ones(live.shape[1], dtype=torch.bool, device=live.device)
            rest[pivots] = False
            rest = torch.nonzero(rest).flatten()
            rows = _columns(rows, rest)
            mixed = add_product(tuple(torch.zeros_like(x) for x in rows), transform, rows, self.field.p)
            self._append(tuple(x[: len(pivots)] for x in mixed), pivots, rest)
            rows = tuple(x[len(pivots) :] for x in mixed)

    def _append(self, rows: Parts, pivots: Tensor, rest: Tensor) -> None:
        """Join reduced rows: the identity at ``pivots`` and given (k, …) at ``rest``, both among the free columns."""
        if not len(pivots):
            return
        if self.rank:
            above, lead = (_columns(self._dependent, index) for index in (rest, pivots))
            above = add_product(above, lead, rows, self.field.p, -1)
            if len(rows) < len(above):
                rows = (*rows, torch.zeros_like(rows[0]))
            rows = tuple(torch.cat(pair) for pair in zip(above, rows, strict=True))
        self._dependent = rows
        self.pivots = torch.cat([self.pivots, self._free[pivots]])
        self._free = self._free[rest]


def _columns(rows: Parts, index: Tensor) -> Parts:
    """A copy of some columns."""
    return tuple(x.index_select(1, index) for x in rows)


def _window(live: Tensor) -> Tensor:
    """Columns to look for pivots in: every row's first live one, filled up with those live in the most rows."""
    count = live.shape[0]
    score = live.sum(0)
    score[live.to(torch.uint8).argmax(1)] += count * live.any(1)
    return torch.topk(score, min(2 * count, len(score))).indices


def rank(matrix: Tensor, p: int) -> int:
    """Rank modulo a prime of an integer matrix (rows, columns); any shape, also 0 × n.

    Raises:
        InvalidInput: ``p`` is no usable prime, or ``matrix`` is not a two-dimensional integer tensor.
    """
    field = FiniteField(p)
    if matrix.dim() != 2 or matrix.is_floating_point():
        raise InvalidInput(f"rank needs a two-dimensional integer tensor, not {matrix.dtype} {tuple(matrix.shape)}")
    echelon = Echelon(field, matrix.shape[1], matrix.device)
    echelon.add(field.lift(matrix))
    return echelon.rank
