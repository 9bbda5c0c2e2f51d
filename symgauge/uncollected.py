"""Claims of check files that pytest could not collect: they are read from the file, which need not be imported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from symgauge.check_places import home_of, located
from symgauge.claims import Entry
from symgauge.claims.catalogue import catalogue
from symgauge.claims.declared import source_folder
from symgauge.errors import SymgaugeError


def entries_of(report: pytest.CollectReport, config: pytest.Config) -> Iterator[Entry]:
    """An undecided entry for each claim of the file that a failed, or skipped, report of collection is about."""
    file = Path(report.file)
    folder = source_folder(file)
    if folder is None:
        return
    try:
        known = catalogue(folder)
    except SymgaugeError:  # pytest says what is wrong with the file itself
        return
    for claim_id, claim in known.claims.items():
        if known.files[claim_id] == file:
            there = located(claim, file, claim.check.partition("::")[2], config)
            yield Entry.of(there, (), _failure(report), home_of(file, config))


def _failure(report: pytest.CollectReport) -> str:
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        return f"the file of its check was skipped: {reason.removeprefix('Skipped: ')}"
    errors = [line[1:].strip() for line in report.longreprtext.splitlines() if line.startswith("E ")]
    return f"the file of its check cannot be imported{f': {errors[-1][:200]}' if errors else ''}"
