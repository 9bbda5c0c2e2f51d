"""What a run has decided so far, one entry a line, so that a run that was stopped can go on."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from symgauge.claims.ledger import Entry
from symgauge.claims.record import Claim
from symgauge.errors import InvalidInput

FORMAT = "symgauge journal 1"


class Journal:
    """The journal of one run, a hidden file beside ``target``; while the run lives no other takes it up.

    It starts with the entries ``done`` and takes the place of those of stopped runs. As a context it goes when the run
    has come to its end, and stays, unless it is empty, when that raises.
    """

    def __init__(self, target: Path, profile: str, seed: int | None, done: Iterable[Entry] = ()) -> None:
        import fcntl

        descriptor, name = tempfile.mkstemp(prefix=_prefix(target), dir=target.parent)
        self.path, self.decided = Path(name), 0
        self._stream = os.fdopen(descriptor, "w", encoding="utf-8")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self._write({"format": FORMAT, "profile": profile, "seed": seed})
        for entry in done:
            self.add(entry)
        for path in list(_stopped(target)):
            path.unlink(missing_ok=True)

    def add(self, entry: Entry) -> None:
        """Keep an entry; one whose check did not run to its end is none to go on from."""
        if not entry.failure:
            self._write(entry.to_json())
            self.decided += 1

    def _write(self, data: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(data, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")
        self._stream.flush()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or not self.decided:
            self.path.unlink(missing_ok=True)
        self._stream.close()


def take_up(target: Path, profile: str, claims: Mapping[str, Claim]) -> tuple[dict[str, Entry], int | None]:
    """The entries on ``claims`` that stopped runs beside ``target`` have decided, and the seed that they drew from.

    An entry on a claim that reads otherwise now is left out. Raises InvalidInput where there is no journal, or one of
    another sampling profile.
    """
    found: dict[str, Entry] = {}
    seed, stopped = None, list(_stopped(target))
    for path in stopped:
        head, entries = _read(path)
        if head.get("profile") != profile:
            raise InvalidInput(f"the run that was stopped had the sampling profile {head.get('profile')!r}; take that")
        seed = head.get("seed")
        found.update({entry.claim.id: entry for entry in entries if _is_current(entry.claim, claims)})
    if not stopped:
        raise InvalidInput(f"no run that would write {target} was stopped, so there is nothing to resume")
    return found, seed


def _prefix(target: Path) -> str:
    return f".{target.name}.unfinished-"


def _stopped(target: Path) -> Iterator[Path]:
    """Journals that no living run holds."""
    import fcntl

    for path in sorted(target.parent.glob(f"{_prefix(target)}*")):
        with path.open(encoding="utf-8") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
        yield path


def _read(path: Path) -> tuple[Mapping[str, Any], list[Entry]]:
    lines = path.read_text(encoding="utf-8").split("\n")
    try:
        head, *rows = [json.loads(line) for line in lines[:-1]]  # what follows the last newline was cut off
        if head.get("format") == FORMAT:
            return head, [Entry.from_json(row) for row in rows]
    except (ValueError, AttributeError, InvalidInput) as error:
        raise InvalidInput(f"{path} is no journal of a run ({error}); remove it") from error
    raise InvalidInput(f"{path} is no journal of this version of symgauge; remove it")


def _is_current(claim: Claim, claims: Mapping[str, Claim]) -> bool:
    known = claims.get(claim.id)
    return known is not None and replace(claim, check=known.check) == known
