"""The index: the verdicts at a glance, and every claim with a link to its page."""

from __future__ import annotations

from collections.abc import Mapping

from symgauge.claims import Entry, Ledger
from symgauge.reporting import markdown as md
from symgauge.reporting.findings import in_a_minute
from symgauge.reporting.lines import headline, kinds, tally, worst_figure
from symgauge.reporting.source_page import anchor
from symgauge.sources import source as source_of

MEANINGS = [
    ("holds", "every piece of evidence on the statement passes"),
    ("holds-if", "it fails as stated, with a counterexample, and passes under the condition given"),
    ("refuted", "it fails, with a counterexample; where a correction is given, that passes"),
    ("inconsistent", "the source's own numbers or sentences contradict each other"),
    ("reproduced", "the source's number or experiment was obtained again"),
    ("not-reproducible", "it was not obtained again, or its description leaves out what that takes"),
    ("undecided", "the evidence settles nothing, or its negative control shows that it could not"),
]


def index_page(ledger: Ledger, extra: Mapping[str, str]) -> str:
    """Markdown. extra: titles of further pages by file name."""
    header, rows = tally(ledger)
    linked = [[f"[{row[0]}]({row[0]}.md)" if row[0] in ledger.sources else row[0], *row[1:]] for row in rows]
    sources = [f"- [{source}]({source}.md): {md.text(source_of(source).title)}" for source in ledger.sources]
    own = {f"{source}.md" for source in ledger.sources}
    pages = [f"- [{md.text(name)}]({file})" for file, name in sorted(extra.items()) if file not in own]
    return md.document(
        "# Verdicts",
        f"{headline(ledger)}. Sampling profile: {ledger.profile}. Each verdict is computed from evidence; "
        "the checks fail where it is not the one on record.",
        "\n".join([*sources, *pages]),
        "## In a minute",
        in_a_minute(ledger),
        "## At a glance",
        md.table(header, linked, right=range(1, len(header))),
        md.table(["verdict", "means"], MEANINGS),
        "## All claims",
        md.table(["claim", "place", "verdict", "evidence", "worst figure"], claim_rows(ledger)),
    )


def claim_rows(ledger: Ledger) -> list[list[str]]:
    """A row per claim."""
    return [
        [_link(entry), entry.claim.place, _verdict(entry), " ".join(kinds(entry)), worst_figure(entry.evidence)]
        for entry in ledger.entries.values()
    ]


def _link(entry: Entry) -> str:
    return f"[{entry.claim.id}]({entry.claim.source}.md#{anchor(entry)})"


def _verdict(entry: Entry) -> str:
    return str(entry.verdict) if entry.agrees else f"**{entry.verdict}** (on record: {entry.claim.verdict})"
