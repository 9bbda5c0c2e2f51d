"""Reports from a ledger, and the lines printed on terminals."""

from __future__ import annotations

import os
import re

import pytest

from symgauge.claims import Claim, Entry, EvidenceLog, Ledger, Verdict, at_least, at_most, equal
from symgauge.errors import InvalidInput
from symgauge.reporting import site
from symgauge.reporting.lines import headline, line, overview, short, worst_figure
from symgauge.reporting.site import render, write_reports


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


def test_lines(ledger) -> None:
    texts = [line(entry) for entry in ledger.entries.values()]
    assert texts[0].split(maxsplit=4) == ["gauge/thm-1", "refuted", "exact", "numeric", "nullity 16 ≠ 17"]
    assert texts[1].split(maxsplit=3) == ["other/a", "holds", "proof", "sizes [1, 2]"]
    assert texts[2].endswith("DIFFERS from the record (refuted): could not be decided: proved")
    assert texts[3].endswith("DIFFERS from the record (holds): the check was skipped")
    assert headline(ledger) == "4 claims: 1 holds, 1 refuted, 2 undecided; 2 differ from the record"
    assert headline(Ledger()) == "0 claims: none"


def test_the_worst_figure_is_the_one_nearest_its_bound() -> None:
    claim, log = make("s/a", "holds")
    log.exact("x", figures={"n": equal(1, 1), "loose": at_most(1e-15, 1e-9), "tight": at_most(5e-10, 1e-9)})
    assert worst_figure(log.of(claim.id)) == "tight 5e-10 <= 1e-09"
    log.exact("x", False, figures={"broken": equal(1, 2)}, counterexample="c")
    assert worst_figure(log.of(claim.id)) == "broken 1 ≠ 2"
    assert worst_figure(()) == ""


def test_short_values() -> None:
    values = [1234567, 1.23456e-15, True, "x", [1, 2000], at_most(2, 1), at_least(0.5, 1)]
    assert [short(value) for value in values] == [
        "1,234,567",
        "1.23e-15",
        "True",
        "x",
        "[1, 2,000]",
        "2 > 1",
        "0.5 < 1",
    ]


def test_the_overview_counts_by_source_and_verdict(ledger) -> None:
    rows = [row.split() for row in overview(ledger).splitlines()]
    assert rows[0][:4] == ["source", "holds", "refuted", "undecided"]
    assert rows[1:] == [["gauge", "1", "1", "0"], ["other", "1", "2", "3", "2"], ["all", "1", "1", "2", "4", "2"]]


def test_a_source_page_has_everything_about_a_claim(ledger) -> None:
    page = render(ledger)["gauge.md"]
    for text in (
        '<a id="thm-1"></a>\n\n## gauge/thm-1: Theorem 1\n',
        "Verdict: **refuted**, as on record.",
        r"> $`|a| \in \{1\}`$",
        "**Correction.** $b$ instead",
        "**Counterexample.** $d = 1$",
        "**Remark.** a remark",
        r"| exact | statement | fails | a \| b | nullity: 16 ≠ 17; cases: 3 |",
        "| numeric | correction | passes | good | error: 1.23e-15 ≤ 1e-12 |",
        "| numeric | control | break noticed | break | change: 0.5 ≥ 0.001 |",
        "Checked by `c.py::test`",
        "```sh\nsymgauge verify gauge/thm-1\n```",
    ):
        assert text in page


def test_disagreement_is_shown(ledger) -> None:
    pages = render(ledger)
    assert "which differs from the record (refuted):\n\n- could not be decided: proved" in pages["other.md"]
    assert "| **undecided** |" in pages["other.md"]
    assert "[other/b](other.md#b) | Theorem 1 | **undecided** (on record: refuted)" in pages["index.md"]
    assert "2 differ from the record" in pages["index.md"]


def test_the_index_links_every_page_and_claim(ledger) -> None:
    index = render(ledger)["index.md"]
    for text in (
        "[gauge](gauge.md)",
        "[gauge/thm-1](gauge.md#thm-1)",
        "[other/a](other.md#a)",
        "| all | 1 | 1 | 2 | 4 | 2 |",
    ):
        assert text in index


def test_the_same_ledger_gives_the_same_bytes(ledger, tmp_path) -> None:
    again = Ledger.of(list(ledger.entries.values())[::-1], ledger.profile)
    ledger.save(tmp_path / "l.json")
    assert render(ledger) == render(again) == render(Ledger.load(tmp_path / "l.json"))


def test_reports_are_written_whole_or_not_at_all(ledger, tmp_path, monkeypatch) -> None:
    drawn = {"figures/one.png": b"PNG"}
    monkeypatch.setattr(site, "render_figures", lambda ledger: drawn)
    paths = write_reports(ledger, tmp_path / "reports")
    assert sorted({*os.listdir(tmp_path / "reports")} - {"figures"}) == sorted(path.name for path in paths)
    assert (tmp_path / "reports/figures/one.png").read_bytes() == b"PNG"
    assert {"index.md", "gauge.md", "other.md"} <= {path.name for path in paths}

    def broken(ledger: Ledger, source: str) -> str:
        raise InvalidInput("no")

    monkeypatch.setattr(site, "source_page", broken)
    with pytest.raises(InvalidInput):
        write_reports(ledger, tmp_path / "second")
    assert not (tmp_path / "second").exists()


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
