"""The page of one source: each claim with statement, verdict, counterexample, correction, evidence, replay command."""

from __future__ import annotations

from symgauge.claims import Bearing, Entry, Evidence, Ledger
from symgauge.reporting import markdown as md
from symgauge.reporting.lines import short
from symgauge.sources import source as source_of

OUTCOMES = {
    Bearing.CONTROL: {True: "break noticed", False: "**break not noticed**"},
    Bearing.REPRODUCTION: {True: "reproduced", False: "not reproduced"},
}
PLAIN_OUTCOMES = {True: "passes", False: "fails"}


def source_page(ledger: Ledger, source: str) -> str:
    """Markdown for all claims of `source` in `ledger`."""
    entries = ledger.of_source(source)
    return md.document(
        f"# {md.text(source_of(source).title)}",
        f"{len(entries)} claims. [All sources](index.md)",
        *(_section(entry) for entry in entries),
    )


def anchor(entry: Entry) -> str:
    """Where a claim is on its source's page."""
    return entry.claim.id.split("/", 1)[1]


def _section(entry: Entry) -> str:
    claim = entry.claim
    return md.document(
        f'<a id="{anchor(entry)}"></a>',
        f"## {claim.id}: {md.text(claim.place)}",
        _verdict(entry),
        md.quote(claim.statement),
        f"**Condition.** {md.text(claim.condition)}" if claim.condition else "",
        f"**Correction.** {md.text(claim.correction)}" if claim.correction else "",
        *_counterexamples(entry.evidence),
        f"**Remark.** {md.text(claim.remark)}" if claim.remark else "",
        _evidence(entry.evidence),
        f"Checked by {md.code(claim.check)}. Again:\n\n```sh\n{claim.replay}\n```",
    )


def _verdict(entry: Entry) -> str:
    if entry.agrees:
        return f"Verdict: **{entry.verdict}**, as on record."
    reasons = "\n".join(f"- {md.text(reason)}" for reason in entry.reasons)
    return f"Verdict: **{entry.verdict}**, which differs from the record ({entry.claim.verdict}):\n\n{reasons}"


def _counterexamples(evidence: tuple[Evidence, ...]) -> list[str]:
    return [f"**Counterexample.** {md.text(record.counterexample)}" for record in evidence if record.counterexample]


def _evidence(evidence: tuple[Evidence, ...]) -> str:
    rows = [[record.kind, record.bears_on, _outcome(record), record.summary, _figures(record)] for record in evidence]
    return md.table(["evidence", "on the", "outcome", "what was tried", "figures"], rows) if rows else ""


def _outcome(record: Evidence) -> str:
    if record.outcome is None:
        return "**undecided**"
    return OUTCOMES.get(record.bears_on, PLAIN_OUTCOMES)[record.outcome]


def _figures(record: Evidence) -> str:
    figures = [f"{name}: {_value(value)}" for name, value in record.figures.items()]
    cases = [] if record.cases is None else [f"cases: {record.cases}"]
    return "; ".join([*figures, *cases])


def _value(value: object) -> str:
    return short(value).replace("<=", "≤").replace(">=", "≥")
