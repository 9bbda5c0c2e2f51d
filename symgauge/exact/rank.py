"""Row echelon forms over GF(p²), grown block by block: rank, membership and kernel of a tall stream of rows.

All heavy work is matrix products, so the same code is fast on CPU and CUDA. python-flint is the independent oracle in
the tests (over GF(p²) through the real form of twice the size).
"""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.errors import InvalidInput

_BLOCK = 64


def _rows(a: Residues, index: Tensor | slice) -> Residues:
    return a.map(lambda x: x[index])


def _columns(a: Residues, index: Tensor) -> Residues:
    return a.map(lambda x: x[:, index])


class Echelon:
    """The reduced row echelon form of all rows added so far; ``columns`` is their length."""

    def __init__(self, field: FiniteField, columns: int, device: torch.device | str = "cpu") -> None:
        self.field = field
        self.columns = columns
        empty = torch.zeros((0, columns), dtype=torch.int64, device=device)
        self.basis = Residues(empty)
        self.pivots = torch.zeros(0, dtype=torch.int64, device=device)

    @property
    def rank(self) -> int:
        return len(self.pivots)

    def copy(self) -> Echelon:
        """An echelon form that grows on its own from here."""
        twin = Echelon(self.field, self.columns, self.pivots.device)
        twin.basis, twin.pivots = self.basis, self.pivots
        return twin

    def reduce(self, rows: Residues) -> Residues:
        """Rows minus their projection on the span: zero exactly for rows inside it."""
        if rows.re.dim() != 2 or rows.shape[1] != self.columns:
            raise InvalidInput(f"rows of length {self.columns} expected, got an array of shape {tuple(rows.shape)}")
        if not self.rank or not rows.shape[0]:
            return rows
        return self.field.sub(rows, self.field.matmul(_columns(rows, self.pivots), self.basis))

    def contains(self, rows: Residues) -> Tensor:
        """For each row, whether it lies in the span."""
        return self.field.is_zero(self.reduce(rows)).all(1)

    def add(self, rows: Residues) -> int:
        """Add rows; returns by how much the rank grew."""
        before = self.rank
        for start in range(0, rows.shape[0], _BLOCK):
            if self.rank == self.columns:
                break
            self._add_block(self.reduce(_rows(rows, slice(start, start + _BLOCK))))
        return self.rank - before

    def _add_block(self, block: Residues) -> None:
        """Add a block that is already reduced. Pivots are sought in a narrow window of columns at a time."""
        while True:
            live = ~self.field.is_zero(block)
            block, live = _rows(block, live.any(1)), live[live.any(1)]
            if not block.shape[0]:
                return
            window = self._window(live)
            transform, pivots, found = self._eliminate(_columns(block, window))
            mixed = self.field.matmul(transform, block)
            self._append(_rows(mixed, slice(0, found)), window[pivots])
            block = _rows(mixed, slice(found, None))

    def _window(self, live: Tensor) -> Tensor:
        """Columns to look for pivots in: every row's first live one, filled up with those live in the most rows."""
        width = min(2 * live.shape[0], int(live.any(0).sum()))
        score = live.sum(0)
        score[live.to(torch.uint8).argmax(1)] += live.shape[0]
        return torch.topk(score, max(width, 1)).indices

    def _eliminate(self, small: Residues) -> tuple[Residues, Tensor, int]:
        """(T, pivots, r): T·small is in reduced echelon form, its first r rows with the given pivot columns."""
        field, n = self.field, small.shape[0]
        identity = torch.eye(n, dtype=torch.int64, device=small.re.device)
        work = small.map(lambda x: torch.cat([x, torch.zeros_like(identity)], 1))
        work.re[:, small.shape[1] :] = identity
        pivots: list[int] = []
        live_rows = torch.arange(n, device=small.re.device)
        order: list[int] = []
        for _ in range(n):
            alive = ~field.is_zero(work.map(lambda x: x[:, : small.shape[1]]))
            alive[torch.tensor(order, dtype=torch.int64, device=alive.device)] = False
            candidates = alive.any(1)
            if not bool(candidates.any()):
                break
            row = int(candidates.to(torch.uint8).argmax())
            column = int(alive[row].to(torch.uint8).argmax())
            lead = field.inverse_of(*(int(x[row, column]) for x in work.parts()))
            scaled = field.mul(Residues(*(x[row] for x in work.parts())), lead)
            factors = Residues(*(x[:, column : column + 1].clone() for x in work.parts()))
            for part in factors.parts():
                part[row] = 0
            work = field.sub(work, field.mul(factors, scaled.map(lambda x: x[None])))
            for target, source in zip(work.parts(), scaled.parts(), strict=False):
                target[row] = source
            pivots.append(column)
            order.append(row)
        done = torch.tensor(order, dtype=torch.int64, device=live_rows.device)
        rest = torch.ones(n, dtype=torch.bool, device=live_rows.device)
        rest[done] = False
        arranged = torch.cat([done, live_rows[rest]])
        transform = work.map(lambda x: x[arranged, small.shape[1] :])
        return transform, torch.tensor(pivots, dtype=torch.int64, device=live_rows.device), len(pivots)

    def _append(self, rows: Residues, pivots: Tensor) -> None:
        basis = self.basis
        if self.rank:
            basis = self.field.sub(basis, self.field.matmul(_columns(basis, pivots), rows))
        if (basis.im is None) != (rows.im is None):
            basis, rows = (Residues(x.re, torch.zeros_like(x.re) if x.im is None else x.im) for x in (basis, rows))
        self.basis = Residues(*(torch.cat(pair) for pair in zip(basis.parts(), rows.parts(), strict=True)))
        self.pivots = torch.cat([self.pivots, pivots])

    def kernel(self) -> Residues:
        """A basis (columns − rank, columns) of the vectors that every row annihilates (without conjugation)."""
        device = self.pivots.device
        free = torch.ones(self.columns, dtype=torch.bool, device=device)
        free[self.pivots] = False
        free_columns = torch.nonzero(free).flatten()
        dependent = self.field.neg(_columns(self.basis, free_columns))

        def place(x: Tensor, diagonal: int) -> Tensor:
            result = torch.zeros((len(free_columns), self.columns), dtype=torch.int64, device=device)
            result[:, self.pivots] = x.mT
            result[torch.arange(len(free_columns), device=device), free_columns] = diagonal
            return result

        return Residues(place(dependent.re, 1), None if dependent.im is None else place(dependent.im, 0))


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
