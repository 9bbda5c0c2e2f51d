"""One line of plain text per claim, for terminals."""

from __future__ import annotations

from collections import Counter

from symgauge.claims import Bounded, Entry, Evidence, Ledger, Verdict

WIDTH = 60


def short(value: object) -> str:
    """A figure's value in a few characters: floats with three digits, integers in full with separators."""
    if isinstance(value, Bounded):
        relation = value.relation if value.ok else {"<=": ">", ">=": "<", "=": "≠"}[value.relation]
        return f"{short(value.value)} {relation} {short(value.bound)}"
    if isinstance(value, list):
        return f"[{', '.join(map(short, value))}]"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def worst_figure(evidence: tuple[Evidence, ...]) -> str:
    """The bounded figure that broke its bound or came closest to; without bounded ones, the first figure there is.

    Inequalities come before equalities that hold, which have no distance to tell.
    """
    figures = [(name, value) for record in evidence for name, value in record.figures.items()]
    bounded = [(name, value) for name, value in figures if isinstance(value, Bounded)]
    telling = [(name, value) for name, value in bounded if value.relation != "=" or not value.ok]
    if bounded:
        name, value = max(telling or bounded, key=lambda pair: (not pair[1].ok, pair[1].strain))
        return f"{name} {short(value)}"
    return f"{figures[0][0]} {short(figures[0][1])}" if figures else ""


def kinds(entry: Entry) -> list[str]:
    """The kinds of evidence on a claim, each once, in the order of the enumeration; controls are not evidence."""
    found = {record.kind for record in entry.evidence if record.bears_on != "control"}
    return [kind for kind in type(next(iter(found))) if kind in found] if found else []


def line(entry: Entry) -> str:
    """Id, verdict, kinds of evidence, worst figure; where the record differs, that and the first reason."""
    parts = [f"{entry.claim.id:<22} {entry.verdict:<16}", f"{' '.join(kinds(entry)) or 'no evidence':<24}"]
    if entry.agrees:
        figure = worst_figure(entry.evidence)
        return " ".join([*parts, figure if len(figure) <= WIDTH else figure[: WIDTH - 1] + "…"]).rstrip()
    return " ".join([*parts, f"DIFFERS from the record ({entry.claim.verdict}): {'; '.join(entry.reasons[:1])}"])


def headline(ledger: Ledger) -> str:
    """How many claims, how many of each verdict, how many differ from the record."""
    entries = ledger.entries.values()
    counts = Counter(entry.verdict for entry in entries)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    differing = sum(not entry.agrees for entry in entries)
    tail = f"; {differing} differ from the record" if differing else "; all as on record" if counts else ""
    return f"{len(ledger.entries)} claims: {verdicts or 'none'}{tail}"


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
