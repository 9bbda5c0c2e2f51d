"""A run that is stopped keeps what it has decided, and goes on with --resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from symgauge.claims import Claim, Entry, EvidenceLog, Ledger, Verdict
from symgauge.claims.journal import Journal, take_up
from symgauge.errors import InvalidInput

CLAIM = "[[claim]]\nid = '{}'\nplace = 'p'\nstatement = 's'\nverdict = 'holds'\n"
CHECKS = """import os, time
from symgauge.claims import checks

@checks("a")
def test_a(evidence):
    open("runs", "a").write("a")
    evidence.proof("p", True)

@checks("b")
def test_b(evidence):
    open("runs", "a").write("b")
    if not os.path.exists("go"):
        open("pid", "w").write(str(os.getpid()))
        time.sleep(60)
    evidence.proof("p", True)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a source of one's own, whose second check waits."""
    monkeypatch.delenv("SYMGAUGE_PROFILE", raising=False)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "claims.toml").write_text(CLAIM.format("a") + CLAIM.format("b"))
    (tmp_path / "src" / "test_both.py").write_text(CHECKS)
    return tmp_path


def start(place: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "symgauge.cli", "verify", "--from", "src", "--workers", "1", *arguments]
    # Where the tests run in the background of a shell, interrupts are ignored, and would be in what they start.
    heeding = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(
        command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeding
    )


def stop(place: Path, process: subprocess.Popen[str], how: signal.Signals) -> str:
    """Stop a run while it waits in its second check; what it said."""
    deadline = time.monotonic() + 60
    while not (place / "pid").exists() or not (place / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.3)  # what the first check found is on its way
    process.send_signal(how)
    said = process.communicate(timeout=60)[1]
    if how is signal.SIGKILL:
        os.kill(int((place / "pid").read_text()), signal.SIGKILL)
    return said


def test_an_interrupt_ends_the_checks_too(place: Path) -> None:
    process = start(place)
    assert stop(place, process, signal.SIGINT) == "symgauge: interrupted\n"
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int((place / "pid").read_text()), 0)


@pytest.mark.parametrize("target", [("--report", "reports"), ("--json", "l.json")], ids=["report", "json"])
def test_a_stopped_run_goes_on(place: Path, target: tuple[str, str]) -> None:
    said = stop(place, start(place, *target), signal.SIGINT)
    assert said == (
        "symgauge: interrupted: 1 of 2 claims are decided and kept; the same command with --resume goes on\n"
    )
    file = place / (target[1] if target[0] == "--json" else "reports/ledger.json")
    assert not file.exists()
    (place / "go").touch()
    process = start(place, *target, "--resume")
    assert process.wait(60) == 0
    assert sorted(Ledger.load(file).entries) == ["src/a", "src/b"]
    assert (place / "runs").read_text() == "abb"
    assert not list(place.rglob(".*unfinished*"))


def test_a_run_that_was_killed_goes_on_too(place: Path) -> None:
    stop(place, start(place, "--json", "l.json"), signal.SIGKILL)
    (place / "go").touch()
    assert start(place, "--json", "l.json", "--resume").wait(60) == 0
    assert (place / "runs").read_text() == "abb"


def entry(name: str, statement: str = "s", failure: str = "") -> Entry:
    claim = Claim(f"s/{name}", "s", "p", statement, Verdict.HOLDS)
    log = EvidenceLog([claim])
    log.proof("p", True)
    return Entry.of(claim, log.of(claim.id), failure)


def stopped(target: Path, *entries: Entry, profile: str = "ci", seed: int | None = None) -> None:
    journal = Journal(target, profile, seed, entries)
    journal.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)


def test_what_did_not_run_to_its_end_or_reads_otherwise_now_is_checked_again(tmp_path: Path) -> None:
    stopped(tmp_path / "l.json", entry("a"), entry("b", "other words"), entry("c", failure="stopped"), seed=7)
    claims = {f"s/{name}": entry(name).claim for name in "abc"}
    assert take_up(tmp_path / "l.json", "ci", claims) == ({"s/a": entry("a")}, 7)
    with pytest.raises(InvalidInput, match="had the sampling profile 'ci'"):
        take_up(tmp_path / "l.json", "dev", claims)


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    stopped(tmp_path / "l.json", entry("a"), entry("b"))
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text()[:-20])
    assert list(take_up(tmp_path / "l.json", "ci", {"s/a": entry("a").claim, "s/b": entry("b").claim})[0]) == ["s/a"]
    file.write_text("no journal\n")
    with pytest.raises(InvalidInput, match="is no journal"):
        take_up(tmp_path / "l.json", "ci", {})


def test_the_journal_of_a_living_run_is_left_alone(tmp_path: Path) -> None:
    with Journal(tmp_path / "l.json", "ci", None) as journal:
        journal.add(entry("a"))
        with pytest.raises(InvalidInput, match="nothing to resume"):
            take_up(tmp_path / "l.json", "ci", {})
        with Journal(tmp_path / "l.json", "ci", None):
            pass
        assert journal.path.exists()
    assert not list(tmp_path.iterdir())


def test_a_new_run_takes_the_place_of_a_stopped_one(tmp_path: Path) -> None:
    stopped(tmp_path / "l.json", entry("a"))
    with Journal(tmp_path / "l.json", "ci", None, [entry("a"), entry("b")]) as journal:
        assert (journal.decided, len(list(tmp_path.iterdir()))) == (2, 1)
    assert not list(tmp_path.iterdir())
