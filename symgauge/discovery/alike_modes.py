"""On which modes of tensors the known symmetries act alike: what may stand in for what.

A map that reads the stream has a mode on which a change of the stream's basis acts as A⁻ᵀ, as it does on the inverse of
a map that writes it. Where each mode of a tensor is taken from one on which all known symmetries act by the same
matrices, an ansatz with free constants between is mapped to itself by these symmetries. Others are not sought.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from symgauge.discovery.ansatz import Block
from symgauge.discovery.derived import Derived, inverse_shape
from symgauge.discovery.fields import Fields, Integers

Kept = tuple[tuple[int, int], ...]
"""(mode of the target, mode of the source) that is left alone."""


@dataclass(frozen=True)
class Mode:
    """A mode by what known symmetries do on it: its ``action`` and that on its dual, as keys that can be compared.

    ``whole`` is False for the side of a completed inverse on which other vectors stand beside the inverse's own.
    """

    action: bytes
    dual: bytes
    whole: bool = True


class AlikeModes:
    """Modes by the matrices (fields, n, n), up to multiples of 1, by which affine fields act on them, modulo p."""

    def __init__(self, fields: Fields, p: int) -> None:
        self.fields, self.p = fields, p
        self._known: dict[Block, list[Mode | None]] = {}

    def of(self, block: Block) -> list[Mode | None]:
        """Of each mode of a tensor what acts on it; None for one that is several modes of a matrix taken together."""
        if block not in self._known:
            self._known[block] = list(self._modes(block))
        return self._known[block]

    def matchings(self, target: Block, source: Block, among: Sequence[int]) -> Iterator[Kept]:
        """All ways to take these modes of the target, each from a mode of the source that is acted on alike."""
        ours, theirs = self.of(target), self.of(source)
        able = [[j for j, mode in enumerate(theirs) if mode is not None and mode == ours[i]] for i in among]
        for chosen in itertools.product(*able):
            if len(set(chosen)) == len(chosen):
                yield tuple(zip(among, chosen, strict=True))

    def at_rest(self, target: Block) -> tuple[int, ...]:
        """Modes of a target on which no known symmetry acts; none where no symmetry is known."""
        ours = self.of(target) if self.fields.count else []
        return tuple(i for i, mode in enumerate(ours) if mode is not None and not any(mode.action[1:]))

    def linked(self, one: Block, other: Block, rest: Sequence[int]) -> bool:
        """Whether the module's own algebra may sum over a mode of ``one`` and some mode among ``rest`` of the other."""
        theirs = [mode for j, mode in enumerate(self.of(other)) if mode is not None and j in rest]
        return any(a.dual == b.action for a in self.of(one) if a is not None for b in theirs)

    def summed(self, one: Block, other: Block, mode: int) -> list[int]:
        """Modes of ``one`` on which known symmetries act as on the dual of this mode of the other.

        Where any are known they must act there: what nothing acts on is alike by its size alone.
        """
        theirs = self.of(other)[mode]
        if theirs is None or (self.fields.count and not any(theirs.action[1:])):
            return []
        return [i for i, mine in enumerate(self.of(one)) if mine is not None and mine.dual == theirs.action]

    def _modes(self, block: Block) -> Iterator[Mode | None]:
        modes = [Mode(_key(m), _key(-m.transpose(0, 2, 1) % self.p)) for m in self._matrices(_base(block))]
        if not isinstance(block, Derived):
            yield from modes
            return
        duals = [Mode(mode.dual, mode.action) for mode in modes]
        if block.kind == "reciprocal":
            yield from duals
            return
        shape, columns = block.base.shape, block.base.size // block.rows
        cut = next(i for i in range(1, len(shape)) if inverse_shape(shape, i) == block.shape)
        yield from duals[cut:] if block.rows <= columns else [_completed(duals[cut:])]
        yield from duals[:cut] if block.rows >= columns else [_completed(duals[:cut])]

    def _matrices(self, block: Block) -> list[Integers]:
        """Of each mode the trace of the fields' maps over all other modes, less its own trace."""
        fields, p, shape = self.fields, self.p, block.shape or (1,)
        end = block.start + block.size
        inside = (fields.rows >= block.start) & (fields.rows < end)
        inside &= (fields.columns > block.start) & (fields.columns <= end)
        values = fields.values[:, inside]
        row = np.array(np.unravel_index(fields.rows[inside] - block.start, shape))
        column = np.array(np.unravel_index(fields.columns[inside] - 1 - block.start, shape))
        found = []
        for mode, n in enumerate(block.shape):
            others = [m for m in range(len(shape)) if m != mode]
            same = (row[others] == column[others]).all(0)
            matrices = np.zeros((fields.count, n, n), dtype=np.int64)
            for r, c, value in zip(row[mode][same], column[mode][same], values[:, same].T, strict=True):
                matrices[:, r, c] += value
            matrices = matrices % p * pow(block.size // n, -1, p) % p
            mean = np.trace(matrices, axis1=1, axis2=2) % p * pow(n, -1, p) % p
            found.append((matrices - mean[:, None, None] * np.eye(n, dtype=np.int64)) % p)
        return found


def _base(block: Block) -> Block:
    return block.base if isinstance(block, Derived) else block


def _completed(modes: Sequence[Mode]) -> Mode | None:
    return replace(modes[0], whole=False) if len(modes) == 1 else None


def _key(matrices: Integers) -> bytes:
    return bytes([matrices.shape[1]]) + np.ascontiguousarray(matrices).tobytes()
