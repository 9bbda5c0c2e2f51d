"""An element applied to a model folder: another folder, of the same function."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from symgauge.comparison.acting import moved_by
from symgauge.comparison.element import Element, kind_of, load_element
from symgauge.comparison.pieces import Anatomy, Normal, Piece, anatomy, bias_of, normal
from symgauge.comparison.sides import Side, side_of
from symgauge.errors import InvalidInput
from symgauge.folders.rewriting import Progress, as_stored, opened, writing
from symgauge.model_graph import Attention


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
            missing = [role for role, x in roles.items() if role not in model.parts and bool((x.abs() > 1e-9).any())]
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
    for name, x in found.tensors.items():
        role = name.removesuffix(".mean")
        shape = side.graph.shapes.get(role, ())
        if role != name and tuple(x.shape) not in (shape[:-1], (*shape[:-2], *shape[-1:])):
            told.append(f"{role} of another size than {shape}")
    if told:
        raise InvalidInput(f"{element}: was made for another model than {source}, with {'; '.join(told[:3])}")


def moved_roles(side: Side, parts: Anatomy, element: Element) -> Iterator[dict[str, Tensor]]:
    """The roles of the image, tensors that share a parameter together."""
    pending: dict[str, Tensor] = {}
    for role in parts.tables:
        x = side.read(role) @ element.tensors["stream"] + element.tensors.get(f"{role}.constant", 0.0)
        mean = element.tensors.get(f"{role}.mean")
        pending[role] = x if mean is None else x + mean.unsqueeze(-1)
    for piece in parts.pieces:
        moved = moved_by(element, normal(side, piece, parts, centred=False), piece, side, parts)
        roles = unfolded(side, piece, moved, element)
        if side.model.architecture.tied and "unembedding.weight" in roles:
            del roles["unembedding.weight"]
        pending |= roles
        yield pending
        pending = {}


def unfolded(side: Side, piece: Piece, x: Normal, element: Element) -> dict[str, Tensor]:
    """The roles of a piece with the gain and offset that its norm has after the element acted."""
    roles, norm = dict(x.roles), piece.norm
    for m in piece.writers:
        for role in (m.weight, m.bias):
            if role is not None and f"{role}.mean" in element.tensors:
                roles[role] = roles[role] + element.tensors[f"{role}.mean"].unsqueeze(-1)
    for s in piece.sublayers:
        if isinstance(s, Attention):
            for inner in (s.query_norm, s.key_norm):
                if inner is not None and inner.gain in element.tensors:
                    roles[inner.gain] = element.tensors[inner.gain]
    if norm is None:
        return roles
    gain = element.tensors[norm.gain] if norm.gain in element.tensors else side.read(norm.gain)
    roles[norm.gain] = gain
    offset = None
    if norm.offset is not None:
        offset = element.tensors[norm.offset] if norm.offset in element.tensors else side.read(norm.offset)
        roles[norm.offset] = offset
    for m in piece.readers:
        weight = roles[m.weight]
        if f"{m.weight}.mean" in element.tensors:
            weight = weight + element.tensors[f"{m.weight}.mean"].unsqueeze(-2)
        weight = torch.where(gain.unsqueeze(-1) == 0, 0.0, weight / torch.where(gain == 0, 1.0, gain).unsqueeze(-1))
        roles[m.weight] = weight
        if bias_of(m) in roles:
            constant = roles[bias_of(m)]
            roles[bias_of(m)] = constant if offset is None else constant - offset @ weight
    return roles
