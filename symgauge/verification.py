"""Running chosen checks through pytest in a process of its own, and watching its claims come in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from symgauge.claims import Entry, Ledger
from symgauge.claims.catalogue import Catalogue, checks_folder
from symgauge.claims.declared import source_folder
from symgauge.errors import SymgaugeError

POLL_SECONDS = 0.1
TAIL_LINES = 40


class ChecksDidNotRun(SymgaugeError):
    """pytest stopped before it could run the checks."""


@dataclass(frozen=True)
class Run:
    """The ledger of a run, whether pytest was satisfied, and what it printed."""

    ledger: Ledger
    passed: bool
    output: str


def run_checks(
    known: Catalogue,
    ids: Sequence[str],
    *,
    profile: str,
    workers: int = 1,
    watch: Callable[[Entry], None] = lambda entry: None,
) -> Run:
    """Check the claims `ids` of `known`; `watch` is told each entry as it is decided.

    Checks that come with symgauge run in an empty folder; those of one's own where the run is started, as by pytest.

    A chosen claim that comes back without an entry (its process died) is undecided in the ledger. Raises
    ChecksDidNotRun, with the end of pytest's output, when pytest itself fails.
    """
    entries: dict[str, Entry] = {}
    if not ids:
        return Run(Ledger.of((), profile), True, "")
    with tempfile.TemporaryDirectory(prefix="symgauge-") as name:
        place = Path(name)
        (place / "events").touch()
        with (place / "output").open("w") as output, (place / "events").open(encoding="utf-8") as events:
            process = subprocess.Popen(
                _command(known, ids, place, profile, workers),
                cwd=place if known.folder == checks_folder() else None,
                env=_environment(known.folder.parent),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                for entry in _arriving(process, events):
                    # A check may decide more claims than were chosen.
                    if entry.claim.id in ids:
                        entries[entry.claim.id] = entry
                        watch(entry)
            finally:
                if process.poll() is None:
                    process.terminate()
                    process.wait()
        printed = (place / "output").read_text(encoding="utf-8", errors="replace")
    missing = [claim_id for claim_id in ids if claim_id not in entries]
    if process.returncode not in (0, 1) and len(missing) in (0, len(ids)):
        tail = "\n".join(printed.splitlines()[-TAIL_LINES:])
        raise ChecksDidNotRun(f"pytest stopped with exit status {process.returncode}; the end of its output:\n{tail}")
    for claim_id in missing:
        said = "the check did not run to its end; see the output of pytest"
        entry = Entry.of(known.claims[claim_id], (), said, _home(known, claim_id))
        entries[claim_id] = entry
        watch(entry)
    return Run(Ledger.of(entries.values(), profile), process.returncode == 0, printed)


def _home(known: Catalogue, claim_id: str) -> str:
    """The folder of a claim of one's own, as seen from here; empty for one that comes with symgauge."""
    if known.folder == checks_folder():
        return ""
    folder = source_folder(known.files[claim_id]) or known.folder
    return Path(os.path.relpath(folder)).as_posix()


def _arriving(process: subprocess.Popen[bytes], events: TextIO) -> Iterator[Entry]:
    partial = ""
    while True:
        # Asked before reading, so that what is written just before the end is still read.
        ended = process.poll() is not None
        partial += events.read()
        *lines, partial = partial.split("\n")
        yield from (Entry.from_json(json.loads(line)) for line in lines)
        if ended:
            return
        time.sleep(POLL_SECONDS)


def _command(known: Catalogue, ids: Sequence[str], place: Path, profile: str, workers: int) -> list[str]:
    # An empty configuration, and no plugins but ours: a run must not depend on the folder or machine it is started in.
    (place / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-c", str(place / "pytest.ini"), "--rootdir", str(known.folder.parent)]
    command += ["-p", "symgauge_pytest_plugin", "-p", "no:cacheprovider", "-q", "--tb=short"]
    command += ["--continue-on-collection-errors", "--symgauge-profile", profile]
    command += ["--symgauge-events", str(place / "events")]
    if workers > 1:
        command += ["-p", "xdist.plugin", "-n", str(workers)]
    if len(ids) < len(known.claims):
        command += [word for claim_id in ids for word in ("--claims", claim_id)]
    return command + sorted({str(known.files[claim_id]) for claim_id in ids})


def _environment(root: Path) -> dict[str, str]:
    here = [] if root == checks_folder().parent else [os.getcwd()]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = list(dict.fromkeys([str(root), *here, *filter(None, [*given, *sys.path])]))
    own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTHONPATH": os.pathsep.join(paths)}
    # Sums are rounded in another order by more threads, so that figures would depend on the number of workers.
    return os.environ | own | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
