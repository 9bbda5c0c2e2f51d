"""The page of one source: its claims in its own order, each with its verdict and the reason for it."""

from __future__ import annotations

from symgauge.claims import Entry, Ledger
from symgauge.reporting import markdown as md
from symgauge.reporting.claim_page import path
from symgauge.reporting.findings import counts
from symgauge.reporting.why import reason
from symgauge.reporting.words import VERDICTS
from symgauge.sources import source as source_of


def source_page(ledger: Ledger, source: str, experiments: str = "") -> str:
    """Markdown for all claims of ``source``; experiments: the file of the page on them, if there is one."""
    entries = ledger.of_source(source)
    found = {entry.verdict for entry in entries}
    words = [[verdict, meaning] for verdict, meaning in VERDICTS.items() if verdict in found]
    return md.document(
        f"# {md.text(source_of(source).title)}",
        "[All sources](index.md)" + (f" / [Its experiments, run again]({experiments})" if experiments else ""),
        f"{counts(ledger, source)} They stand in the source's order; each has a page with its evidence.",
        md.table(["verdict", "means"], words),
        md.table(["place", "claim", "verdict", "why"], [[entry.claim.place, *row(entry)] for entry in entries]),
    )


def row(entry: Entry) -> list[str]:
    """A claim in a table: its name with a link, its verdict, and why."""
    verdict = str(entry.verdict) if entry.agrees else f"**{entry.verdict}** (on record: {entry.claim.verdict})"
    return [f"[{entry.claim.name}]({path(entry)})", verdict, reason(entry)]
