"""Dimensions as polynomials in the sizes that were varied."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from symgauge.discovery.polynomials import Fit
from symgauge.discovery.sizes import Formula
from symgauge.printing.tables import table


def shown(formula: Formula) -> Group:
    """A row for each dimension: its polynomial, and the sizes that were held out and agree."""
    return Group(*_parts(formula))


def _parts(formula: Formula) -> Iterator[RenderableType]:
    fits = named(formula)
    rows = [[name, str(fit), f"{len(fit.held_out)} of {len(formula.sizes)}"] for name, fit in fits]
    title = f"dimensions by {', '.join(formula.names)}, over {len(formula.sizes)} sizes"
    yield table(["", "polynomial", "sizes held out, which agree"], rows, title, text=(0, 1))
    for name, fit in fits:
        if fit.reason:
            yield f"{name}: {fit.reason}"
        if fit.untested:
            yield f"{name}: more values of {', '.join(fit.untested)} would test the degree in it"


def named(formula: Formula) -> list[tuple[str, Fit]]:
    """What is told of a formula, in order; what is zero throughout is left out."""
    whole = [
        ("nullity (fibre dimension)", formula.nullity),
        ("held at plain values", formula.frozen),
        ("unexplained", formula.unexplained),
    ]
    parts = [(f"{kind.algebra} on {', '.join(kind.tensors)}", kind.dimension) for kind in formula.kinds]
    return [(name, fit) for name, fit in [*whole, *parts] if any(fit.values)]
