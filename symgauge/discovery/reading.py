"""What fields do, in words that a person checks by eye: which slices of which tensors are multiplied by what.

``v[0:2] ↦ A·v[0:2]; o[:, 0:2] ↦ o[:, 0:2]·A⁻¹``: A is the exponential of an element of the algebra, as it acts on the
first slice named; the others act by it, its inverse, its transpose, or both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from symgauge.discovery.ansatz import Block
from symgauge.discovery.fields import Fields, Integers

_SUPERSCRIPTS = str.maketrans("-0123456789/", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹ᐟ")


@dataclass(frozen=True)
class _Part:
    """Matrices (fields, r, r) by which one mode of a slice of a tensor is multiplied."""

    block: Block
    mode: int
    where: tuple[tuple[int, ...], ...]
    """Indices of every mode."""
    matrices: Integers

    @property
    def scalar(self) -> bool:
        return self.matrices.shape[1] == 1


def action(fields: Fields, blocks: Sequence[Block]) -> str:
    """What the fields do to each tensor, tensor by tensor, separated by semicolons."""
    parts, words = [], []
    for block in blocks:
        own, shifted, taken = _entries(fields, block, blocks)
        if own is not None:
            found = _parts(block, *own)
            if found is None:
                words.append(f"{block.name} is mixed over several modes at once")
            parts += found or []
        if shifted is not None:
            words.append(f"{_slice(block, shifted)} ↦ {block.name} + c")
        words += [f"{block.name} takes in a multiple of {name}" for name in taken]
    return "; ".join([*_multiplied(parts), *words])


def _entries(
    fields: Fields, block: Block, blocks: Sequence[Block]
) -> tuple[tuple[Integers, Integers, Integers] | None, tuple[tuple[int, ...], ...] | None, list[str]]:
    """What moves a tensor: itself (rows, columns, values), constants (where), others (their names)."""
    live = (fields.values != 0).any(0) & (fields.rows >= block.start) & (fields.rows < block.start + block.size)
    rows, columns, values = fields.rows[live] - block.start, fields.columns[live] - 1, fields.values[:, live]
    constant = columns < 0
    inside = (columns >= block.start) & (columns < block.start + block.size)
    own = (rows[inside], columns[inside] - block.start, values[:, inside]) if inside.any() else None
    shifted = None
    if constant.any():
        index = np.array(np.unravel_index(rows[constant], block.shape or (1,)))
        shifted = tuple(tuple(sorted({int(i) for i in row})) for row in index)
    others = columns[~constant & ~inside]
    taken = [b.name for b in blocks if ((others >= b.start) & (others < b.start + b.size)).any()]
    return own, shifted, taken


def _parts(block: Block, rows: Integers, columns: Integers, values: Integers) -> list[_Part] | None:
    """The slices that are multiplied along one mode; None if modes are mixed with each other."""
    shape = block.shape or (1,)
    row, column = (np.array(np.unravel_index(x, shape)) for x in (rows, columns))
    differing = [m for m in range(len(shape)) if (row[m] != column[m]).any()]
    if len(differing) > 1:
        return None
    if not differing:
        return list(_scaled(block, shape, row, values))
    mode = differing[0]
    others = [m for m in range(len(shape)) if m != mode]
    groups: dict[bytes, tuple[Integers, list[tuple[int, ...]]]] = {}
    for other in sorted({tuple(int(i) for i in o) for o in row[others].T}):
        here = (row[others] == np.array(other).reshape(-1, 1)).all(0)
        matrix = np.zeros((len(values), shape[mode], shape[mode]), dtype=np.int64)
        matrix[:, row[mode][here], column[mode][here]] = values[:, here]
        groups.setdefault(matrix.tobytes(), (matrix, []))[1].append(other)
    parts = []
    for matrix, places in groups.values():
        for indices in _connected((matrix != 0).any(0)):
            where: list[tuple[int, ...]] = [()] * len(shape)
            for m, i in zip(others, np.array(places).reshape(len(places), -1).T, strict=True):
                where[m] = tuple(sorted({int(x) for x in i}))
            where[mode] = tuple(indices)
            parts.append(_Part(block, mode, tuple(where), matrix[:, indices][:, :, indices]))
    return parts


def _scaled(block: Block, shape: tuple[int, ...], row: Integers, values: Integers) -> Iterator[_Part]:
    """Slices that are multiplied by numbers: those with equal numbers together."""
    groups: dict[bytes, list[int]] = {}
    for e in range(row.shape[1]):
        groups.setdefault(values[:, e].tobytes(), []).append(e)
    for members in groups.values():
        where = tuple(tuple(sorted({int(i) for i in row[m, members]})) for m in range(len(shape)))
        mode = min(range(len(shape)), key=lambda m: len(where[m]) / shape[m])
        yield _Part(block, mode, where, values[:, members[0]].reshape(-1, 1, 1))


def _connected(adjacent: np.ndarray) -> list[list[int]]:
    """Sets of indices that a matrix pattern connects; those with nothing in their row and column are left out."""
    adjacent = adjacent | adjacent.T
    unseen, found = {int(i) for i in np.nonzero(adjacent.any(0))[0]}, []
    while unseen:
        todo, here = [min(unseen)], set()
        while todo:
            i = todo.pop()
            if i not in here:
                here.add(i)
                todo += [int(k) for k in np.nonzero(adjacent[i])[0]]
        unseen -= here
        found.append(sorted(here))
    return found


def _multiplied(parts: Sequence[_Part]) -> list[str]:
    """A line for each tensor: how its slices are multiplied, in terms of the first one's matrix A (or number t)."""
    matrices = [p for p in parts if not p.scalar]
    reference = matrices[0] if matrices else None
    words: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        name = _slice(part.block, part.where)
        words.setdefault((part.block.name, _factor(part, reference, parts)), []).append(name)
    return [f"{', '.join(slices)} ↦ {formula}" for (_, formula), slices in words.items()]


