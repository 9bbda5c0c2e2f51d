"""`symgauge report`: Markdown pages from a ledger that a run has written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symgauge.commands._output import From


def command(
    ledger: Annotated[Path, typer.Argument(help="What symgauge verify --json or pytest --ledger wrote.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the pages; what is in it is added to.")],
    home: From = None,
) -> None:
    """Write the pages of a ledger; --from gives the titles and findings of sources of your own."""
    from symgauge.claims import Ledger
    from symgauge.commands._output import claims_of, folder
    from symgauge.experiments.suite import suites
    from symgauge.extras import require
    from symgauge.reporting.site import write_reports

    place, data = folder(out, "--out"), Ledger.load(ledger)
    if set(data.sources) & set(suites()):
        require("reproduce", "symgauge report, which draws the figures of experiments,")
    if home is not None:
        claims_of(home)
    print(f"wrote {write_reports(data, place)}")
