"""A suite: the experiments of one source, found by file, run one after another, each result kept once it is there.

A source's package ``experiments`` is its suite. A module there that defines EXPERIMENT, an Experiment, is an
experiment; modules without it are helpers.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from symgauge.errors import InvalidInput
from symgauge.experiments.environment import environment
from symgauge.experiments.record import Record
from symgauge.experiments.result import Result
from symgauge.sources import source, sources

SCALES = ("small", "paper")
PACKAGE = "experiments"
"""Where a source's folder has its suite."""


Tick = Callable[[str, float], None]


def silent(what: str, share: float) -> None:
    """A tick that nobody sees."""


@dataclass(frozen=True)
class Setting:
    """How to run. device: "cpu", "cuda", ...; seeds: number of repetitions, None for the experiment's own choice;
    tick(what, share) reports progress, share in [0, 1]; folder: where parts of long work may be kept, None for nowhere,
    and fresh: not to use those that are there; workers: processes to run such parts in.
    """

    scale: str = "small"
    device: str = "cpu"
    seed: int = 0
    seeds: int | None = None
    tick: Tick = silent
    folder: Path | None = None
    fresh: bool = False
    workers: int = 1

    @property
    def paper(self) -> bool:
        """Whether to run at the source's own sizes."""
        return self.scale == "paper"


@dataclass(frozen=True)
class Experiment:
    """key: "table-2", "figure-1", or words with hyphens. run: seconds and key are filled in by the suite."""

    key: str
    title: str
    run: Callable[[Setting], Result]


def suites() -> list[str]:
    """Names of the sources that have experiments, without importing them."""
    return [name for name, found in sources().items() if (found.folder / PACKAGE).is_dir()]


def experiments_of(suite: str) -> dict[str, Experiment]:
    """Key -> experiment, tables first, then figures, each by number. Raises InvalidInput for an unknown suite."""
    if suite not in suites():
        raise InvalidInput(f"there is no suite {suite!r} to reproduce; there is {', '.join(suites())}")
    package = source(suite).module(PACKAGE)
    assert package is not None
    modules = [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    found = [module.EXPERIMENT for module in modules if hasattr(module, "EXPERIMENT")]
    return {experiment.key: experiment for experiment in sorted(found, key=lambda e: _rank(e.key))}


def _rank(key: str) -> tuple[int, int, str]:
    number = re.fullmatch(r"(table|figure)-(\d+).*", key)
    kind = 2 if number is None else {"table": 0, "figure": 1}[number[1]]
    return kind, int(number[2]) if number else 0, key


def option(key: str) -> str:
    """The command line's option for one experiment."""
    kind, _, number = key.partition("-")
    return f"--{kind} {number}" if kind in ("table", "figure") else f"--only {key}"


def choose(suite: str, keys: Sequence[str]) -> list[Experiment]:
    """The experiments called `keys`, or all without any. Raises InvalidInput for an unknown key."""
    known = experiments_of(suite)
    for key in keys:
        if key not in known:
            raise InvalidInput(f"suite {suite!r} has no experiment {key!r}; it has {', '.join(known) or 'none'}")
    return [experiment for key, experiment in known.items() if not keys or key in keys]


def reproduce(
    suite: str, chosen: Sequence[Experiment], setting: Setting, file: Path, command: str, fresh: bool = False
) -> Iterator[tuple[Experiment, Result, bool]]:
    """Run `chosen`; yields experiment, result, and whether it was run now. command: what runs the whole suite so.

    After each the record is saved to `file`, so that a run that was stopped goes on where it was: a result recorded
    with the same setting, software and card is kept, unless `fresh`.
    """
    if setting.scale not in SCALES:
        raise InvalidInput(f"no scale is called {setting.scale!r}; choose one of {', '.join(SCALES)}")
    if not chosen:
        raise InvalidInput(f"suite {suite!r} has no experiment to run")
    now = environment(setting.device)
    for experiment in chosen:
        record = Record.load(file) if file.exists() else Record(suite, setting.scale)
        kept = None if fresh else record.kept(experiment.key, setting.seed, setting.seeds, now)
        if kept is not None:
            yield experiment, kept, False
            continue
        start = time.perf_counter()
        result = experiment.run(setting)
        result = replace(result, key=experiment.key, seconds=time.perf_counter() - start)
        # Another process may have added to the file meanwhile.
        record = Record.load(file) if file.exists() else record
        record.added(result, setting.seed, setting.seeds, now, f"{command} {option(experiment.key)}").save(file)
        yield experiment, result, True
