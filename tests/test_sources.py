"""A source is a folder: nothing else has to know of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import proofs_checks
from symgauge import sources as module
from symgauge.accounting import account
from symgauge.architecture import Architecture
from symgauge.claimed import claimed_by_sources
from symgauge.claims import Claim, Entry, EvidenceLog, Ledger, Verdict
from symgauge.claims.catalogue import catalogue
from symgauge.cli import app
from symgauge.errors import InvalidInput
from symgauge.full_size import full_size
from symgauge.reporting.site import render
from symgauge.sources import read, sources

TOY = {
    "source.toml": """title = "A toy"
[[findings]]
text = '''
**It holds**, and
goes on.'''
claims = ["toy-one/eq-1"]
[experiments]
title = "The toy's experiments"
note = "Small."
""",
    "__init__.py": "",
    "claims.toml": """[[claim]]
id = 'eq-1'
place = '(1)'
statement = 'One is one.'
verdict = 'holds'
""",
    "test_equations.py": """from symgauge.claims import checks, equal

@checks("eq-1")
def test_equation(evidence):
    evidence.exact("counted", figures={"ones": equal(1, 1)})
""",
    "commands/__init__.py": "",
    "commands/say_hello.py": "def command() -> None:\n    print('hello')\n",
    "commands/_words.py": "",
    "commands/dim.py": "",
    "experiments/__init__.py": "",
    "experiments/table_1.py": """from symgauge.experiments.result import Comparison, Result
from symgauge.experiments.suite import Experiment

def run(setting):
    return Result("", "Ones", "Table 1", "Count.", comparisons=[Comparison("one", 1, 1, factor=1)])

EXPERIMENT = Experiment("table-1", "Ones", run)
""",
    "counts.py": """from sympy import Integer

def claimed(architecture):
    return Integer(7) if architecture.d_model == 4 else None
""",
}


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of checks with one source in it."""
    for name, text in TOY.items():
        file = tmp_path / "toy_one" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(module, "checks_folder", lambda: tmp_path)
    monkeypatch.setattr(proofs_checks, "__path__", [*proofs_checks.__path__, str(tmp_path)])
    sources.cache_clear()
    yield tmp_path
    sources.cache_clear()


def test_a_folder_is_all_that_a_source_takes(toy: Path) -> None:
    assert [(s.name, s.title, s.experiments) for s in sources().values()] == [
        ("toy-one", "A toy", ("The toy's experiments", "Small."))
    ]
    known = catalogue(toy).claims
    assert list(known) == ["toy-one/eq-1"]
    assert known["toy-one/eq-1"].check == f"{toy.name}/toy_one/test_equations.py::test_equation"
    ledger = Ledger.of([Entry.of(known["toy-one/eq-1"], ())], "ci")
    pages = render(ledger)
    assert set(pages) == {"index.md", "toy-one.md", "toy-one/eq-1.md", "toy-one-experiments.md"}
    assert pages["toy-one.md"].startswith("# A toy\n")
    assert "[The toy's experiments](toy-one-experiments.md)" in pages["index.md"]


def test_its_experiments_run(toy: Path) -> None:
    out = toy / "out"
    done = CliRunner().invoke(app, ["reproduce", "toy-one", "--out", str(out)])
    assert done.exit_code == 0, done.output
    page = (out / "toy-one-experiments.md").read_text()
    assert "# A toy: experiments run again" in page
    assert "Small." in page


def test_its_commands_are_commands(toy: Path) -> None:
    listed = CliRunner().invoke(app, ["--help"]).output
    assert "say-hello" in listed
    assert "words" not in listed
    assert CliRunner().invoke(app, ["say-hello"]).output == "hello\n"
    assert "TARGET" in CliRunner().invoke(app, ["dim", "--help"]).output  # still our own


def test_its_findings_stand_where_its_claims_do(toy: Path) -> None:
    claim = Claim("toy-one/eq-1", "toy-one", "(1)", "One is one.", Verdict.HOLDS)
    (finding,) = sources()["toy-one"].findings
    assert finding.text == "**It holds**, and goes on."
    log = EvidenceLog([claim])
    log.proof("counted", True)
    decided = Ledger.of([Entry.of(claim, log.of(claim.id))], "ci")
    assert "**It holds**, and goes on. ([eq-1](toy-one/eq-1.md))" in render(decided)["index.md"]


def test_its_count_stands_in_accounts(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = Architecture(d_model=4, heads=2, d_k=3, d_v=2, residual=False)
    found = account(a)
    assert found.as_dict()["claimed"] == {"toy-one": {"title": "A toy", "dimension": 7, "formula": "7"}}
    assert "claimed by toy-one 7" in " ".join(str(found).split())
    assert full_size(a).as_dict()["claimed"] == found.as_dict()["claimed"]
    assert claimed_by_sources(a.replace(d_model=5)) == ()
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    assert claimed_by_sources(a) == ()  # where the package of checks is not installed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = ", "is no TOML"),
        ("findings = []", "has no title"),
        ("title = 3", "title must be a str, not 3"),
        ('title = "x"\ntitel = "y"', "unknown key 'titel'; it may have title, findings, experiments"),
        ('title = "x"\nfindings = ["a"]', "findings must be tables"),
        ('title = "x"\n[[findings]]\nclaim = "a"', "unknown key 'claim'"),
        ('title = "x"\n[experiments]\nnote = 1', "note must be a str"),
    ],
)
def test_a_malformed_description_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "source.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=said):
        read(file)


def test_a_malformed_description_is_found_before_the_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "source.toml").write_text("titel = 3")
    monkeypatch.setattr(module, "checks_folder", lambda: tmp_path)
    sources.cache_clear()
    try:
        done = CliRunner().invoke(app, ["verify", "gauge/abs-4", "--report", str(tmp_path / "r")])
    finally:
        sources.cache_clear()
    assert not (tmp_path / "r").exists()
    assert done.exit_code == 2
    assert "unknown key 'titel'" in done.stderr
