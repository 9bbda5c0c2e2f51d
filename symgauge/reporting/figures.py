"""The numbers behind a piece of evidence, in a few characters."""

from __future__ import annotations

from collections.abc import Iterable

from symgauge.claims import Bounded, Evidence, Figure
from symgauge.experiments.deciding import WHERE

SIGNS = {"<=": "≤", ">=": "≥", "=": "="}
BROKEN = {"<=": ">", ">=": "<", "=": "≠"}
MOST = 4
"""Entries of a list that are shown."""
PROVENANCE = {WHERE, "primes", "seed", "Hypothesis seed", "probes", "parameters", "architectures", "failure bound, sum"}
"""Figures that say where evidence comes from; the ledger has them, tables do not."""


def short(value: object) -> str:
    """A value in a few characters: floats with three digits, integers in full with separators, lists by their start."""
    if isinstance(value, Bounded):
        return " ".join(filter(None, [_measured(value), _relation(value), short(value.bound)]))
    if isinstance(value, list):
        return f"[{', '.join(map(short, value[:MOST]))}{_in_all(value)}]"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def _in_all(values: list[object]) -> str:
    return f", … {len(values)} in all" if len(values) > MOST else ""


def named(name: str, value: Figure) -> str:
    """A figure with its name: "nullity = 16", "error ≤ 1e-12", "change 0.5 ≥ 0.001", "rank: 7"."""
    if isinstance(value, Bounded) and value.relation == "=" and value.bound == [] and not value.ok:
        return f"{', '.join(map(short, value.value[:MOST]))}{_in_all(value.value)}"  # what there should be none of
    return f"{name} {short(value)}" if isinstance(value, Bounded) else f"{name}: {short(value)}"


def figures(record: Evidence) -> str:
    """The figures of a piece of evidence, but for those that only say where it comes from."""
    told = [named(name, value) for name, value in record.figures.items() if name not in PROVENANCE or _fails(value)]
    cases = [] if record.cases is None else [f"cases: {record.cases:,}"]
    return "; ".join([*told, *cases])


def broken(records: Iterable[Evidence]) -> list[str]:
    """The figures that do not respect their bounds."""
    pairs = [pair for record in records for pair in record.figures.items()]
    return [named(name, value) for name, value in pairs if _fails(value)]


def _fails(value: Figure) -> bool:
    return isinstance(value, Bounded) and not value.ok


def _relation(value: Bounded) -> str:
    return (SIGNS if value.ok else BROKEN)[value.relation]


def _measured(value: Bounded) -> str:
    """The value, where the relation and the bound do not say it."""
    if value.ok and (value.relation == "=" or value.is_well_inside):
        return ""
    return short(value.value)
