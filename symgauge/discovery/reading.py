"""What fields do, in words that a person checks by eye: which slices of which tensors are multiplied by what.

``v[0:2] ↦ A·v[0:2]; o[:, 0:2] ↦ o[:, 0:2]·A⁻¹``: A is the exponential of an element of the algebra, as it acts on the
first slice named; the others act by it, its inverse, its transpose, or both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    parts: list[_Part] = []
    words = []
    by_constants = {b.name: shift for b in blocks if (shift := _shift(fields, b)) is not None}
    for block in blocks:
        rows, columns, values = _moving(fields, block)
        inside = (columns >= block.start) & (columns < block.start + block.size)
        if inside.any():
            found = _parts(block, rows[inside] - block.start, columns[inside] - block.start, values[:, inside])
            if found is None:
                words.append(f"{block.name} is mixed over several modes at once")
            parts += found or []
        if block.name in by_constants:
            words.append(_shifted(block, by_constants[block.name]))
        for other in blocks:
            here = (columns >= other.start) & (columns < other.start + other.size) & ~inside
            if here.any():
                entries = rows[here] - block.start, columns[here] - other.start, values[:, here]
                words.append(_absorbed(block, other, *entries, by_constants))
    return "; ".join([*_multiplied(parts), *words])


def _moving(fields: Fields, block: Block) -> tuple[Integers, Integers, Integers]:
    """Coefficients that move a tensor: rows of θ, what moves them (a place in θ, −1 for the constant), values."""
    live = (fields.values != 0).any(0) & (fields.rows >= block.start) & (fields.rows < block.start + block.size)
    return fields.rows[live], fields.columns[live] - 1, fields.values[:, live]


def _shift(fields: Fields, block: Block) -> Integers | None:
    """The constants that are added to a tensor, (fields, *shape); None if there are none."""
    rows, columns, values = _moving(fields, block)
    constant = columns < 0
    if not constant.any():
        return None
    shift = np.zeros((fields.count, block.size), dtype=np.int64)
    shift[:, rows[constant] - block.start] = values[:, constant]
    return shift.reshape(fields.count, *block.shape)


def _shifted(block: Block, shift: Integers) -> str:
    alike = [m for m, n in enumerate(block.shape) if n > 1 and (np.diff(shift, axis=m + 1) == 0).all()]
    live = np.argwhere((shift != 0).any(0)).T
    name = _slice(block, tuple(tuple(sorted({int(i) for i in row})) for row in live)) if block.shape else block.name
    same = f", the same c along {' and '.join(_mode(block, m) for m in alike)}" if alike else ""
    return f"{name} ↦ {name} + c{same}"


def _mode(block: Block, mode: int) -> str:
    return {1: ("it",), 2: ("each column", "each row")}.get(len(block.shape), (f"mode {mode}",) * (mode + 1))[mode]


def _absorbed(
    block: Block, other: Block, rows: Integers, columns: Integers, values: Integers,
    shifts: Mapping[str, Integers],
) -> str:  # fmt: skip
    """A vector that takes in a matrix times the constants that are added elsewhere, or whatever else it is."""
    plain = f"{block.name} takes in a multiple of {other.name}"
    if len(block.shape) == 2 and len(other.shape) == 1:
        return _along(block, other, rows, columns, values) or plain
    if len(block.shape) != 1 or len(other.shape) != 2:
        return plain
    column = np.array(np.unravel_index(columns, other.shape))
    for kept in (0, 1):
        if not (column[kept] == rows).all():
            continue
        factor = np.zeros((len(values), other.shape[1 - kept]), dtype=np.int64)
        factor[:, column[1 - kept]] = values
        for sign, word in ((1, "+"), (-1, "−")):
            for shift in shifts.values():
                if any(_equal(sign * factor, view) for view in _views(shift)):
                    used = tuple(np.nonzero(factor.any(0))[0].tolist())
                    whole = tuple(range(other.shape[kept]))
                    name = _slice(other, (whole, used) if kept == 0 else (used, whole))
                    return f"{block.name} ↦ {block.name} {word} {name}{'' if kept == 0 else 'ᵀ'}·c"
    return plain


def _along(block: Block, other: Block, rows: Integers, columns: Integers, values: Integers) -> str | None:
    """A matrix to each of whose rows (or columns) a multiple of a vector is added; None if it is something else."""
    row = np.array(np.unravel_index(rows, block.shape))
    for kept, term in ((1, f"c·({other.name})ᵀ"), (0, f"({other.name})·cᵀ")):
        if (row[kept] == columns).all():
            factor = np.zeros((len(values), *block.shape), dtype=np.int64)
            factor[:, row[0], row[1]] = values
            if (np.diff(factor, axis=1 + kept) == 0).all():
                return f"{block.name} ↦ {block.name} + {term}"
    return None


def _views(shift: Integers) -> Iterator[Integers]:
    """The constants of each field as a vector (fields, n), along each mode beside which they do not vary."""
    for mode in range(1, shift.ndim):
        others = tuple(m for m in range(1, shift.ndim) if m != mode)
        if all((np.diff(shift, axis=m) == 0).all() for m in others):
            yield shift[(slice(None), *(slice(None) if m == mode else 0 for m in range(1, shift.ndim)))]


def _equal(a: Integers, b: Integers) -> bool:
    """Whether the columns that are not zero are the same."""
    a, b = (x[:, x.any(0)] for x in (a, b))
    return a.shape == b.shape and bool((a == b).all())


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
