"""A discovery as a Markdown page, with a picture of which ideals move which tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import flint
import numpy as np
from numpy.typing import NDArray

from symgauge.atomic import write_bytes, write_text
from symgauge.discovery.alike import Alike, alike
from symgauge.discovery.discovery import Discovery
from symgauge.discovery.fields import together
from symgauge.discovery.sizes import Formula
from symgauge.printing.discovery import beyond_affine, motions, remaining
from symgauge.printing.sizes import named
from symgauge.reporting import markdown as md

_CELL, _MARGIN, _DPI = 0.55, 2.2, 110
"""Inches of a cell of the picture and around it, and dots per inch."""


def write(path: Path, found: Discovery, formula: Formula | None = None) -> None:
    """Write the page, and a picture of the same name beside it.

    Raises InvalidInput where one cannot be written.
    """
    groups = alike(found.ideals)
    picture = path.with_suffix(".png")
    if groups:
        write_bytes(picture, draw(found, groups))
    write_text(path, md.document(*_blocks(found, groups, picture.name if groups else "", formula)))


def _blocks(found: Discovery, groups: Sequence[Alike], picture: str, formula: Formula | None) -> Iterator[str]:
    fibre = found.fibre
    yield f"# Symmetries of {md.verbatim(found.subject.name)}"
    yield (
        f"Found by `symgauge discover`, with no description of the module. Of {fibre.parameters:,} parameters, "
        f"{found.nullity:,} directions change nothing; {found.explained:,} of them are explained."
    )
    yield from (md.verbatim(note) for note in found.notes)
    yield md.table(["", ""], list(_facts(found)))
    if groups:
        yield "## The algebra"
        yield md.table(["ideal", "dimension", "tensors", "how they move"], [_row(group) for group in groups], right=[1])
        yield f"![Dimension of each ideal's projection on each tensor]({quote(picture)})"
    yield "## What is left"
    yield " ".join(map(md.verbatim, remaining(found)))
    if formula is not None:
        yield "## By size"
        yield f"Fitted over ℚ at {len(formula.sizes)} sizes, by {', '.join(map(md.code, formula.names))}."
        yield md.table(
            ["", "polynomial", "held out, agree", ""],
            [[md.verbatim(name), md.code(str(fit)), len(fit.held_out), fit.reason or _untested(fit.untested)]
             for name, fit in named(formula)],
            right=[2],
        )  # fmt: skip


def _facts(found: Discovery) -> Iterator[list[object]]:
    frozen = ", ".join(f"{md.code(name)} ({count:,})" for name, count in found.frozen.items())
    if frozen:
        yield ["held at plain values, pure gauge", frozen]
    if found.frozen_unmoved:
        yield ["of these, moved by no affine symmetry", f"{found.frozen_unmoved:,}"]
    yield ["algebra of affine symmetries", f"dimension {found.algebra:,}"]
    yield from map(list, beyond_affine(found))
    if found.discrete is not None:
        yield ["permutations and signs", f"order {found.discrete.order:,}"]
    yield ["inputs", md.code(str(found.subject.inputs))]
    yield ["chance that a field is none, or the nullity too large", f"at most {found.failure_bound:.1e}"]
    if found.fibre.conditional_on:
        yield ["if these have no other relations", ", ".join(map(md.code, found.fibre.conditional_on))]
    yield ["primes, seed, points", f"{', '.join(map(str, found.fibre.primes))}; {found.seed}; {found.attempt.points}"]
    if found.flows:
        yield ["motions run in float64", motions(found)]
    if found.doubt:
        yield ["doubt", md.verbatim(found.doubt)]


def _row(group: Alike) -> list[object]:
    times = f"{len(group.ideals)} × " if len(group.ideals) > 1 else ""
    where = f", {group.where}" if group.where else ""
    return [
        f"{times}{group.algebra}", group.dimension, ", ".join(map(md.code, group.tensors)),
        f"{md.code(group.action)}{where}",
    ]  # fmt: skip


def _untested(names: Sequence[str]) -> str:
    return f"more values of {', '.join(map(md.code, names))} would test the degree in it" if names else ""


def projections(found: Discovery, groups: Sequence[Alike]) -> NDArray[np.int64]:
    """Dimension of the projection of each group of ideals on each tensor of the slice: (tensors, groups)."""
    result = np.zeros((len(found.attempt.blocks), len(groups)), dtype=np.int64)
    for column, group in enumerate(groups):
        for fields in together(*(ideal.fields for ideal in group.ideals)):
            for row, block in enumerate(found.attempt.blocks):
                inside = (fields.rows >= block.start) & (fields.rows < block.start + block.size)
                part = fields.values[:, inside]
                if part.any():
                    result[row, column] += flint.fmpz_mat([[int(x) for x in line] for line in part]).rank()
    return result


def draw(found: Discovery, groups: Sequence[Alike]) -> bytes:
    """PNG: a row per tensor that moves, a column per ideal, or several alike; colour and number: the projection."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    numbers = projections(found, groups)
    moving = np.nonzero(numbers.any(1))[0]
    names = [found.attempt.blocks[row].name for row in moving]
    numbers = numbers[moving]
    size = (_MARGIN + _CELL * len(groups) + 1.0, _MARGIN + _CELL * len(names))
    figure = Figure(figsize=size, dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.add_subplot()
    image = ax.imshow(np.where(numbers > 0, numbers, np.nan), cmap="viridis", vmin=0, aspect="equal")
    for (row, column), number in np.ndenumerate(numbers):
        if number:
            bright = number > 0.6 * numbers.max()
            ax.text(
                column, row, str(number), ha="center", va="center", fontsize=8, color="black" if bright else "white"
            )
    labels = [f"{len(g.ideals)} × {g.algebra}" if len(g.ideals) > 1 else g.algebra for g in groups]
    ax.set_xticks(range(len(groups)), labels, rotation=45, ha="right", fontsize=8)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    figure.colorbar(image, ax=ax, label="dimension of the projection", shrink=0.8)
    stream = BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()
