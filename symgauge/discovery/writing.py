"""Fields as lines for people, which :mod:`symgauge.discovery.family` reads: ``k[0, :, 1] -= q[0, :, 0]``.

A source may be the product of two slices, ``w[0, :] += 2 * u[0, 1] * v[:]``: of every entry of the first with every
entry of the other, the last mode fastest. All modes of the first are written out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from symgauge.discovery.ansatz import Block
from symgauge.discovery.fields import Fields
from symgauge.discovery.multiplied import Product
from symgauge.errors import InvalidInput

ONE = "1"
"""What stands for the constant in place of a source."""
_LINE = re.compile(r"(?P<target>.+?) (?P<sign>[+-])= (?:(?P<factor>\d+) \* )?(?P<source>.+)")
TIMES = " * "
_SLICE = re.compile(r"(?P<name>[^\[\]\s]+)(?:\[(?P<index>[\d:, ]+)\])?")
_FORBIDDEN = re.compile(r"[\[\]\s\"\\]")
"""What a tensor's name cannot have: it would not be read back, or break the emitted file."""

Index = tuple[int | str, ...]
"""Of each mode an index, or ":" for all of them."""
Entry = tuple[Index, Index]
"""Of the target and the source; modes that are ":" run together, in their order."""


def lines(fields: Fields, number: int, blocks: Sequence[Block]) -> list[str]:
    """One field: what a step along it adds to which slice, a line for each.

    Raises InvalidInput for a tensor whose name a line cannot have.
    """
    groups: dict[tuple[Block, Block | None, int], set[Entry]] = {}
    for e in np.nonzero(fields.values[number])[0]:
        target, into = _place(int(fields.rows[e]), blocks)
        column = int(fields.columns[e])
        source, out_of = (None, ()) if column == 0 else _place(column - 1, blocks)
        groups.setdefault((target, source, int(fields.values[number, e])), set()).add((into, out_of))
    return [
        f"{_slice(target, into)} {'+' if factor > 0 else '-'}= {_times(factor, source)}"
        f"{ONE if source is None else _slice(source, out_of)}"
        for (target, source, factor), entries in groups.items()
        for into, out_of in _collapsed(entries, target.shape, () if source is None else source.shape)
    ]


def parsed(line: str, places: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, int]:
    """Where a line's target and source stand (n,), each by tensor and index, and the factor.

    ``places``: tensor → the positions of its entries, in its shape. The constant stands at 0.

    Raises InvalidInput for a line that is none, or whose slices do not fit.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        raise InvalidInput(f"generator line {line!r} is not understood; write 'a[0, :] += 2 * b[:, 1]'")
    target = _positions(match["target"], places, line)
    source = torch.zeros_like(target) if match["source"] == ONE else _positions(match["source"], places, line)
    if len(target) != len(source):
        raise InvalidInput(f"generator line {line!r}: the slices have {len(target)} and {len(source)} entries")
    return target, source, int(f"{match['sign']}{match['factor'] or 1}")


def tensors(line: str) -> tuple[str, ...]:
    """Names of the tensors in a line, the moved one first."""
    match = _LINE.fullmatch(line)
    return () if match is None else (match["target"].partition("[")[0], *read_by(line))


def read_by(line: str) -> tuple[str, ...]:
    """Names of what a line takes in: none for a constant, two for a product."""
    match = _LINE.fullmatch(line)
    source = ONE if match is None else match["source"]
    return () if source == ONE else tuple(text.partition("[")[0] for text in source.split(TIMES))


def _place(position: int, blocks: Sequence[Block]) -> tuple[Block, Index]:
    block = next(b for b in blocks if b.start <= position < b.start + b.size)
    return block, tuple(int(i) for i in np.unravel_index(position - block.start, block.shape))


def _collapsed(entries: set[Entry], into: Sequence[int], out_of: Sequence[int]) -> list[Entry]:
    """Entries that differ in one mode, through all of it, as one."""
    for i, size in enumerate(into):
        for j in range(len(out_of)) if out_of else [None]:
            if size == 1 or (j is not None and out_of[j] != size):
                continue
            together: dict[Entry, set[Entry]] = {}
            for entry in entries:
                whole = _through(entry, i, j)
                if whole is not None:
                    together.setdefault(whole, set()).add(entry)
            for whole, members in together.items():
                if len(members) == size:
                    entries = entries - members | {whole}
    return sorted(entries, key=str)


def _through(entry: Entry, i: int, j: int | None) -> Entry | None:
    """The entry with these modes left free; None where they do not have one index, or come in another order."""
    target, source = entry
    if target[i] == ":":
        return None
    free = (*target[:i], ":", *target[i + 1 :])
    if j is None:
        return free, source
    if source[j] != target[i] or ":" in source[j:] or source[:j].count(":") != target[:i].count(":"):
        return None
    return free, (*source[:j], ":", *source[j + 1 :])


def _slice(block: Block, index: Index, whole: bool = False) -> str:
    """A slice; ``whole``: with all of its modes, also where nothing is chosen in the last of them."""
    if isinstance(block, Product):
        cut = len(block.left.shape)
        return f"{_slice(block.left, index[:cut], whole=True)}{TIMES}{_slice(block.right, index[cut:])}"
    if block.name == ONE or _FORBIDDEN.search(block.name):
        raise InvalidInput(
            f"the tensor {block.name!r} cannot be written in a line; give it a name other than {ONE}, without blanks, "
            "brackets, double quotes and backslashes"
        )
    written = [str(i) for i in index]
    while written and written[-1] == ":" and not whole:
        written.pop()
    return f"{block.name}[{', '.join(written)}]" if written else block.name


def _times(factor: int, source: Block | None) -> str:
    number = isinstance(source, Product) and source.left.name.isdigit()
    return "" if abs(factor) == 1 and not number else f"{abs(factor)} * "


def _positions(text: str, places: Mapping[str, Tensor], line: str) -> Tensor:
    matches = [_SLICE.fullmatch(part) for part in text.split(TIMES)]
    name = TIMES.join("" if match is None else match["name"] for match in matches)
    if name not in places:
        raise InvalidInput(f"generator line {line!r}: there is no tensor {text!r}; there are {', '.join(places)}")
    whole = places[name]
    parts = [part.strip() for match in matches if match and match["index"] for part in match["index"].split(",")]
    try:
        return whole[tuple(slice(None) if part == ":" else int(part) for part in parts)].reshape(-1)
    except (IndexError, ValueError):
        raise InvalidInput(f"generator line {line!r}: {text} is no slice of a tensor {tuple(whole.shape)}") from None
