"""Writing reports: whole or not at all, and never shorter than what is there."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from symgauge.atomic import locked
from symgauge.claims import Claim, Entry, EvidenceLog, Ledger, Verdict
from symgauge.errors import InvalidInput
from symgauge.reporting import site
from symgauge.reporting.site import check_reports, write_reports


def ledger(*names: str, summary: str = "proved", profile: str = "ci") -> Ledger:
    entries = []
    for name in names:
        claim = Claim(name, name.split("/")[0], "Theorem 1", "A statement.", Verdict.HOLDS)
        log = EvidenceLog([claim])
        log.proof(summary, True)
        entries.append(Entry.of(claim, log.of(claim.id)))
    return Ledger.of(entries, profile)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(autouse=True)
def few_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "render_figures", lambda ledger: {"figures/one.png": b"PNG"})


def test_a_run_on_one_claim_keeps_the_pages_of_the_others(tmp_path: Path) -> None:
    write_reports(ledger("s/a", "s/b", "t/c"), tmp_path)
    before = contents(tmp_path)
    write_reports(ledger("s/a"), tmp_path)
    assert contents(tmp_path) == before
    write_reports(ledger("s/b", summary="proved again"), tmp_path)
    after = contents(tmp_path)
    assert b"proved again" in after["s/b.md"]
    changed = {file for file in before if before[file] != after[file]}
    assert changed == {"s/b.md", "s.md", "index.md", "ledger.json"}
    assert set(Ledger.load(tmp_path / "ledger.json").entries) == {"s/a", "s/b", "t/c"}


def test_a_claim_that_is_gone_leaves_its_pages(tmp_path: Path) -> None:
    write_reports(ledger("s/a", "s/b", "t/c"), tmp_path)
    write_reports(ledger("s/a"), tmp_path, known=["s/a"])
    assert set(Ledger.load(tmp_path / "ledger.json").entries) == {"s/a", "t/c"}
    assert not (tmp_path / "s" / "b.md").exists()


def test_nothing_is_written_where_a_page_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_reports(ledger("s/a"), tmp_path)
    before = contents(tmp_path)

    def broken(*arguments: object) -> str:
        raise InvalidInput("no")

    monkeypatch.setattr(site, "source_page", broken)
    with pytest.raises(InvalidInput):
        write_reports(ledger("s/b"), tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"index.md": "# Verdicts\n\nolder"}, "has reports and no ledger.json to add to"),
        ({"index.md": "# My own notes\n"}, "has an index.md that symgauge did not write"),
        ({"ledger.json": "{"}, "is not JSON"),
        ({"ledger.json": ledger("s/a", profile="thorough").to_text()}, "of the sampling profile 'thorough'"),
    ],
    ids=["pages without a ledger", "pages of someone else", "a damaged ledger", "another profile"],
)
def test_what_would_be_lost_is_refused_before_any_work(tmp_path: Path, files: dict[str, str], said: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    before = contents(tmp_path)
    for act in (check_reports, write_reports):
        with pytest.raises(InvalidInput, match=said):
            act(ledger("s/b"), tmp_path, ["s/a", "s/b"])
    assert contents(tmp_path) == before


def test_a_run_on_all_claims_may_replace_reports_without_a_ledger_or_of_another_profile(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# Verdicts\n\nolder")
    write_reports(ledger("s/a", "s/b"), tmp_path, ["s/a", "s/b"])
    write_reports(ledger("s/a", "s/b", profile="thorough"), tmp_path, ["s/a", "s/b"])
    assert Ledger.load(tmp_path / "ledger.json").profile == "thorough"


def _write(folder: Path, name: str, start: object) -> None:
    site.render_figures = lambda ledger: {}  # type: ignore[assignment]
    start.wait()  # type: ignore[attr-defined]
    write_reports(ledger(name), folder)


def test_runs_into_one_folder_at_a_time_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    start = context.Barrier(4)
    runs = [context.Process(target=_write, args=(tmp_path, f"s/{name}", start)) for name in "abcd"]
    for run in runs:
        run.start()
    for run in runs:
        run.join(60)
    assert set(Ledger.load(tmp_path / "ledger.json").entries) == {"s/a", "s/b", "s/c", "s/d"}
    assert {"a.md", "b.md", "c.md", "d.md"} <= {path.name for path in (tmp_path / "s").iterdir()}


def test_a_lock_is_held_until_it_is_let_go(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    with locked(tmp_path):
        other = context.Process(target=_hold, args=(tmp_path,))
        other.start()
        other.join(0.3)
        assert other.is_alive()
    other.join(60)
    assert other.exitcode == 0


def _hold(folder: Path) -> None:
    with locked(folder):
        pass
