"""Why a claim has its verdict, in at most three lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from symgauge.claims import Bearing, Entry, Evidence, Kind, Verdict
from symgauge.claims.log import NOT_STATED
from symgauge.reporting.figures import broken, named

Line = tuple[str, str]
"""What a line is about ("Fails because"), and the rest of it, in Markdown."""

MOST = 3
HOLDS = {
    Kind.PROOF: "Holds because",
    Kind.EXACT: "Holds at every instance computed",
    Kind.PROPERTY: "Holds at every instance drawn",
    Kind.NUMERIC: "Holds at every instance measured",
    Kind.AUDIT: "Holds by the source's own words",
}
SHORTEST = 60
"""Characters before a semicolon that may end a line."""
END_OF_SENTENCE = re.compile(r"(?<=[^.\s]{2}[.;])\s")


def why(entry: Entry) -> list[Line]:
    """The reason for a verdict, first what decides it; texts come from the claim and its evidence."""
    makers = {
        Verdict.REFUTED: _refuted,
        Verdict.HOLDS_IF: _holds_if,
        Verdict.HOLDS: _holds,
        Verdict.INCONSISTENT: _inconsistent,
        Verdict.REPRODUCED: _reproduced,
        Verdict.NOT_REPRODUCIBLE: _not_reproducible,
        Verdict.UNDECIDED: _undecided,
    }
    lines = makers[entry.verdict](entry)
    if not entry.agrees:
        lines = [("On record", f"{entry.claim.verdict}, which this is not"), *lines]
    return [(label, text) for label, text in lines if text][:MOST]


def reason(entry: Entry) -> str:
    """The first of these lines up to the end of its first sentence, for tables and terminals."""
    lines = why(entry)
    return f"{lines[0][0]}: {first_sentence(lines[0][1])}" if lines else ""


def first_sentence(text: str) -> str:
    """Up to the first full stop, or semicolon after some words, that is neither in a formula nor in brackets."""
    for match in END_OF_SENTENCE.finditer(text):
        head = text[: match.start()]
        if len(head) < SHORTEST and not head.endswith("."):
            continue
        if head.count("$") % 2 == 0 and head.count("`") % 2 == 0 and head.count("(") == head.count(")"):
            return head.rstrip(".;")
    return text.rstrip(".")


def _refuted(entry: Entry) -> list[Line]:
    return [("Fails because", _counterexample(entry)), ("True instead", entry.claim.correction)]


def _holds_if(entry: Entry) -> list[Line]:
    under = ("Holds under", entry.claim.condition)
    return [under, ("Fails without it", _counterexample(entry)), ("True instead", entry.claim.correction)]


def _holds(entry: Entry) -> list[Line]:
    found = sorted(_on(entry, Bearing.STATEMENT), key=lambda record: [*Kind].index(record.kind))
    strongest = [record for record in found if record.kind is found[0].kind]
    return [(HOLDS[found[0].kind], "; ".join(_summary(record) for record in strongest[:2]))]


def _inconsistent(entry: Entry) -> list[Line]:
    against = [record for record in _on(entry, Bearing.STATEMENT) if not record.outcome]
    told = [": ".join(filter(None, [record.summary, "; ".join(broken([record]))])) for record in against[:2]]
    examples = [record.counterexample for record in against if record.counterexample]
    return [
        ("Contradicts itself", "; ".join(told)),
        ("For example", examples[0] if examples else ""),
        ("True instead", entry.claim.correction),
    ]


def _reproduced(entry: Entry) -> list[Line]:
    found = _on(entry, Bearing.REPRODUCTION)
    return [("Reported against measured", _measured(found)), ("True instead", entry.claim.correction)]


def _not_reproducible(entry: Entry) -> list[Line]:
    missed = [record for record in _on(entry, Bearing.REPRODUCTION) if not record.outcome]
    silent = [record for record in missed if record.summary.startswith(NOT_STATED)]
    differing = [record for record in missed if record not in silent]
    return [
        ("Reported against measured", _measured(differing)),
        ("Not stated", "; ".join(record.summary.removeprefix(NOT_STATED).strip(": ") for record in silent)),
        ("True instead", entry.claim.correction),
    ]


def _undecided(entry: Entry) -> list[Line]:
    return [("Undecided because", "; ".join(entry.reasons))]


def _on(entry: Entry, bearing: Bearing) -> list[Evidence]:
    return [record for record in entry.evidence if record.bears_on is bearing]


def _counterexample(entry: Entry) -> str:
    """What decided that the statement fails."""
    against = [r for r in _on(entry, Bearing.STATEMENT) if r.outcome is False and r.kind is not Kind.AUDIT]
    return next((record.counterexample for record in against if record.counterexample), "")


def _summary(record: Evidence) -> str:
    return record.summary.removeprefix("for every size: ")


def _measured(records: Sequence[Evidence]) -> str:
    return "; ".join(f"{record.summary}{_numbers(record)}" for record in records[:MOST])


def _numbers(record: Evidence) -> str:
    """In brackets: the figures that break their bounds, else the first few."""
    told: Iterable[str] = broken([record]) or [named(name, value) for name, value in record.figures.items()][:MOST]
    return f" ({', '.join(told)})" if record.figures else ""
