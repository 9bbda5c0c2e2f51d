"""The command line, run as a user runs it, on small packages of checks."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from symgauge.claims import Claim, Entry, Ledger, Verdict
from symgauge.claims.catalogue import catalogue, checks_folder
from symgauge.commands._progress import progress
from symgauge.errors import InvalidInput
from symgauge.verification import ChecksDidNotRun, run_checks

CLAIM = """
[[claim]]
id = '{name}'
place = 'Theorem 1'
statement = 's'
verdict = '{verdict}'
"""
CHECK = """
@checks("{name}")
def test_{name}(evidence):
    {body}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder that holds the user's checks, found before the installed ones."""
    source = tmp_path / "proofs_checks" / "src"
    source.mkdir(parents=True)
    for folder in (source.parent, source):
        (folder / "__init__.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")])))
    monkeypatch.delenv("SYMGAUGE_PROFILE", raising=False)
    return tmp_path


def checks(place, file: str = "test_theme", **bodies: str) -> None:
    """Write claims and a file of checks: name -> body, with the verdict on record after a bar ("body|refuted")."""
    texts = ["import os, time\nfrom symgauge.claims import checks\n"]
    source = place / "proofs_checks" / "src"
    with (source / "claims.toml").open("a") as claims:
        for name, body in bodies.items():
            body, _, verdict = body.partition("|")
            claims.write(CLAIM.format(name=name, verdict=verdict or "holds"))
            texts.append(CHECK.format(name=name, body=body))
    (source / f"{file}.py").write_text("".join(texts))


def symgauge(place, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "symgauge.cli", *arguments]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=120)


GOOD = 'evidence.proof("p", True)'


def test_verify_writes_ledger_and_reports_and_succeeds(place) -> None:
    checks(place, one=GOOD, two='evidence.audit("a", False); evidence.control("b", True)|inconsistent')
    done = symgauge(place, "verify", "--json", "l.json", "--report", "reports", "--workers", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "src/one                holds            proof" in done.stdout
    assert "2 claims: 1 holds, 1 inconsistent; all as on record" in done.stdout
    assert sorted(Ledger.load(place / "l.json").entries) == ["src/one", "src/two"]
    assert {"index.md", "src.md"} <= set(os.listdir(place / "reports"))
    assert set(os.listdir(place)) == {"proofs_checks", "l.json", "reports"}


def test_verifying_one_claim_keeps_the_pages_of_the_others(place) -> None:
    checks(place, one=GOOD, two=GOOD)
    assert symgauge(place, "verify", "--report", "reports").returncode == 0
    before = {path: path.read_bytes() for path in (place / "reports").rglob("*") if path.is_file()}
    assert symgauge(place, "verify", "src/one", "--report", "reports").returncode == 0
    assert {path: path.read_bytes() for path in (place / "reports").rglob("*") if path.is_file()} == before


def test_the_number_of_workers_does_not_change_a_byte(place) -> None:
    checks(place, one=GOOD, two=GOOD, three=GOOD)
    outputs = []
    for workers in ("1", "2"):
        done = symgauge(place, "verify", "--json", f"{workers}.json", "--report", workers, "--workers", workers)
        assert done.returncode == 0, done.stdout + done.stderr
        pages = {path.name: path.read_bytes() for path in (place / workers).rglob("*") if path.is_file()}
        outputs.append((pages, (place / f"{workers}.json").read_bytes()))
    assert outputs[0] == outputs[1]


def test_verify_fails_where_a_verdict_differs(place) -> None:
    checks(place, one=GOOD, two=GOOD + "|refuted")
    done = symgauge(place, "verify", "--json", "l.json")
    assert done.returncode == 1
    assert "src/two (proofs_checks/src/test_theme.py::test_two): on record refuted, computed holds" in done.stdout
    assert not Ledger.load(place / "l.json").agrees


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("assert 1 == 2", "AssertionError: assert 1 == 2"),
        ("os._exit(9)", "did not run to its end"),
        ("import pytest; pytest.skip('no device')", "skipped: no device"),
    ],
)
def test_a_check_that_breaks_fails_the_run_and_nothing_else(place, body, reason, workers) -> None:
    checks(place, a=GOOD)
    checks(place, "test_worse", broken=body)
    done = symgauge(place, "verify", "--json", "l.json", "--workers", workers)
    assert done.returncode == 1
    entries = Ledger.load(place / "l.json").entries
    assert entries["src/a"].agrees
    assert reason in entries["src/broken"].failure


def test_a_file_that_cannot_be_imported_leaves_its_claims_undecided(place) -> None:
    checks(place, a=GOOD)
    checks(place, "test_worse", broken=GOOD)
    path = place / "proofs_checks" / "src" / "test_worse.py"
    path.write_text("import no_such_module\n" + path.read_text())
    alone = symgauge(place, "verify", "src/broken")
    assert alone.returncode == 1
    assert "1 claim: 1 undecided; 1 differ from the record; undecided: src/broken" in alone.stdout
    done = symgauge(place, "verify", "--json", "l.json")
    assert done.returncode == 1
    assert "the file of its check cannot be imported: ModuleNotFoundError" in done.stdout
    assert "No module named 'no_such_module'" in done.stdout
    assert "undecided: src/broken" in done.stdout
    assert [entry.agrees for entry in Ledger.load(place / "l.json").entries.values()] == [True, False]


