"""The claims of this source, and what `symgauge discover` found of every specimen, from the record of that run."""

from __future__ import annotations

import json
from typing import Any

from proofs_checks.discovered.measuring import COMMAND, RECORD
from symgauge.claims import Ledger
from symgauge.reporting import markdown as md
from symgauge.reporting.source_page import source_page

TITLE = "Symmetries of modules that nobody described"
SOURCE = "discovered"
_COLUMNS = [
    "specimen",
    "P",
    "nullity",
    "frozen",
    "algebra",
    "inverses",
    "unexplained",
    "discrete order",
    "algebras",
    "CPU s",
]
_INTRODUCTION = """\
Each specimen was given to `symgauge discover` with no description. *Frozen*: entries of vectors held at plain values,
pure gauge each. *Algebra*: dimension of the affine symmetries on that slice, lifted to ℚ and proved at fresh points
modulo two primes; every one-parameter group kept the function in float64 and was seen to change it when one tensor was
left behind. *Inverses*: how many more directions the fields give by which a tensor takes in 1/γ, W⁻¹ or a product of
two tensors, proved and run in the same way. *Unexplained*: directions of the fibre that none of these gives. *Discrete
order*: permutations and signs modulo the connected group."""
_GROUPS = {
    "attention variants": "Attention variants of the literature",
    "reference families": "Reference families, each on a small architecture",
    "transformers models": "Models of transformers, with and without an adapter",
}


def page(ledger: Ledger) -> str:
    """Markdown: the list of claims, then a table for each group of specimens and what was found, folded."""
    lines = recorded()
    text = md.document("## Found without being told", md.text(_INTRODUCTION), _summary(lines))
    for group, title in _GROUPS.items():
        members = [line for line in lines if line["group"] == group]
        if members:
            table = md.table(_COLUMNS, [_row(line) for line in members], right=[1, 2, 3, 4, 5, 6, 7, 9])
            text += md.document(f"### {title}", table, *(_details(line) for line in members))
    return source_page(ledger, SOURCE, "") + "\n" + text


def recorded() -> list[dict[str, Any]]:
    """The lines of the record, in the order in which specimens were measured."""
    return [json.loads(line) for line in RECORD.read_text(encoding="utf-8").splitlines()]


def _summary(lines: list[dict[str, Any]]) -> str:
    decided = [line for line in lines if "undecided" not in line]
    whole = sum(line["unexplained"] == 0 for line in decided)
    dates = sorted({line["date"] for line in lines})
    return (
        f"{len(lines)} specimens: {whole} with nothing unexplained, {len(decided) - whole} with something left, "
        f"{len(lines) - len(decided)} undecided. Measured by {md.code(COMMAND)}, {dates[0]} to {dates[-1]}."
    )


def _row(line: dict[str, Any]) -> list[str]:
    if "undecided" in line:
        return [line["name"], *[""] * 7, md.text(f"undecided: {line['undecided']}"), f"{line['seconds']:g}"]
    algebras = ", ".join(
        (f"{ideal['copies']} × " if ideal["copies"] > 1 else "") + ideal["algebra"] for ideal in line["ideals"]
    )
    return [
        line["name"], f"{line['parameters']:,}", f"{line['nullity']:,}", f"{sum(line['frozen'].values()):,}",
        f"{line['algebra']:,}", f"{line['beyond_affine']:,}", f"{line['unexplained']:,}", f"{line['discrete_order']:,}",
        md.text(algebras), f"{line['seconds']:g}",
    ]  # fmt: skip


def _details(line: dict[str, Any]) -> str:
    if "undecided" in line:
        return ""
    moved = [f"- {ideal['algebra']} ({ideal['dimension']}): {md.code(ideal['action'])}" for ideal in line["ideals"]]
    moved += [f"- discrete: {md.code(factor)}" for factor in line["discrete"] or ()]
    moved += [f"- tried: {md.text(tried)}" for tried in line["tried"]]
    if line["unexplained"]:
        names = ", ".join(md.code(name) for name in line["unexplained_tensors"])
        moved.append(f"- **unexplained**: {line['unexplained']} directions, which move {names}")
    return "\n".join(["<details>", f"<summary>{line['name']}</summary>", "", *moved, "", "</details>"])
