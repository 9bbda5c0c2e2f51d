"""How many of the recorded trials of Table 3 answer everything, at the source's size and number of trials."""

from __future__ import annotations

from functools import cache

from symgauge.experiments.deciding import WHERE, provenance
from symgauge.experiments.record import Run, recorded

HELD = "Mask enforced while retraining"
HELD_WITHOUT_RESIDUAL = "No residual stream, mask enforced"


@cache
def run() -> Run:
    return recorded("idealized")["paper"].runs["table-3"]


def where() -> dict[str, str]:
    """The figure that says where these numbers are from, for the evidence that rests on them."""
    return {WHERE: provenance("paper", run())}


def trials_right(column: str, kept: int, title: str = HELD) -> int:
    """Trials of a task with all answers right after retraining with ``kept`` weights, the others held at zero: the
    number before the stroke in “0.5 (1/5 at 1)”."""
    table = run().result.table(title)
    place = list(table.columns).index(f"{column}: retrained")
    (cell,) = (row[place] for row in table.rows if row[1] == kept)
    return int(str(cell).split("(")[1].split("/")[0])
