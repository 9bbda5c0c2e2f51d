"""Results on disk: one JSON file per suite and scale, written whole after every experiment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from symgauge.atomic import write_text
from symgauge.errors import InvalidInput
from symgauge.experiments.result import Result
from symgauge.reading import check_file
from symgauge.sources import source

FORMAT = 2


@dataclass(frozen=True)
class Run:
    """A result, and how it came about: command, seed, repetitions, environment, date (ISO 8601)."""

    result: Result
    seed: int
    seeds: int | None
    environment: Mapping[str, str]
    command: str
    date: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON, without its checksum."""
        return {
            "result": self.result.as_dict(),
            "seed": self.seed,
            "seeds": self.seeds,
            "environment": dict(self.environment),
            "command": self.command,
            "date": self.date,
        }

    @property
    def sha256(self) -> str:
        """Of all the above. It stands in the file, and a run that has another one there is refused."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Record:
    """The results of a suite at a scale, by key."""

    suite: str
    scale: str
    runs: Mapping[str, Run] = field(default_factory=dict)

    def kept(self, key: str, seed: int, seeds: int | None, environment: Mapping[str, str]) -> Result | None:
        """The result recorded for `key` with exactly this seed, repetitions and environment, if there is one."""
        run = self.runs.get(key)
        same = run is not None and (run.seed, run.seeds, dict(run.environment)) == (seed, seeds, dict(environment))
        return run.result if run is not None and same else None

    def added(
        self, result: Result, seed: int, seeds: int | None, environment: Mapping[str, str], command: str
    ) -> Record:
        """This record with one more result, in place of an older one with its key."""
        run = Run(result, seed, seeds, dict(environment), command, date.today().isoformat())
        return replace(self, runs={**self.runs, result.key: run})

    def save(self, file: Path) -> None:
        """Write atomically. NaN is refused: a result that has one is no result."""
        runs = {key: {**run.as_dict(), "sha256": run.sha256} for key, run in self.runs.items()}
        data = {"format": FORMAT, "suite": self.suite, "scale": self.scale, "runs": runs}
        try:
            text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1)
        except ValueError as error:
            raise InvalidInput(f"{self.suite}: a result holds a number that is not finite ({error})") from error
        write_text(file, _compact(text) + "\n")

    @classmethod
    def load(cls, file: Path) -> Record:
        """Raises InvalidInput for a file that is no record of ours."""
        try:
            data = json.loads(check_file(file).read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise InvalidInput(f"{file} has format {data['format']!r}; this version reads {FORMAT}")
            runs = {key: _run(entry) for key, entry in data["runs"].items()}
            for key, run in runs.items():
                if run.sha256 != data["runs"][key]["sha256"]:
                    raise InvalidInput(f"{file}: {key} is not as it was measured, by its checksum; run it again")
            return cls(data["suite"], data["scale"], runs)
        except InvalidInput:
            raise
        except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise InvalidInput(
                f"{file} is no record of experiments ({error}); remove it or choose another folder"
            ) from error


def _run(entry: Mapping[str, Any]) -> Run:
    rest = {name: entry[name] for name in ("seed", "seeds", "environment", "command", "date")}
    return Run(Result.from_dict(entry["result"]), **rest)


def _compact(text: str) -> str:
    """Long lists of numbers on one line each, so that a record can be read and compared."""
    import re

    return re.sub(r"\[\s*((?:-?[\d.eE+-]+,\s*)*-?[\d.eE+-]+)\s*\]", lambda m: f"[{' '.join(m[1].split())}]", text)


def recorded(suite: str) -> dict[str, Record]:
    """Scale -> the record that comes with the source."""
    found = {}
    for scale in ("small", "paper"):
        file = source(suite).folder / "records" / f"{scale}.json"
        if file.exists():
            found[scale] = Record.load(file)
    return found
