"""One line of plain text per claim, for terminals."""

from __future__ import annotations

from collections import Counter

from symgauge.claims import Entry, Ledger, Verdict
from symgauge.reporting.why import reason

WIDTH = 90
NAMED = 5
"""Undecided claims that the headline names."""


def kinds(entry: Entry) -> list[str]:
    """The kinds of evidence on a claim, each once, in the order of the enumeration; controls are not evidence."""
    found = {record.kind for record in entry.evidence if record.bears_on != "control"}
    return [kind for kind in type(next(iter(found))) if kind in found] if found else []


def line(entry: Entry) -> str:
    """Id, verdict, kinds of evidence, why; where the record differs, that and the first reason."""
    parts = [f"{entry.claim.id:<22} {entry.verdict:<16}", f"{' '.join(kinds(entry)) or 'no evidence':<24}"]
    if entry.agrees:
        said = reason(entry)
        return " ".join([*parts, said if len(said) <= WIDTH else said[: WIDTH - 1] + "…"]).rstrip()
    return " ".join([*parts, f"DIFFERS from the record ({entry.claim.verdict}): {'; '.join(entry.reasons[:1])}"])


def headline(ledger: Ledger) -> str:
    """How many claims, how many of each verdict, how many differ from the record, and which are undecided."""
    entries = ledger.entries.values()
    counts = Counter(entry.verdict for entry in entries)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    differing = sum(not entry.agrees for entry in entries)
    tail = f"; {differing} differ from the record" if differing else "; all as on record" if counts else ""
    number = f"{len(entries)} claim{'' if len(entries) == 1 else 's'}"
    return f"{number}: {verdicts or 'none'}{tail}{_undecided(ledger)}"


def _undecided(ledger: Ledger) -> str:
    names = [entry.claim.id for entry in ledger.entries.values() if entry.verdict is Verdict.UNDECIDED]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"; undecided: {', '.join(names[:NAMED])}{more}" if names else ""


def tally(ledger: Ledger) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table: claims per source and verdict, for the verdicts that occur, and a row of sums."""
    verdicts = [verdict for verdict in Verdict if any(entry.verdict is verdict for entry in ledger.entries.values())]
    rows = []
    for source in [*ledger.sources, "all"]:
        entries = list(ledger.entries.values()) if source == "all" else ledger.of_source(source)
        counts = Counter(entry.verdict for entry in entries)
        differing = sum(not entry.agrees for entry in entries)
        rows.append([source, *(str(counts[verdict] or "") for verdict in verdicts), str(len(entries)), str(differing)])
    return ["source", *verdicts, "claims", "differ from the record"], rows


def overview(ledger: Ledger) -> str:
    """The same table in columns of plain text."""
    header, rows = tally(ledger)
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in [header, *rows]:
        first, *rest = (
            text.ljust(width) if n == 0 else text.rjust(width)
            for n, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *rest]))
    return "\n".join(lines)
