"""The formula's parts at full size, and what sources claim."""

from __future__ import annotations

from rich.table import Table

from symgauge.full_size import FullSize
from symgauge.printing.tables import table


def shown(full: FullSize) -> Table:
    """A row per family, their sum, and a row per source that offers a count."""
    rows = [[s.name, str(s.formula), f"{s.dimension:,}"] for s in full.shares if s.dimension]
    rows.append(["all", str(full.formula), f"{full.dimension:,}"])
    rows += [[f"claimed by {c.source}", str(c.formula), f"{c.dimension:,}"] for c in full.claimed]
    title = f"{full.architecture.name} at full size, {full.parameters:,} parameters: known symmetries by formula"
    return table(["family", "formula", "dimension"], rows, title)