def test_a_failing_test_beside_the_claims_fails_the_run(place) -> None:
    checks(place, a=GOOD)
    with (place / "proofs_checks" / "src" / "test_theme.py").open("a") as stream:
        stream.write("\ndef test_plain():\n    assert 1 == 2\n")
    done = symgauge(place, "verify")
    assert done.returncode == 1
    assert "assert 1 == 2" in done.stdout


def test_selection(place) -> None:
    checks(place, one=GOOD, two=GOOD, three=GOOD)
    done = symgauge(place, "verify", "src/t*", "--json", "l.json")
    assert done.returncode == 0
    assert sorted(Ledger.load(place / "l.json").entries) == ["src/three", "src/two"]


def test_an_unknown_selection_is_one_sentence(place) -> None:
    checks(place, one=GOOD, two=GOOD)
    done = symgauge(place, "verify", "src/thw")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "symgauge: no claim is called 'src/thw'; the nearest are src/two, src/one\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--profile", "lazy"), "symgauge: no sampling profile is called 'lazy'; choose one of dev, ci, thorough\n"),
        (("--json", "proofs_checks/__init__.py/x.json"), "symgauge: cannot write into proofs_checks/__init__.py"),
        (("--report", "proofs_checks/__init__.py"), "symgauge: cannot write into proofs_checks/__init__.py"),
        (("--report", ""), "symgauge: --report is empty; give the name of a folder"),
        (("--json", ""), "symgauge: --json is ''; give the name of a file"),
        (("--json", "new/"), "symgauge: --json is 'new/'; give the name of a file"),
        (
            ("--report", "r", "--json", "r/ledger.json"),
            "symgauge: --json r/ledger.json is where --report r keeps its own",
        ),
        (("--resume",), "symgauge: --resume goes on with a run that writes"),
        (("--resume", "--json", "l.json"), "symgauge: no run that would write l.json was stopped"),
        (("--from", "nowhere"), "symgauge: --from nowhere: there is no such folder"),
        (("--from", ""), "symgauge: --from is empty"),
        (("--json", "proofs_checks"), "symgauge: cannot write proofs_checks: it is a folder"),
        (("--json", "/dev/null"), "symgauge: cannot write /dev/null: it is no ordinary file (a pipe or a device)"),
    ],
)
def test_bad_options_are_one_sentence(place, arguments, message) -> None:
    checks(place, one=GOOD)
    done = symgauge(place, "verify", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert done.stdout == ""


def test_no_claims_at_all_is_no_success(place) -> None:
    assert symgauge(place, "verify").returncode == 2


def test_the_profile_reaches_the_checks(place) -> None:
    checks(place, one='import hypothesis as h; evidence.exact("p", h.settings.default.max_examples == 200)')
    assert symgauge(place, "verify", "--profile", "thorough", "--json", "l.json").returncode == 0
    assert Ledger.load(place / "l.json").profile == "thorough"
    assert symgauge(place, "verify").returncode == 1


def test_users_pytest_settings_do_not_matter(place, monkeypatch) -> None:
    checks(place, one=GOOD)
    (place / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    assert symgauge(place, "verify").returncode == 0


def test_claims_lists_without_checking(place) -> None:
    checks(place, one="1 / 0", two="1 / 0|refuted")
    done = symgauge(place, "claims")
    assert done.stdout.split() == ["src/one", "holds", "Theorem", "1", "src/two", "refuted", "Theorem", "1"]
    listed = json.loads(symgauge(place, "claims", "src/two", "--json").stdout)
    assert [(claim["id"], claim["verdict"]) for claim in listed] == [("src/two", "refuted")]


def test_help_is_fast_and_imports_nothing_heavy(place) -> None:
    done = symgauge(place, "--help")
    assert done.returncode == 0
    for word in ("claims", "verify", "A theorem checker"):
        assert word in done.stdout
    code = "import sys, time; start = time.perf_counter(); sys.argv = ['symgauge', '--help']\n"
    code += "from symgauge.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "heavy = {'sympy', 'torch', 'numpy', 'scipy', 'hypothesis', 'flint', 'mpmath', 'transformers', 'pytest'}\n"
    code += "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True)
    assert done.stderr.strip() == "[]"


def test_an_unknown_command_is_refused(place) -> None:
    done = symgauge(place, "verfy")
    assert done.returncode == 2
    assert "No such command 'verfy'" in done.stderr


def test_the_version(place) -> None:
    assert symgauge(place, "--version").stdout.startswith("symgauge ")


def test_a_terminal_gets_a_bar(monkeypatch, capsys) -> None:
    claim = Claim("src/a", "src", "p", "s", Verdict.HOLDS)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with progress(2) as watch:
        watch(Entry.of(claim, ()))
    out = capsys.readouterr().out
    assert "src/a" in out
    assert "no evidence was recorded" in out


def test_pytest_that_cannot_start_is_an_error(place) -> None:
    checks(place, one=GOOD)
    known = catalogue(place / "proofs_checks")
    with pytest.raises(ChecksDidNotRun, match=r"exit status 4.*(?s:.*)no sampling profile is called 'lazy'"):
        run_checks(known, ["src/one"], profile="lazy")


def test_checks_that_are_not_installed_are_named(monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InvalidInput, match="the package proofs_checks is not installed"):
        checks_folder()
