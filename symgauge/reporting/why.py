"""Why a claim has its verdict, in at most three lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from symgauge.claims import Bearing, Entry, Evidence, Kind, Verdict
from symgauge.claims.log import NOT_STATED
from symgauge.reporting.figures import PROVENANCE, broken, named

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
LONGEST = 240
"""Characters of a line as it is seen; what is longer is cut, and stands in full further down the page."""
END_OF_SENTENCE = re.compile(r"(?<=[^.\s]{2}[.;])\s")
ENDS = (END_OF_SENTENCE, re.compile(r"(?<=[,;:])\s"), re.compile(r"\s"))
"""Where a long line may be cut, the best places first: between sentences, clauses, words."""


def why(entry: Entry) -> list[Line]:
    """The reason for a verdict in a few short lines, first what decides it."""
    return [(label, shortened(text)) for label, text in in_full(entry)]


def in_full(entry: Entry) -> list[Line]:
    """The same lines, uncut; texts come from the claim and its evidence."""
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
        if _is_whole(head):
            return head.rstrip(".;")
    return text.rstrip(".")


def shortened(text: str) -> str:
    """A text of at most LONGEST characters; a longer one is cut outside of formulas, with "…" for the rest."""
    if _width(text) <= LONGEST:
        return text
    for ends in ENDS:
        heads = [text[: match.start()] for match in ends.finditer(text)]
        fitting = [head for head in heads if LONGEST // 3 <= _width(head) <= LONGEST and _is_whole(head)]
        if fitting:
            return f"{fitting[-1].rstrip(',;:')} …"
    return text


def _width(text: str) -> int:
    """About how many characters a reader sees: a command of LaTeX is one, braces and delimiters are none."""
    return len(re.sub(r"[{}$`]", "", re.sub(r"\\[a-zA-Z]+", "x", text)))


def _is_whole(head: str) -> bool:
    return head.count("$") % 2 == 0 and head.count("`") % 2 == 0 and head.count("(") == head.count(")")


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
    told = [": ".join(filter(None, [record.summary, "; ".join(_numbers(record))])) for record in against[:2]]
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
    silent = [record.summary.partition(": ") for record in missed if record.summary.startswith(NOT_STATED)]
    differing = [record for record in missed if not record.summary.startswith(NOT_STATED)]
    return [
        ("Reported against measured", _measured(differing)),
        *((head.capitalize(), "; ".join(what for part, _, what in silent if part == head)) for head in _heads(silent)),
        ("True instead", entry.claim.correction),
    ]


def _heads(silent: Iterable[tuple[str, str, str]]) -> list[str]:
    """ "not stated", "not stated in the abstract", each once."""
    return list(dict.fromkeys(head for head, _, _ in silent))


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
    told = [(record.summary, ", ".join(_numbers(record))) for record in records[:2]]
    return "; ".join(f"{summary} ({numbers})" if numbers else summary for summary, numbers in told)


def _numbers(record: Evidence) -> list[str]:
    """The figures that break their bounds, else the first: few if they are long, none that the summary has."""
    others = {name: value for name, value in record.figures.items() if name not in PROVENANCE}
    if any(isinstance(value, str) and value in record.summary for value in others.values()):
        return [f"{len(others)} in all"] if len(others) > 1 else []
    told = broken([record]) or [named(name, value) for name, value in others.items()]
    shown = told[:MOST] if _width("; ".join(told[:MOST])) <= LONGEST // 2 else told[:1]
    return [*shown, *([f"… {len(told)} in all"] if len(told) > len(shown) else [])]
