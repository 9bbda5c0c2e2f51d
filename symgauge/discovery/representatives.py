"""Which of many fields that say the same is read: they are the same modulo fields that point along translations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from symgauge.discovery.ansatz import Block, Term
from symgauge.discovery.fields import Fields, Integers, together
from symgauge.discovery.rational import integer_matrix

_LONG = 1 << 20
"""Coefficients of a representative that is read are no larger."""
_LARGEST = 3_000
"""Equations up to which a representative of one mode is sought."""


def plainest(fields: Fields, trivial: Fields, blocks: Sequence[Block]) -> Fields:
    """Representatives with few coefficients, that act on one mode of each tensor where that can be."""
    fields = sparsest(fields, trivial)
    for block in blocks:
        fields = in_one_mode(fields, trivial, block)
    return fields


def sparsest(fields: Fields, trivial: Fields) -> Fields:
    """Of each field a representative with few coefficients: trivial ones are added as long as that takes some away."""
    if not trivial.count or not fields.count:
        return fields
    space, fields = together(trivial, fields)
    values = fields.values.copy()
    for field in values:
        while (change := _better(field, space.values)) is not None:
            field += change
    return Fields(fields.size, fields.rows, fields.columns, values)


def _better(field: Integers, space: Integers) -> Integers | None:
    """The multiple of one trivial field that leaves the fewest coefficients; None if none takes any away."""
    best, change = int((field != 0).sum()), None
    for other in space[(space[:, field != 0] != 0).any(1)]:
        live = np.nonzero(other)[0]
        counts = Counter((-field[live] // other[live])[field[live] % other[live] == 0].tolist())
        for factor, _ in counts.most_common(2):
            left = int((field + factor * other != 0).sum())
            if factor and left < best:
                best, change = left, factor * other
    return change


def in_one_mode(fields: Fields, trivial: Fields, block: Block) -> Fields:
    """Representatives that leave one mode of a tensor alone, where there are some; otherwise the fields as they are.

    A map that mixes several modes at once may be one that does not, up to what the function does not see.
    """
    if not trivial.count or len(block.shape) < 2 or not fields.moved(block.start, block.size).any():
        return fields
    fields, trivial = together(fields, trivial)
    inside = (fields.rows >= block.start) & (fields.rows < block.start + block.size)
    own = trivial.values[(trivial.values[:, ~inside] == 0).all(1)]
    for kept in sorted(range(len(block.shape)), key=lambda m: -block.shape[m]):
        if (found := _acting(fields, own, inside, block, kept)) is not None:
            return found
    return fields


def _acting(fields: Fields, own: Integers, inside: np.ndarray, block: Block, kept: int) -> Fields | None:
    """The fields plus combinations of ``own`` such that the tensor moves by maps of all modes but ``kept``."""
    unknown, rows, columns = (x.numpy() for x in Term(block, block, ((kept, kept),)).entries())
    places = {(r, c): e for e, (r, c) in enumerate(zip(fields.rows.tolist(), fields.columns.tolist(), strict=True))}
    maps = np.zeros((int(unknown.max()) + 1, len(fields.rows)), dtype=np.int64)
    for u, r, c in zip(unknown.tolist(), rows.tolist(), columns.tolist(), strict=True):
        if (r, c) not in places:
            maps[u] = 0
            continue
        maps[u, places[r, c]] = 1
    whole = maps.sum(1) == block.shape[kept]  # maps of which an entry has no place can take no part
    equations = np.concatenate([own[:, inside], maps[whole][:, inside], fields.values[:, inside]]).T
    equations = np.unique(equations[(equations != 0).any(1)], axis=0)
    if len(equations) > _LARGEST:
        return None
    count = len(own) + int(whole.sum())
    reduced, denominator, rank = integer_matrix(equations).rref()
    table = reduced.table()[:rank]
    pivots = [next(i for i, x in enumerate(row) if x) for row in table]
    if any(pivot >= count for pivot in pivots):
        return None
    values = fields.values.astype(object).copy()
    scale = int(denominator)
    for k in range(fields.count):
        values[k] *= scale
        for pivot, row in zip(pivots, table, strict=True):
            if pivot < len(own):
                values[k] -= int(row[count + k]) * own[pivot]
        values[k] //= np.gcd.reduce(values[k]) or 1
        if max(map(abs, values[k])) > _LONG:
            return None
    return Fields(fields.size, fields.rows, fields.columns, values.astype(np.int64))
