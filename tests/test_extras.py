"""The core measures and accounts without any extra; a command that needs one says in a sentence which."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from symgauge.extras import EXTRAS

ROOT = Path(__file__).parent.parent
MODULE = {"pytest-xdist": "xdist"}
"""The module of a distribution, where its name is another."""
EVERYTHING = sorted({name for names in EXTRAS.values() for name in names} - {"mpmath"})
"""What no extra brings is not there (SymPy needs mpmath, so that is there always)."""
WITHOUT = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in {missing} else self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Without, sys.meta_path)
sys.argv = ["symgauge", *{arguments}]
from symgauge.cli import main
main()
"""
MODEL = """
import torch, symgauge

def module():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)), symgauge.Vectors(length=2, width=3)

def block():
    return symgauge.Architecture(d_model=4, heads=2, d_k=2, d_v=2, context=3)
"""


def run(folder: Path, missing: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    code = WITHOUT.format(missing=missing, arguments=list(arguments))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, timeout=300)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def test_the_extras_are_those_of_the_installation() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    def brought(extra: str) -> set[str]:
        names = {re.split("[>=<]", entry)[0] for entry in declared[extra]}
        inner = {name for name in names if name.startswith("symgauge[")}
        others = (brought(part) for name in inner for part in name[len("symgauge[") : -1].split(","))
        return {MODULE.get(name, name) for name in names - inner}.union(*others)

    for extra, modules in EXTRAS.items():
        assert brought(extra) >= set(modules), extra
    assert brought("test") >= set(EVERYTHING)


def test_the_core_measures_and_accounts(place: Path) -> None:
    done = run(place, EVERYTHING, "dim", "model.py:module")
    assert done.returncode == 0, done.stderr
    assert "nullity" in done.stdout
    done = run(place, EVERYTHING, "account", "model.py:block")
    assert done.returncode == 0, done.stderr
    assert "value-output" in done.stdout
    assert run(place, EVERYTHING, "claims", "production").returncode == 0
    assert run(place, EVERYTHING, "--help").returncode == 0


@pytest.mark.parametrize(
    ("missing", "arguments", "sentence"),
    [
        ("pytest", ["verify", "gauge/abs-4"], "symgauge verify needs pytest: pip install 'symgauge[verify]'"),
        ("matplotlib", ["verify", "--report", "r"], "draws the figures of experiments, needs matplotlib"),
        ("matplotlib", ["reproduce", "gauge"], "needs matplotlib: pip install 'symgauge[reproduce]'"),
        ("transformers", ["dim", "mamba"], "model types need transformers: pip install 'symgauge[transformers]'"),
    ],
)  # fmt: skip
def test_a_command_says_what_it_lacks(place: Path, missing: str, arguments: list[str], sentence: str) -> None:
    done = run(place, [missing], *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert [*place.iterdir()] == [place / "model.py"]