def _factor(part: _Part, reference: _Part | None, parts: Sequence[_Part]) -> str:
    if part.scalar and reference is None:
        first = parts[0].matrices[:, 0, 0]
        mine = part.matrices[:, 0, 0]
        if len(first) == 1:
            return f"t{_power(int(mine[0]), int(first[0]))} ·"
        return "scaled by its own number"
    if part.scalar:
        return "scaled"
    assert reference is not None
    m, a = part.matrices, reference.matrices
    left = part.mode == 0
    for sign in (1, -1):
        if m.shape == a.shape and (m == sign * a).all():
            return _written("A" if sign > 0 else "A⁻¹", "Aᵀ" if sign > 0 else "A⁻ᵀ", left, part)
        if m.shape == a.shape and (m == sign * a.transpose(0, 2, 1)).all():
            return _written("Aᵀ" if sign > 0 else "A⁻ᵀ", "A" if sign > 0 else "A⁻¹", left, part)
    return f"{_written('B', 'Bᵀ', left, part)}, where B represents the same algebra in dimension {m.shape[1]}"


def _written(from_left: str, from_right: str, left: bool, part: _Part) -> str:
    """T ↦ A·T along the first mode, T ↦ T·Aᵀ along the second of two; the mode's number for others."""
    if len(part.block.shape) <= 2:
        return f"{from_left} ·" if left else f"· {from_right}"
    return f"{from_left} along mode {part.mode}"


def _power(mine: int, first: int) -> str:
    power = str(Fraction(mine, first))
    return "" if power == "1" else power.translate(_SUPERSCRIPTS)


def _slice(block: Block, where: tuple[tuple[int, ...], ...]) -> str:
    """A tensor's slice in Python's notation."""
    written = [_range(w, n) for w, n in zip(where, block.shape or (1,), strict=True)]
    while written and written[-1] == ":":
        written.pop()
    return f"{block.name}[{', '.join(written)}]" if written else block.name


def _range(indices: tuple[int, ...], size: int) -> str:
    first, last = indices[0], indices[-1]
    if len(indices) == size:
        return ":"
    if len(indices) == 1:
        return str(first)
    if last - first + 1 == len(indices):
        return f"{first}:{last + 1}"
    return "{" + ",".join(map(str, indices)) + "}"
