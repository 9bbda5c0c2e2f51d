"""Claims of one's own, in a folder outside of this repository: verify, pytest and report work on them as on ours."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from symgauge.claims import Ledger

CLAIMS = """[[claim]]
id = 'thm-2'
place = 'Theorem 2'
statement = 'Two is even.'
verdict = 'holds'

[[claim]]
id = 'thm-1'
place = 'Theorem 1'
statement = 'One is even.'
verdict = 'refuted'
correction = 'It is odd.'
"""
CHECKS = """from numbers_of_mine import TWO
from symgauge.claims import checks, equal

@checks("thm-2")
def test_two(evidence):
    evidence.exact("divided", figures={"rest": equal(TWO % 2, 0)})

@checks("thm-1")
def test_one(evidence):
    evidence.exact("divided", figures={"rest": equal(1 % 2, 0)}, counterexample="$1 = 2\\cdot 0 + 1$")
    evidence.control("two, divided, leaves nothing", TWO % 2 == 0, kind="exact")
    evidence.exact("divided", figures={"rest": equal(1 % 2, 1)}, on="correction")
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project: a module, and below a folder with claims and their checks, which import it."""
    monkeypatch.delenv("SYMGAUGE_PROFILE", raising=False)
    folder = tmp_path / "papers" / "my_paper"
    folder.mkdir(parents=True)
    (tmp_path / "numbers_of_mine.py").write_text("TWO = 2")
    (folder / "claims.toml").write_text(CLAIMS)
    (folder / "source.toml").write_text(
        'title = "A paper of mine"\n[[findings]]\ntext = "**One is odd.**"\nclaims = ["my-paper/thm-1"]'
    )
    (folder / "test_parity.py").write_text(CHECKS)
    return tmp_path


def run(place: Path, *command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", *command], cwd=place, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def pages(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_verify_pytest_and_report_write_the_same_pages(place: Path) -> None:
    run(place, "symgauge.cli", "verify", "--from", "papers/my_paper", "--report", "one", "--json", "l.json")
    run(place, "symgauge.cli", "verify", "--from", "papers", "--report", "two", "--workers", "2")
    run(place, "pytest", "-q", "-p", "no:cacheprovider", "papers", "--claims-report", "three")
    run(place, "symgauge.cli", "report", "l.json", "--out", "four", "--from", "papers")
    assert pages(place / "one") == pages(place / "two") == pages(place / "three") == pages(place / "four")
    assert set(os.listdir(place / "one")) == {"index.md", "my-paper.md", "my-paper", "ledger.json"}
    index, page = ((place / "one" / name).read_text() for name in ("index.md", "my-paper.md"))
    assert "**One is odd.** ([thm-1](my-paper/thm-1.md))" in index
    assert page.startswith("# A paper of mine\n")
    assert page.index("Theorem 2") < page.index("Theorem 1")


def test_a_ledger_is_enough_for_pages(place: Path) -> None:
    run(place, "symgauge.cli", "verify", "--from", "papers", "--json", "l.json")
    run(place, "symgauge.cli", "report", "l.json", "--out", "out")
    assert (place / "out" / "my-paper.md").read_text().startswith("# my-paper\n")


def test_the_replay_line_works(place: Path) -> None:
    run(place, "symgauge.cli", "verify", "--from", "papers", "--report", "out")
    page = (place / "out" / "my-paper" / "thm-1.md").read_text()
    assert "Checked by `papers/my_paper/test_parity.py::test_one`" in page
    (line,) = [line for line in page.splitlines() if line.startswith("symgauge ")]
    assert line == "symgauge verify --from papers/my_paper my-paper/thm-1"
    assert "1 claim: 1 refuted; all as on record" in run(place, "symgauge.cli", *shlex.split(line)[1:]).stdout


def test_they_are_listed(place: Path) -> None:
    listed = run(place, "symgauge.cli", "claims", "--from", "papers").stdout
    assert [line.split()[0] for line in listed.splitlines()] == ["my-paper/thm-2", "my-paper/thm-1"]


def test_pytest_alone_writes_a_ledger_of_them(place: Path) -> None:
    run(place, "pytest", "-q", "-p", "no:cacheprovider", "papers", "--ledger", "l.json", "--claims", "my-paper/thm-1")
    assert list(Ledger.load(place / "l.json").entries) == ["my-paper/thm-1"]


def test_the_example_of_the_documentation(place: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "claims.md").read_text()
    folder = place / "my_paper"
    folder.mkdir()
    (folder / "claims.toml").write_text(page.split("```toml\n")[1].split("```")[0])
    (folder / "test_layer.py").write_text(page.split("```python\n")[1].split("```")[0])
    for line in page.split("```sh\n")[1].split("```")[0].strip().splitlines():
        program, *words = shlex.split(line, comments=True)
        run(place, "symgauge.cli" if program == "symgauge" else program, *words)
    assert pages(place / "out") == pages(place / "elsewhere")
    assert (
        "- **Fails because:** $A = I + e_1e_2^\\top$\n- **True instead:** $W_K$"
        in (place / "elsewhere" / "my-paper" / "thm-1.md").read_text()
    )
