"""Tables of many rows, read a block of rows at a time: vocabularies do not fit into memory in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

BLOCK = 2**25
"""Numbers in a block; a tensor that has no more is one."""


class Rows:
    """A tensor whose first axis is cut into blocks, each made when it is asked for; what is done to it is done to each
    block, and is therefore to act on rows.

    Example:
        >>> import torch
        >>> from symgauge.checkpoints.rows import Rows
        >>> table = Rows((6, 2), lambda start, stop: torch.ones(stop - start, 2), block=4)
        >>> [tuple(block.shape) for block in table], table.map(lambda x: 2 * x).total(lambda x: x.sum())
        ([(2, 2), (2, 2), (2, 2)], tensor(24.))
    """

    def __init__(self, shape: tuple[int, ...], read: Callable[[int, int], Tensor], block: int = 0) -> None:
        self.shape, self._read, block = shape, read, block or BLOCK
        self._step = max(1, block * shape[0] // max(1, torch.Size(shape).numel())) if shape else 1

    @classmethod
    def of(cls, x: Tensor | Rows) -> Rows:
        """A tensor that is there already, as one block."""
        if isinstance(x, Rows):
            return x
        whole = x if x.dim() else x.reshape(1)
        return cls(tuple(whole.shape), lambda start, stop: whole[start:stop], max(1, whole.numel()))

    def __iter__(self) -> Iterator[Tensor]:
        for start in range(0, self.shape[0], self._step):
            yield self._read(start, min(start + self._step, self.shape[0]))

    def dim(self) -> int:
        return len(self.shape)

    def numel(self) -> int:
        return torch.Size(self.shape).numel()

    @property
    def is_one(self) -> bool:
        return self._step >= self.shape[0]

    def map(self, change: Callable[[Tensor], Tensor]) -> Rows:
        """``change`` keeps the shape of a block."""
        return self._made(lambda start, stop: change(self._read(start, stop)))

    def first(self, count: int) -> Rows:
        """As many rows from the beginning."""
        return self if count == self.shape[0] else self._made(self._read, count)

    def plus(self, numbers: Tensor) -> Rows:
        """With a number (rows,) added to all of each row."""
        return self._made(lambda start, stop: self._read(start, stop) + numbers[start:stop].unsqueeze(-1))

    def minus(self, other: Rows) -> Rows:
        return self._made(lambda start, stop: self._read(start, stop) - other._read(start, stop))

    def _made(self, read: Callable[[int, int], Tensor], count: int | None = None) -> Rows:
        """Rows of the same blocks, all or the first ``count``."""
        made = Rows((self.shape[0] if count is None else count, *self.shape[1:]), read)
        made._step = self._step
        return made

    def settled(self) -> Rows:
        """The same, made once and kept, if it is one block."""
        return Rows.of(self._read(0, self.shape[0])) if self.is_one else self

    def take(self, rows: Tensor) -> Tensor:
        """Some rows, by their numbers; no others are made."""
        return torch.cat([self._read(i, i + 1) for i in rows.tolist()])

    def whole(self) -> Tensor:
        return torch.cat(list(self)) if not self.is_one else self._read(0, self.shape[0])

    def total(self, part: Callable[[Tensor], Tensor]) -> Tensor:
        """The sum of a quantity of the blocks."""
        parts = iter(self)
        found = part(next(parts))
        for block in parts:
            found = found + part(block)
        return found

    def largest(self, part: Callable[[Tensor], Tensor] = torch.abs) -> float:
        """The maximum of a quantity of the blocks, by default the size of an entry."""
        return max(float(part(block).max()) for block in self)

    def norm(self) -> float:
        return float(self.total(lambda x: torch.linalg.vector_norm(x).square()).sqrt())

    def column_mean(self) -> Tensor:
        return self.total(lambda x: x.sum(0)) / self.shape[0]

    def gram(self, other: Rows) -> Tensor:
        """XᵀY of two tables with as many rows."""
        found = [x.mT @ y for x, y in zip(self, other, strict=True)]
        return torch.stack(found).sum(0) if len(found) > 1 else found[0]

    def per_row(self, part: Callable[[Tensor], Tensor]) -> Tensor:
        """One number for each row."""
        return torch.cat([part(block) for block in self])
