"""The findings that matter most, by source, each tied to the claims that it rests on."""

from __future__ import annotations

from collections import Counter

from symgauge.claims import Entry, Ledger, Verdict
from symgauge.reporting import markdown as md
from symgauge.sources import Finding
from symgauge.sources import source as source_of

HOLD = (Verdict.HOLDS, Verdict.REPRODUCED)
FAIL = (Verdict.REFUTED, Verdict.INCONSISTENT)


def in_a_minute(ledger: Ledger) -> str:
    """For each source a sentence of counts and its findings; those that this ledger does not bear out are left out."""
    return md.document(*(_source(ledger, source) for source in ledger.sources))


def counts(ledger: Ledger, source: str) -> str:
    """How many claims hold, hold under added conditions, fail, cannot be reproduced, are undecided."""
    verdicts = Counter(entry.verdict for entry in ledger.of_source(source))
    groups = {
        "hold": sum(verdicts[v] for v in HOLD),
        "hold under conditions that have to be added": verdicts[Verdict.HOLDS_IF],
        "fail": sum(verdicts[v] for v in FAIL),
        "cannot be reproduced": verdicts[Verdict.NOT_REPRODUCIBLE],
        "are undecided": verdicts[Verdict.UNDECIDED],
    }
    told = ", ".join(f"{number} {what}" for what, number in groups.items() if number)
    return f"Of {sum(groups.values())} claims {told}."


def _source(ledger: Ledger, source: str) -> str:
    borne_out = [finding for finding in source_of(source).findings if _stands(ledger, finding)]
    bullets = [f"- {md.text(finding.text)} ({_links(finding)})" for finding in borne_out]
    return md.document(f"**[{source}]({source}.md)**: {counts(ledger, source)}", "\n".join(bullets))


def _stands(ledger: Ledger, finding: Finding) -> bool:
    entries = [ledger.entries.get(claim_id) for claim_id in finding.claims]
    return all(entry is not None and _decided(entry) for entry in entries)


def _decided(entry: Entry) -> bool:
    return entry.agrees and entry.verdict is not Verdict.UNDECIDED


def _links(finding: Finding) -> str:
    return ", ".join(f"[{claim_id.partition('/')[2]}]({claim_id}.md)" for claim_id in finding.claims)
