"""A folder with modules to discover things on, and the command line there."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner, Result

from symgauge.cli import app

from .modules import MODULES


@pytest.fixture
def command(tmp_path, monkeypatch):
    """`symgauge` with these arguments, in a folder with mine.py."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MODULES)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments])

    return run
