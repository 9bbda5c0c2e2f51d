"""What an installed package brings: every file beside the code that the code may read."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PATTERNS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]


@pytest.mark.parametrize("package", PATTERNS)
def test_data_files_are_installed(package: str) -> None:
    data = [
        path.relative_to(ROOT / package)
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".md") and "__pycache__" not in path.parts
    ]
    assert data
    left = [str(path) for path in data if not any(fnmatch(path.name, p.removeprefix("**/")) for p in PATTERNS[package])]
    assert not left, f"{left} would be missing from an installed package; add a pattern to package-data"
