"""Where a check lies, as ledgers and replay lines say it: the same wherever symgauge is installed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from symgauge.claims import Claim
from symgauge.claims.catalogue import checks_folder
from symgauge.claims.declared import source_folder


def home_of(file: Path, config: pytest.Config) -> str:
    """The folder of a check file's source as seen from where pytest was started; empty for those symgauge brings."""
    folder = source_folder(file) or file.parent
    return "" if folder.is_relative_to(checks_folder()) else _seen(folder, config)


def located(claim: Claim, file: Path, test: str, config: pytest.Config) -> Claim:
    """``claim`` with the place of the test that decides it."""
    ours = not home_of(file, config)
    place = file.relative_to(checks_folder().parent).as_posix() if ours else _seen(file, config)
    return replace(claim, check=f"{place}::{test}")


def _seen(path: Path, config: pytest.Config) -> str:
    return Path(os.path.relpath(path, config.invocation_params.dir)).as_posix()
