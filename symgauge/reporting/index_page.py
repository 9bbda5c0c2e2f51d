"""The index: the main findings, the verdicts at a glance, and every claim with the reason for its verdict."""

from __future__ import annotations

from collections.abc import Mapping

from symgauge.claims import Ledger
from symgauge.reporting import markdown as md
from symgauge.reporting.claim_page import path
from symgauge.reporting.findings import in_a_minute
from symgauge.reporting.lines import headline, tally
from symgauge.reporting.source_page import row
from symgauge.reporting.words import VERDICTS
from symgauge.sources import source as source_of

TITLE = "Verdicts"


def index_page(ledger: Ledger, extra: Mapping[str, str]) -> str:
    """Markdown. extra: titles of further pages by file name."""
    header, rows = tally(ledger)
    linked = [[f"[{row[0]}]({row[0]}.md)" if row[0] in ledger.sources else row[0], *row[1:]] for row in rows]
    sources = [f"- [{source}]({source}.md): {md.text(source_of(source).title)}" for source in ledger.sources]
    own = {f"{source}.md" for source in ledger.sources}
    pages = [f"- [{md.text(name)}]({file})" for file, name in sorted(extra.items()) if file not in own]
    return md.document(
        f"# {TITLE}",
        f"{headline(ledger)}. Sampling profile: {ledger.profile}. Each verdict is computed from evidence; "
        "the checks fail where it is not the one on record.",
        "\n".join([*sources, *pages]),
        "## In a minute",
        in_a_minute(ledger),
        "## At a glance",
        md.table(header, linked, right=range(1, len(header))),
        md.table(["verdict", "means"], list(VERDICTS.items())),
        _without_control(ledger),
        "## All claims",
        *(_claims(ledger, source) for source in ledger.sources),
    )


def _without_control(ledger: Ledger) -> str:
    """How many claims have no control, and why each of them has none."""
    without = [entry for entry in ledger.entries.values() if entry.claim.no_control]
    rows = [f"- [{entry.claim.id}]({path(entry)}): {md.text(entry.claim.no_control)}" for entry in without]
    number = f"{len(without)} of {len(ledger.entries)}"
    return (
        f"Claims that rest on transcriptions alone and have no control: {number}.\n\n" + "\n".join(rows) if rows else ""
    )


def _claims(ledger: Ledger, source: str) -> str:
    rows = [[entry.claim.place, *row(entry)] for entry in ledger.of_source(source)]
    return md.document(f"### {source}", md.table(["place", "claim", "verdict", "why"], rows))
