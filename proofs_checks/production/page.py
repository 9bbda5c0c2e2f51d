"""The true dimensions of production models, from the claims of the source "production" in a ledger."""

from __future__ import annotations

from collections.abc import Sequence

from symgauge.claims import Bearing, Bounded, Entry, Evidence, Ledger
from symgauge.reporting import markdown as md
from symgauge.reporting.claim_page import outcome
from symgauge.reporting.figures import short

TITLE = "True dimensions of production models"
SOURCE = "production"
PAPER = "the paper's count"
COLUMNS = ("sizes", "parameters", "rank", "nullity", "unexplained", "probes", "failure bound")
_INTRODUCTION = """\
How many directions in parameter space leave every logit of a model unchanged, at a generic point. The paper's count is
that of Corollary 3.7, $h(d_k^2 + d_v^2)$ per layer, and of Corollary 3.4 where heads share keys and values ($g$ for
$h$) or turn with RoPE ($d_k$ for $d_k^2$). The formula is a polynomial in the sizes of the architecture, the sum
over all known symmetry families, each counting what those above it do not give.

That nothing else is free is measured, in exact arithmetic, on small instances of the same architecture: our reference
module, and the unmodified class of `transformers`. On each of them the formula equals parameters minus rank, and the
generators of the families span the whole kernel. The numbers at full size are the formula's.

Two models have more: their first layers see too few tokens for what they hold, so that linear equations, one or more
per token, leave unknowns free. These directions (`first-layer ...`) are counted and have no generators; a small
instance with as few tokens has exactly as many, which stand there as unexplained."""


def page(ledger: Ledger) -> str:
    """Markdown; a model is on the page if its claim is in the ledger."""
    entries = sorted(ledger.of_source(SOURCE), key=lambda entry: _number(entry, "parameters"))
    return md.document(
        f"# {TITLE}",
        "[All sources](index.md)",
        md.text(_INTRODUCTION),
        "## At a glance",
        md.table(
            ["model", "parameters", "paper's count", "formula", "of the parameters", "formula / paper", "verdict"],
            [_glance(entry) for entry in entries],
            right=range(1, 6),
        ),
        *(_section(group) for group in _groups(entries)),
    )


def _groups(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Models of one architecture share a check, and so their evidence on small instances."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.claim.check, []).append(entry)
    return list(found.values())


def _full_size(entry: Entry) -> dict[str, object]:
    """The figures at full size; empty if the check did not come that far."""
    return next((dict(record.figures) for record in entry.evidence if PAPER in record.figures), {})


def _plain(value: object) -> object:
    return value.value if isinstance(value, Bounded) else value


def _number(entry: Entry, name: str) -> int:
    value = _plain(_full_size(entry).get(name))
    return value if isinstance(value, int) else 0


def _model(entry: Entry) -> str:
    return entry.claim.place.split(":")[0]


def _glance(entry: Entry) -> list[str]:
    parameters, paper, ours = (_number(entry, name) for name in ("parameters", PAPER, "dimension"))
    link, verdict = f"[{_model(entry)}](#{entry.claim.name})", _verdict(entry)
    if not parameters or not paper:
        return [link, "", "", "", "", "", verdict]
    return [
        link, f"{parameters:,}", f"{paper:,}", f"{ours:,}", f"{100 * ours / parameters:.3f} %", f"{ours / paper:.2f}",
        verdict,
    ]  # fmt: skip


def _verdict(entry: Entry) -> str:
    if entry.agrees:
        return str(entry.verdict)
    return f"**{entry.verdict}** (on record: {entry.claim.verdict})"


def _section(group: Sequence[Entry]) -> str:
    first = group[0]
    formula = _full_size(first).get("formula", "")
    return md.document(
        "\n".join(f'<a id="{entry.claim.name}"></a>' for entry in group),
        f"## {', '.join(_model(entry) for entry in group)}",
        md.text(first.claim.place.split(": ", 1)[-1] + "."),
        "\n".join(f"- {md.text(entry.claim.statement)} Verdict: {_verdict(entry)}." for entry in group),
        f"Formula: {md.text(str(formula))}" if formula else "",
        _families(group),
        _instances(first),
        *(f"{reason}" for entry in group if not entry.agrees for reason in _reasons(entry)),
        md.text(first.claim.remark),
        f"Checked by {md.code(first.claim.check)}. Again:\n\n```sh\n{first.replay}\n```",
    )


def _families(group: Sequence[Entry]) -> str:
    """A row per family, a column per model."""
    names = [name for name in _full_size(group[0]) if name.startswith("`")]
    if not names:
        return ""
    rows = [[name, *(f"{_number(entry, name):,}" for entry in group)] for name in names]
    rows.append(["all", *(f"{_number(entry, 'dimension'):,}" for entry in group)])
    rows.append([PAPER, *(f"{_number(entry, PAPER):,}" for entry in group)])
    header = ["family", *(_model(entry) for entry in group)]
    return md.table(header, rows, right=range(1, len(header)))


def _instances(entry: Entry) -> str:
    """What was measured on small models, the controls, and with which primes and seed."""
    measured = [record for record in entry.evidence if "nullity" in record.figures]
    controls = [record for record in entry.evidence if record.bears_on is Bearing.CONTROL]
    if not measured:
        return ""
    same = [
        name for name in ("primes", "seed") if len({_exactly(record.figures.get(name)) for record in measured}) == 1
    ]
    how = ", ".join(f"{name} {_exactly(measured[0].figures.get(name))}" for name in same)
    return md.document(
        md.table(
            ["small instance", *COLUMNS, "outcome"],
            [[record.summary, *(_figure(record, name) for name in COLUMNS), outcome(record)] for record in measured],
            right=range(2, len(COLUMNS) + 1),
        ),
        f"All with {how}." if how else "",
        "\n".join(f"- {md.text(r.summary)}: {outcome(r)} (unexplained: {_figure(r, 'unexplained')})" for r in controls),
    )


def _exactly(value: object) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value)


def _figure(record: Evidence, name: str) -> str:
    """A figure; of an equality that holds one side is enough."""
    value = record.figures.get(name, "")
    holds = isinstance(value, Bounded) and value.relation == "=" and value.ok
    return short(_plain(value) if holds else value)


def _reasons(entry: Entry) -> list[str]:
    return [f"- **{_model(entry)}**: {md.text(reason)}" for reason in entry.reasons]
