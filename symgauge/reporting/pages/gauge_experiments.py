"""The gauge paper's experiments, from the records in the package."""

from __future__ import annotations

from symgauge.claims import Ledger
from symgauge.reporting.experiments_page import recorded_figures, recorded_page

TITLE = "The gauge paper's experiments, run again"
SOURCE = "gauge"


def page(ledger: Ledger) -> str:
    """Markdown. The ledger has no part in it: experiments are recorded, claims are checked."""
    return recorded_page("gauge")


def figures() -> dict[str, bytes]:
    """PNG by path."""
    return recorded_figures("gauge")
