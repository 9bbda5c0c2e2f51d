"""The page of one claim: what is said, why it has its verdict, and behind folds the evidence against and for it."""

from __future__ import annotations

from collections.abc import Sequence

from symgauge.claims import Bearing, Claim, Entry, Evidence, Kind
from symgauge.experiments.deciding import WHERE
from symgauge.reporting import markdown as md
from symgauge.reporting.figures import figures
from symgauge.reporting.why import Line, in_full, why
from symgauge.reporting.words import BEARINGS, KINDS, VERDICTS
from symgauge.sources import source as source_of

OUTCOMES = {
    Bearing.CONTROL: {True: "break noticed", False: "**break not noticed**", None: "**undecided**"},
    Bearing.REPRODUCTION: {True: "reproduced", False: "not reproduced", None: "**undecided**"},
}
PLAIN_OUTCOMES = {True: "passes", False: "fails", None: "**undecided**"}


def path(entry: Entry) -> str:
    """Where the page lies below the reports' folder."""
    return f"{entry.claim.id}.md"


def outcome(record: Evidence) -> str:
    """What came of a piece of evidence, in a word or two."""
    return OUTCOMES.get(record.bears_on, PLAIN_OUTCOMES)[record.outcome]


def claim_page(entry: Entry) -> str:
    """Markdown for one claim."""
    claim, source = entry.claim, source_of(entry.claim.source)
    return md.document(
        f"# {md.text(claim.place[0].upper() + claim.place[1:])}: {entry.verdict}",
        f"[All sources](../index.md) / [{md.text(source.title)}](../{source.name}.md) / {claim.id}",
        md.quote(claim.statement),
        _origin(claim),
        verdict_line(entry),
        _bullets(why(entry)),
        f"**Remark.** {md.text(claim.remark)}" if claim.remark else "",
        *(f"Rests on a run {md.text(where)}." for where in _records(entry.evidence)),
        f"**No control.** {md.text(claim.no_control)}" if claim.no_control else "",
        _in_full(entry),
        *_groups(entry.evidence),
        f"Checked by {md.code(claim.check)}; primes, seeds, sizes and all figures are in [the ledger](../ledger.json). "
        f"Again:\n\n```sh\n{entry.replay}\n```",
    )


def _bullets(lines: Sequence[Line]) -> str:
    return "\n".join(f"- **{label}:** {md.text(text)}" for label, text in lines)


def _in_full(entry: Entry) -> str:
    """A fold with the lines that had to be cut."""
    cut = [line for line, short in zip(in_full(entry), why(entry), strict=True) if line != short]
    return md.fold("In full", _bullets(cut)) if cut else ""


def _records(evidence: Sequence[Evidence]) -> list[str]:
    """Command, date, machine and checksum of the runs on record that evidence rests on."""
    return list(dict.fromkeys(str(record.figures[WHERE]) for record in evidence if WHERE in record.figures))


def _origin(claim: Claim) -> str:
    """The source's own words and where its text has them, or where else the statement is from."""
    if claim.own:
        return "This statement is ours, not the source's."
    if claim.unseen:
        return f"Taken from {md.text(claim.unseen)}; the text at hand does not have it."
    lines = [*(f", line {line}" for line in claim.lines), *[""] * len(claim.quote)]
    return "  \n".join(f"The source{at}: “{md.verbatim(q)}”" for q, at in zip(claim.quote, lines, strict=False))


def verdict_line(entry: Entry) -> str:
    """The verdict with what the word means, and the record where it differs."""
    if entry.agrees:
        return f"**{entry.verdict}**: {VERDICTS[entry.verdict]}."
    reasons = "\n".join(f"- {md.text(reason)}" for reason in entry.reasons)
    return f"**{entry.verdict}**, which differs from the record ({entry.claim.verdict}):\n\n{reasons}"


def _groups(evidence: Sequence[Evidence]) -> list[str]:
    """Evidence in folds: against, for, and the deliberate breaks that show that it could have failed."""
    controls = [record for record in evidence if record.bears_on is Bearing.CONTROL]
    others = [record for record in evidence if record.bears_on is not Bearing.CONTROL]
    groups = {
        "Undecided": [record for record in others if record.outcome is None],
        "Against": [record for record in others if record.outcome is False],
        "For": [record for record in others if record.outcome is True],
        "Controls": controls,
    }
    return [_fold(title, records) for title, records in groups.items() if records]


def _fold(title: str, records: Sequence[Evidence]) -> str:
    bearings = [bearing for bearing in Bearing if any(record.bears_on is bearing for record in records)]
    kinds = [kind for kind in Kind if any(record.kind is kind for record in records)]
    counts = ", ".join(f"{sum(r.bears_on is b for r in records)} on the {b}" for b in bearings)
    if title == "Controls":
        counts = f"{sum(r.outcome is True for r in records)} of {len(records)} deliberate breaks noticed"
    words = [f"*{kind}*: {KINDS[kind]}" for kind in kinds]
    words += [f"on the *{b}*: {BEARINGS[b]}" for b in bearings if b not in (Bearing.STATEMENT, Bearing.CONTROL)]
    return md.fold(f"{title}: {counts}", _table(title, records), f"{'; '.join(words)}.")


def _table(title: str, records: Sequence[Evidence]) -> str:
    if title == "Controls":
        rows = [[record.kind, _broken(record), outcome(record), figures(record)] for record in records]
        return md.table(["evidence", "what was broken", "outcome", "figures"], rows)
    rows = [[record.kind, record.bears_on, _tried(record), figures(record)] for record in records]
    return md.table(["evidence", "on the", "what was tried", "figures"], rows)


def _broken(record: Evidence) -> str:
    return f"{record.summary}. For: {'; '.join(record.of)}" if record.of else record.summary


def _tried(record: Evidence) -> str:
    return f"{record.summary}. Counterexample: {record.counterexample}" if record.counterexample else record.summary
