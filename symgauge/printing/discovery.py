"""What was discovered: the fibre, the algebra by its ideals, and plainly what is left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table

from symgauge.discovery.alike import alike
from symgauge.printing import fibre
from symgauge.printing.tables import table

if TYPE_CHECKING:
    from symgauge.discovery.discovery import Discovery


def shown(discovery: Discovery) -> Group:
    """All of a discovery, in the order in which it is read."""
    return Group(*_parts(discovery))


def _parts(found: Discovery) -> Iterator[RenderableType]:
    yield from found.notes
    rows = [
        *([["held at plain values, pure gauge", held(found)]] if found.frozen else []),
        *([["of these, moved by no affine symmetry", f"{found.frozen_unmoved:,}"]] if found.frozen_unmoved else []),
        ["algebra of affine symmetries", f"dimension {found.algebra:,}"],
        *(
            [["symmetries that take in inverses or products", f"{found.beyond_affine:,}"]]
            if found.beyond_affine
            else []
        ),
        *([["of these, moving what they take in", f"{found.integrated:,}"]] if found.integrated else []),
        ["explained", f"{found.explained:,} of {found.nullity:,}"],
        *([] if found.discrete is None else [["permutations and signs", f"order {found.discrete.order:,}"]]),
        *([["motions run in float64", motions(found)]] if found.flows else []),
    ]
    yield fibre.summary(found.fibre, rows)
    if found.ideals:
        yield ideals(found)
    yield from remaining(found)


def beyond_affine(found: Discovery) -> list[list[str]]:
    """How many symmetries are not affine, and how many of these are no exponentials; nothing where there are none."""
    rows = (
        ("symmetries that take in inverses or products", found.beyond_affine),
        ("of these, moving what they take in", found.integrated),
    )
    return [[label, f"{count:,}"] for label, count in rows if count]


def held(found: Discovery) -> str:
    """The tensors held at plain values, each with the directions of the fibre that this takes up."""
    return ", ".join(f"{name} ({count:,})" for name, count in found.frozen.items())


def ideals(found: Discovery) -> Table:
    """A row for each ideal, or for several that differ in an index."""
    rows = []
    for group in alike(found.ideals):
        times = "" if len(group.ideals) == 1 else f"{len(group.ideals):,} × "
        where = f"; {group.where}" if group.where else ""
        rows.append([f"{times}{group.algebra}", f"{group.dimension:,}", ", ".join(group.tensors), group.action + where])
    return table(["ideal", "dimension", "tensors", "how they move"], rows, text=(0, 2, 3))


def motions(found: Discovery) -> str:
    """How many one-parameter groups kept the function, and what that would have shown."""
    kept = sum(flow.holds for flow in found.flows)
    weakest = min(flow.control for flow in found.flows)
    return f"{kept:,} of {len(found.flows):,} kept the function; spoiled, it changes by {weakest:.0e} or more"


def remaining(found: Discovery) -> Iterator[str]:
    """What is not explained, with its tensors and what was tried: sentences."""
    if not found.unexplained:
        yield "Every direction of the fibre is explained."
        return
    moved = [f"{name} (in {m.need} to {m.can})" for name, m in found.rest.unknown.items() if m.can]
    sets = [f"{' + '.join(each.tensors)} ({each.new_directions})" for each in found.rest.sets]
    number = f"{found.unexplained:,} direction{'s are' if found.unexplained > 1 else ' is'}"
    yield f"{number} not explained by any symmetry that was sought, on any slice that was tried."
    if moved:
        yield f"They move {', '.join(moved)}."
    if sets:
        yield f"Tensors that carry some of them by themselves: {', '.join(sets)}."
    yield f"Tried were: {'; '.join(found.tried)}."
