"""Reports from a ledger, and the lines printed on terminals."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest

from symgauge.claims import Claim, Entry, EvidenceLog, Ledger, Verdict, at_least, at_most, equal
from symgauge.reporting.figures import figures, short
from symgauge.reporting.lines import headline, line, overview
from symgauge.reporting.site import render


def make(name: str, record: str, **texts: str) -> tuple[Claim, EvidenceLog]:
    claim = Claim(name, name.split("/")[0], "Theorem 1", r"$|a| \in \{1\}$", Verdict(record), **texts)
    return claim, EvidenceLog([claim])


@pytest.fixture
def ledger() -> Ledger:
    """One claim refuted with a correction, one that holds, one that differs, one whose check stopped."""
    refuted, first = make("gauge/thm-1", "refuted", correction="$b$ instead", remark="a remark", check="c.py::test")
    first.exact("a | b", False, counterexample="$d = 1$", figures={"nullity": equal(16, 17)}, cases=3)
    first.numeric("good", on="correction", figures={"error": at_most(1.23456e-15, 1e-12)})
    first.control("break", figures={"change": at_least(0.5, 1e-3)})
    holds, second = make("other/a", "holds")
    second.proof("proved", True, figures={"sizes": [1, 2]})
    differs, third = make("other/b", "refuted")
    third.proof("proved", None)
    stopped, _ = make("other/c", "holds")
    entries = [
        Entry.of(claim, log.of(claim.id)) for claim, log in ((refuted, first), (holds, second), (differs, third))
    ]
    return Ledger.of([*entries, Entry.of(stopped, (), "the check was skipped")], "ci")


def test_a_control_says_whose_it_is() -> None:
    claim, log = make("other/a", "holds")
    record = log.numeric("one error", True)
    log.exact("a rank", True)
    log.control("a break", True, of=record)
    page = render(Ledger.of([Entry.of(claim, log.of(claim.id))], "ci"))["other/a.md"]
    assert "a break. For: one error" in page


def test_claims_without_a_control_are_counted_and_say_why() -> None:
    claim, log = make("other/a", "inconsistent", no_control="Two numbers are read off.")
    log.audit("2 in one place, 3 in another", False)
    pages = render(Ledger.of([Entry.of(claim, log.of(claim.id))], "ci"))
    assert "have no control: 1 of 1.\n\n- [other/a](other/a.md): Two numbers are read off." in pages["index.md"]
    assert "**No control.** Two numbers are read off." in pages["other/a.md"]


def test_lines(ledger) -> None:
    texts = [line(entry) for entry in ledger.entries.values()]
    assert texts[0].split(maxsplit=4) == ["gauge/thm-1", "refuted", "exact", "numeric", "Fails because: $d = 1$"]
    assert texts[1].split(maxsplit=3) == ["other/a", "holds", "proof", "Holds because: proved"]
    assert texts[2].endswith("DIFFERS from the record (refuted): could not be decided: proved")
    assert texts[3].endswith("DIFFERS from the record (holds): the check was skipped")
    told = "4 claims: 1 holds, 1 refuted, 2 undecided; 2 differ from the record; undecided: other/b, other/c"
    assert headline(ledger) == told
    assert headline(Ledger()) == "0 claims: none"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1234567, "1,234,567"),
        (1.23456e-15, "1.23e-15"),
        (True, "True"),
        ("x", "x"),
        ([1, 2000], "[1, 2,000]"),
        ([1, 2, 3, 4, 5], "[1, 2, 3, 4, … 5 in all]"),
        (at_most(2, 1), "2 > 1"),
        (at_least(0.5, 1), "0.5 < 1"),
        (at_least(0.5, 1e-3), "0.5 ≥ 0.001"),
        (equal(3, 3), "= 3"),
        (equal(3, 4), "3 ≠ 4"),
        (at_most(0.123456, 1), "0.123 ≤ 1"),
        (at_most(3.7e-14, 1e-12), "≤ 1e-12"),
        (at_most(0, 100), "0 ≤ 100"),
    ],
    ids=str,
)
def test_short_values(value, said) -> None:
    """What rounding decides is told by its bound; what breaks its bound is told in full."""
    assert short(value) == said


def test_where_evidence_comes_from_is_left_to_the_ledger() -> None:
    claim, log = make("s/a", "holds")
    log.exact("x", figures={"primes": [7], "seed": 0, "n": equal(1, 1), "size": 5}, cases=1200)
    log.exact("x", False, figures={"seed": at_most(2, 1)})
    first, second = log.of(claim.id)
    assert figures(first) == "n = 1; size: 5; cases: 1,200"
    assert figures(second) == "seed 2 > 1"


def test_the_overview_counts_by_source_and_verdict(ledger) -> None:
    rows = [row.split() for row in overview(ledger).splitlines()]
    assert rows[0][:4] == ["source", "holds", "refuted", "undecided"]
    assert rows[1:] == [["gauge", "1", "1", "0"], ["other", "1", "2", "3", "2"], ["all", "1", "1", "2", "4", "2"]]


def test_a_claim_has_a_page_that_says_why_first(ledger) -> None:
    page = render(ledger)["gauge/thm-1.md"]
    told = [
        "# Theorem 1: refuted\n",
        "[All sources](../index.md) / [Maximal Gauge Symmetry in Transformer Architectures](../gauge.md) / gauge/thm-1",
        r"> $`|a| \in \{1\}`$",
        "**refuted**: it fails, with a counterexample",
        "- **Fails because:** $d = 1$\n- **True instead:** $b$ instead",
        "**Remark.** a remark",
        "<details><summary>Against: 1 on the statement</summary>\n\n| evidence |",
        r"| exact | statement | a \| b. Counterexample: $d = 1$ | nullity 16 ≠ 17; cases: 3 |",
        "*exact*: computed without rounding",
        "<details><summary>For: 1 on the correction</summary>",
        "| numeric | correction | good | error ≤ 1e-12 |",
        "on the *correction*: what is true instead.",
        "<details><summary>Controls: 1 of 1 deliberate breaks noticed</summary>",
        "| numeric | break | break noticed | change 0.5 ≥ 0.001 |",
        "Checked by `c.py::test`",
        "```sh\nsymgauge verify gauge/thm-1\n```",
    ]
    places = [page.find(text) for text in told]
    assert -1 not in places
    assert places == sorted(places)


def test_disagreement_is_shown(ledger) -> None:
    pages = render(ledger)
    assert "which differs from the record (refuted):\n\n- could not be decided: proved" in pages["other/b.md"]
    assert "<details><summary>Undecided: 1 on the statement</summary>" in pages["other/b.md"]
    assert "| Theorem 1 | [b](other/b.md) | **undecided** (on record: refuted) |" in pages["other.md"]
    assert "| Theorem 1 | [b](other/b.md) | **undecided** (on record: refuted) |" in pages["index.md"]
    assert "2 differ from the record" in pages["index.md"]


def test_the_index_links_every_page_and_claim(ledger) -> None:
    pages = render(ledger)
    for text in (
        "[gauge](gauge.md)",
        "| Theorem 1 | [thm-1](gauge/thm-1.md) | refuted | Fails because: $d = 1$ |",
        "[a](other/a.md)",
        "| all | 1 | 1 | 2 | 4 | 2 |",
    ):
        assert text in pages["index.md"]
    for file, text in pages.items():
        for link in re.findall(r"\]\(([^)#]+\.md)\)", text):
            assert os.path.normpath(os.path.join(os.path.dirname(file), link)) in pages


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        ({"quote": ("all $x_i$ are *small*",), "lines": (12,)}, r"The source, line 12: “all \$x\_i\$ are \*small\*”"),
        ({"quote": ("one", "two")}, "The source: “one”  \nThe source: “two”"),
        ({"unseen": "the talk"}, "Taken from the talk; the text at hand does not have it."),
        ({"own": True}, "This statement is ours, not the source's."),
    ],
)
def test_the_page_says_where_a_statement_is_from(origin, said) -> None:
    claim, _ = make("s/a", "holds", **origin)
    assert f"\n\n{said}\n\n" in render(Ledger.of([Entry.of(claim, ())]))["s/a.md"]


def test_claims_stand_in_the_order_of_their_source() -> None:
    claims = [replace(make(f"s/{name}", "holds")[0], order=order) for order, name in enumerate(("z", "a-10", "a-9"))]
    page = render(Ledger.of(Entry.of(claim, ()) for claim in claims[::-1]))["s.md"]
    assert re.findall(r"\[([^]]+)\]\(s/", page) == ["z", "a-10", "a-9"]


def test_the_same_ledger_gives_the_same_bytes(ledger, tmp_path) -> None:
    again = Ledger.of(list(ledger.entries.values())[::-1], ledger.profile)
    ledger.save(tmp_path / "l.json")
    assert render(ledger) == render(again) == render(Ledger.load(tmp_path / "l.json"))


def test_pages_of_experiments_go_with_their_source_and_link_their_figures(ledger) -> None:
    texts = render(ledger)
    assert "gauge-experiments.md" in texts
    assert "manifolds-experiments.md" not in texts
    from symgauge.experiments.record import recorded

    linked = set(re.findall(r"\]\((figures/[^)]+)\)", texts["gauge-experiments.md"]))
    records = recorded("gauge")
    assert {"small", "paper"} <= set(records)
    made = {
        f"figures/gauge-{scale}-{figure.name}.png"
        for scale, record in records.items()
        for run in record.runs.values()
        for figure in run.result.figures
    }
    assert linked == made
