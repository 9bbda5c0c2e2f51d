"""An element applied to a model folder: another folder, of the same function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from symgauge.checkpoints.rows import Rows
from symgauge.comparison.acting import moved_by
from symgauge.comparison.element import INNER, Element, kind_of, load_element
from symgauge.comparison.pieces import Anatomy, Piece, anatomy, bias_of, is_inside_head, normal
from symgauge.comparison.sides import Side, side_of
from symgauge.comparison.trades import is_trade, shifts_of, trades_of
from symgauge.comparison.unembedding import ROLE, constant_of, is_unembedding
from symgauge.comparison.unembedding import moved as moved_rows
from symgauge.comparison.unfolding import new_norm, unfolded
from symgauge.errors import InvalidInput
from symgauge.folders.rewriting import Progress, as_stored, opened, writing


def apply_element(
    source: str | Path, element: str | Path, out: str | Path, *, dtype: str = "", progress: Progress | None = None
) -> None:
    """Write to the new folder ``out`` the model in ``source``, moved by the element in a file.

    Files, names and, unless another is given, dtypes stay; arithmetic is float64, one layer in memory at a time.
    Raises :class:`InvalidInput` for files that cannot be read or written, and where the element belongs to another
    architecture.
    """
    found, about = load_element(element)
    model = opened(source, bool(about.get("untie")), dtype)
    side = side_of(model)
    parts = anatomy(side)
    _check_fits(found, side, element, source)
    with writing(model, Path(out)) as add, torch.no_grad():
        for done, roles in enumerate(moved_roles(side, parts, found)):
            missing = [role for role, x in roles.items() if role not in model.parts and Rows.of(x).largest() > 1e-9]
            if missing:
                raise InvalidInput(f"{element}: needs {missing[0]!r}, which {source} does not have")
            kept = {role: x for role, x in roles.items() if role in model.parts}
            for name, tensor in as_stored(model, kept, dtype).items():
                add(name, tensor)
            if progress is not None:
                progress("writing", (done + 1) / (len(parts.pieces) + 1))


def _check_fits(found: Element, side: Side, element: str | Path, source: str | Path) -> None:
    """Raises :class:`InvalidInput` for a model of another kind or size than the element was made for."""
    own = kind_of(side.architecture)
    told = [f"{name} {found.made_for.get(name)}, not {value}" for name, value in own.items()
            if found.made_for.get(name) != value]  # fmt: skip
    trades = trades_of(side) if any(is_trade(name) for name in found.tensors) else {}
    for name, x in found.tensors.items():
        if is_trade(name) and x.numel() != trades.get(name):
            told.append(f"{x.numel()} coordinates of {name}, not {trades.get(name, 0)}")
        role = name.removesuffix(".mean")
        shape = side.graph.shapes.get(role, ())
        if role != name and tuple(x.shape) not in (shape[:-1], (*shape[:-2], *shape[-1:])):
            told.append(f"{role} of another size than {shape}")
    if told:
        raise InvalidInput(f"{element}: was made for another model than {source}, with {'; '.join(told[:3])}")


def moved_roles(side: Side, parts: Anatomy, element: Element) -> Iterator[dict[str, Tensor | Rows]]:
    """The roles of the image, tensors that share a parameter together; tables and the unembedding by their rows."""
    shifts = shifts_of(side, parts, element)
    pending: dict[str, Tensor | Rows] = {role: _moved_table(side, role, element) for role in parts.tables}
    for piece in parts.pieces:
        if is_unembedding(piece):
            pending |= _moved_unembedding(side, piece, parts, element)
        else:
            moved = moved_by(element, normal(side, piece, parts, centred=False), piece, side, parts)
            roles = unfolded(side, piece, moved, element)
            pending |= {role: x + shifts[role] if role in shifts else x for role, x in roles.items()}
        yield pending
        pending = {}


def _moved_table(side: Side, role: str, element: Element) -> Rows:
    constant = element.tensors.get(f"{role}.constant", torch.zeros((), dtype=torch.float64))
    rows = side.rows(role).map(lambda x: x @ element.tensors["stream"] + constant)
    mean = element.tensors.get(f"{role}.mean")
    return rows if mean is None else rows.plus(mean)


def _moved_unembedding(side: Side, piece: Piece, parts: Anatomy, element: Element) -> dict[str, Tensor | Rows]:
    """As :func:`unfolded`; a tied head is its table."""
    rest = replace(piece, readers=(), norm=None)
    kept = moved_by(element, normal(side, rest, parts, centred=False), rest, side, parts)
    roles: dict[str, Tensor | Rows] = {**kept.roles}
    rows = moved_rows(side, piece, element, parts.stream != "any", centred=False)
    if (mean := element.tensors.get(f"{ROLE}.mean")) is not None:
        rows = rows.plus(mean)
    constant, norm = constant_of(side, piece), piece.norm
    offset = None
    if norm is not None:
        through = new_norm(side, norm, element)
        if is_inside_head(piece) and INNER in element.tensors:
            own = {role: x[element.tensors[INNER]] for role, x in through.items() if role not in element.tensors}
            through |= own
        roles |= through
        gain, offset = through[norm.gain], None if norm.offset is None else through[norm.offset]
        by = torch.where(gain == 0, 0.0, 1 / torch.where(gain == 0, 1.0, gain))
        rows = rows.map(lambda x: x * by)
    if not side.model.architecture.tied:
        roles[ROLE] = rows
    if constant is not None:
        less = 0.0 if offset is None else rows.per_row(lambda x: x @ offset)
        roles[bias_of(piece.readers[0])] = constant[0] - less
    return roles
