"""Change the library in one place, see whether a test notices, and write the score to benchmarks/mutation.md.

    python benchmarks/mutation.py [GROUP ...] [--sample N | --all] [--seed S] [--results FILE]

A group is some modules and the tests that answer for them. Its tests are collected once and run once under coverage; a
mutant is then tried against those that ran its lines, the quickest and the most telling first, up to the first failure.
Each is tried in a fork of the process that has collected: there the changed function gets its new code wherever it is
held. What runs on import is changed before symgauge is loaded, in a fork that has loaded torch alone. What was killed
before is in the results and is not tried again, so a second call shows what new tests have killed. Groups are in
benchmarks/mutation.toml, and so are, each with a reason, mutants that change nothing anyone can see; an entry that fits
no mutant stops the script.

Of the tools there are, mutmut changes functions only, and much that matters here is a number beside them; cosmic-ray
starts a process and loads torch for each mutant.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

# Hypothesis would load symgauge before it is changed.
os.environ["HYPOTHESIS_NO_PLUGINS"] = "1"

import pytest
from coverage import Coverage as Tracer
from hypothesis import Phase, settings
from mutants import Mutant, mutants

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LOADED_ONCE = ("torch._dynamo", "sympy", "scipy.stats", "flint", "galois", "hypothesis.strategies", "transformers")
SLOW, ENOUGH = 10.0, 40.0
"""Tests that take longer are left out, and all tests for one mutant take no longer than that (seconds of processor)."""
PATIENCE, AT_LEAST = 4, 20
"""A mutant has that many times what its tests take, and so many seconds, before it counts as one that never ends."""
ASLEEP = 20
"""How much longer that may last on a busy machine."""
MEMORY = 6 << 30
"""Bytes that a mutant may take, so that one that asks for all there is fails alone."""
KILLED, ENDLESS, SURVIVED, UNSEEN, EQUIVALENT = "killed", "killed by time", "survived", "no test runs it", "equivalent"
PASSED, FAILED, NOT_SWAPPED = 0, 1, 64


class Group(NamedTuple):
    name: str
    modules: list[str]
    tests: list[str]
    without: Sequence[str] = ()

    def mutants(self) -> list[Mutant]:
        paths = [ROOT / m for m in self.modules]
        files = [f for path in paths for f in (sorted(path.glob("*.py")) if path.is_dir() else [path])]
        files = [f for f in files if str(f.relative_to(ROOT)) not in self.without]
        return [x for f in files for x in mutants(str(f.relative_to(ROOT)), f.read_text(encoding="utf-8"))]


class Coverage(NamedTuple):
    seconds: dict[str, float]
    lines: dict[str, dict[str, list[str]]]
    """File → line → tests that ran it."""

    def tests(self, mutant: Mutant, telling: Counter[str]) -> list[str]:
        """Tests that ran the lines of a mutant (for what runs on import: anything of its file), in the order to try."""
        lines = self.lines.get(mutant.file, {})
        there = range(mutant.statement, mutant.last + 1) if mutant.function else map(int, lines)
        found = {test for n in there for test in lines.get(str(n), ()) if self.seconds[test] < SLOW}
        total, tests = 0.0, []
        for test in sorted(found, key=lambda t: self.seconds[t]):
            total += self.seconds[test]
            if total < ENOUGH:
                tests.append(test)
        return sorted(tests, key=lambda t: (self.seconds[t] + 0.05) / (1 + telling[t]))

    def patience(self, tests: Sequence[str]) -> int:
        return AT_LEAST + int(PATIENCE * sum(self.seconds[t] for t in tests))


class _Session:
    """A pytest plugin that runs a function on what was collected in place of the tests, and notes which test failed."""

    def __init__(self, work: Callable[[list[pytest.Item]], int]) -> None:
        self.work, self.status, self.failed = work, PASSED, ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("collection failed")
        self.status = self.work(session.items)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid

    def runs(self, items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
        """Run tests one by one, up to the first failure."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            yield item
            if self.failed:
                return


def _collect(tests: Sequence[str], session: _Session, log: Path) -> int:
    """Collect tests in this process, without output, for the copy of symgauge beside this script; do the work."""
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    settings.register_profile(
        "mutation", phases=(Phase.explicit, Phase.generate), derandomize=True, database=None, deadline=None
    )
    import_module("symgauge._hypothesis")._hypothesis_setup_hook()
    options = ["-q", "-s", "-p", "no:cacheprovider", "--assert=plain", "--hypothesis-profile=mutation"]
    return int(pytest.main([*options, *tests], plugins=[session])) or session.status


def _forked(work: Callable[[], int], seconds: int | None = None) -> int | None:
    """The exit status of a function in a process of its own; None if that took more processor time than allowed."""

    def limited() -> None:
        if seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        sys.exit(work())

    process = multiprocessing.get_context("fork").Process(target=limited)
    process.start()
    process.join(None if seconds is None else ASLEEP * seconds)
    if process.is_alive():
        process.kill()
        process.join()
    return None if process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL) else process.exitcode


def _measure(session: _Session, items: Sequence[pytest.Item], path: Path) -> int:
    """Run all tests as they are; write which lines of symgauge each ran, and in what time."""
    tracer = Tracer(data_file=None, config_file=False, include=[f"{ROOT}/symgauge/*"])
    seconds: dict[str, float] = {}
    tracer.start()
    runs, start = session.runs(items), time.process_time()
    for item in items:
        tracer.switch_context(item.nodeid)
        if next(runs, None) is None:
            return FAILED
        seconds[item.nodeid], start = time.process_time() - start, time.process_time()
    tracer.stop()
    data = tracer.get_data()
    lines = {
        str(Path(file).relative_to(ROOT)): {
            n: sorted(filter(None, c)) for n, c in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    path.write_text(json.dumps([seconds, lines]), encoding="utf-8")
    return FAILED if session.failed else PASSED


def _functions() -> list[FunctionType]:
    """The library's functions, wherever they are held."""
    return [
        f for f in gc.get_objects() if isinstance(f, FunctionType) and f.__code__.co_filename.startswith(f"{ROOT}/")
    ]


def _swap(mutant: Mutant, functions: Sequence[FunctionType]) -> bool:
    """Give the changed function its new code; False if there is none, or it closes over other variables."""
    path, found = str(ROOT / mutant.file), False
    codes = [compile(mutant.source, path, "exec", dont_inherit=True)]
    for code in codes:
        codes += [x for x in code.co_consts if isinstance(x, CodeType)]
    new = {c.co_firstlineno: c for c in codes if c.co_qualname == mutant.function}
    for f in functions:
        old = f.__code__
        if (old.co_filename, old.co_qualname) == (path, mutant.function):
            mutated = new.get(old.co_firstlineno)
            if mutated is None or mutated.co_freevars != old.co_freevars:
                return False
            f.__code__, found = mutated, True
    return found


class Tried(NamedTuple):
    mutant: Mutant
    outcome: str


class PropertyRun:
    """Tries the mutants of one group and appends what became of them to the results."""

    def __init__(self, group: Group, results: Path, telling: Counter[str], folder: Path) -> None:
        self.group, self.results, self.telling, self.folder = group, results, telling, folder

    def run(self, wanted: Sequence[Mutant]) -> None:
        later = self.folder / "later"
        later.write_text("")

        def work(items: list[pytest.Item]) -> int:
            path = self.folder / "coverage.json"
            if _forked(lambda: _measure(session, items, path)) != PASSED:
                return FAILED
            functions = _functions()
            gc.freeze()  # so that forks copy less
            by_name, coverage = {item.nodeid: item for item in items}, Coverage(*json.loads(path.read_text()))
            for mutant in wanted:
                tests = coverage.tests(mutant, self.telling)

                def swapped(mutant: Mutant = mutant, tests: list[str] = tests) -> int:
                    return self.told(session, [by_name[t] for t in tests]) if _swap(mutant, functions) else NOT_SWAPPED

                status = _forked(swapped, coverage.patience(tests)) if mutant.function and tests else NOT_SWAPPED
                if tests and status == NOT_SWAPPED:
                    with later.open("a") as stream:
                        stream.write(json.dumps([mutant.key, tests, coverage.patience(tests)]) + "\n")
                    continue
                self.note(mutant, UNSEEN if not tests else status)
            return PASSED

        session, log = _Session(work), self.folder / "session.log"
        if _forked(lambda: _collect(self.group.tests, session, log)) != PASSED:
            raise SystemExit(f"the tests of {self.group.name} fail as they are:\n{log.read_text()[-3000:]}")
        by_key = {mutant.key: mutant for mutant in wanted}
        for line in later.read_text().splitlines():
            key, tests, patience = json.loads(line)
            self.note(by_key[tuple(key)], self.imported(by_key[tuple(key)], tests, patience))

    def told(self, session: _Session, items: Sequence[pytest.Item]) -> int:
        for _ in session.runs(items):
            pass
        (self.folder / "failed").write_text(session.failed)
        return FAILED if session.failed else PASSED

    def imported(self, mutant: Mutant, tests: Sequence[str], patience: int) -> int | None:
        """Try a mutant by loading symgauge with the change in it."""
        read, target, place = SourceFileLoader.get_code, str(ROOT / mutant.file), {t: i for i, t in enumerate(tests)}

        def get_code(self: SourceFileLoader, name: str) -> Any:
            if self.path != target:
                return read(self, name)
            return compile(mutant.source, target, "exec", dont_inherit=True)

        def work(items: list[pytest.Item]) -> int:
            chosen = sorted((i for i in items if i.nodeid in place), key=lambda item: place[item.nodeid])
            # Where cases went missing the change has been noticed.
            return self.told(session, chosen) if len(chosen) == len(place) else FAILED

        def load() -> int:
            SourceFileLoader.get_code = get_code  # type: ignore
            return _collect(sorted({t.partition("::")[0] for t in tests}), session, self.folder / "session.log")

        session = _Session(work)
        return _forked(load, patience)

    def note(self, mutant: Mutant, status: int | str | None) -> None:
        told = self.folder / "failed"
        by = told.read_text() if told.exists() else ""
        told.unlink(missing_ok=True)
        outcome = status if isinstance(status, str) else {PASSED: SURVIVED, None: ENDLESS}.get(status, KILLED)
        self.telling[by] += bool(by)
        with self.results.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"key": mutant.key, "outcome": outcome, "by": by}) + "\n")


def chosen(everything: Sequence[Mutant], sample: int | None, seed: int) -> list[Mutant]:
    """A sample that stays the same where the code does."""

    def lot(mutant: Mutant) -> str:
        return hashlib.sha256(repr((seed, *mutant.key)).encode()).hexdigest()

    return sorted(everything, key=lot)[:sample]


def equivalents(entries: Sequence[dict[str, Any]], groups: Sequence[Group]) -> set[tuple[Any, ...]]:
    """The keys of mutants that change nothing; every entry must fit a mutant."""
    there = {m.key for group in groups for m in group.mutants()}
    keys = {(e["file"], e["place"], e["before"], e["after"], e.get("number", 0)) for e in entries}
    if lost := keys - there:
        raise SystemExit("no such mutant (was the line changed?):\n" + "\n".join(map(str, sorted(lost))))
    return keys


def read(path: Path) -> dict[tuple[Any, ...], tuple[str, str]]:
    """Results so far: key → (outcome, test that noticed)."""
    records = map(json.loads, path.read_text(encoding="utf-8").splitlines() if path.exists() else [])
    return {tuple(r["key"]): (r["outcome"], r["by"]) for r in records}


def report(tried: dict[str, list[Tried]], sizes: dict[str, Counter[str]], command: str) -> str:
    """The Markdown page."""
    lines = [
        "# Mutations: which small changes the tests notice", "",
        f"Written by `{command}` on {date.today()}.",
        "A mutant is the library with one small change. It is killed if a test fails or never ends; an equivalent one",
        "changes nothing that can be seen, see `mutation.toml`. The score is killed / (tried − equivalent).", "",
    ]  # fmt: skip
    for group, found in tried.items():
        lines += [f"## {group}", "", "| module | mutants | tried | equivalent | killed | survived | score |"]
        lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
        files = sorted({t.mutant.file for t in found})
        for name, some in [(f, [t for t in found if t.mutant.file == f]) for f in files] + [("**all**", found)]:
            outcomes = Counter(t.outcome for t in some)
            killed, same = outcomes[KILLED] + outcomes[ENDLESS], outcomes[EQUIVALENT]
            real = len(some) - same
            whole = sizes[group].total() if name == "**all**" else sizes[group][name]
            score = f"{100 * killed / real:.0f} %" if real else "—"
            lines.append(f"| {name} | {whole} | {len(some)} | {same} | {killed} | {real - killed} | {score} |")
        alive = [t for t in found if t.outcome in (SURVIVED, UNSEEN)]
        lines += ["", *(["Survivors:", "", "```diff"] if alive else [])]
        for mutant, outcome in alive:
            where = f"# {mutant.file}:{mutant.first}, {mutant.place}: {outcome}"
            lines += [where, f"- {mutant.before}", f"+ {mutant.after}"]
        lines += ["```", ""] if alive else []
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    table = tomllib.loads((HERE / "mutation.toml").read_text(encoding="utf-8"))
    groups = [Group(name, **fields) for name, fields in table["groups"].items()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", nargs="*", help=f"of {', '.join(g.name for g in groups)}; all by default")
    parser.add_argument("--sample", type=int, default=100, help="mutants of each group (default 100)")
    parser.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=Path(tempfile.gettempdir()) / "symgauge-mutation.jsonl")
    arguments = parser.parse_args()
    if wrong := set(arguments.group) - {g.name for g in groups}:
        parser.error(f"no group is called {', '.join(wrong)}; see --help")
    same = equivalents(table.get("equivalent", []), groups)
    groups = [g for g in groups if not arguments.group or g.name in arguments.group]
    for name in LOADED_ONCE:
        import_module(name)
    tried: dict[str, list[Tried]] = {}
    sizes: dict[str, Counter[str]] = {}
    for group in groups:
        everything, known = group.mutants(), read(arguments.results)
        sizes[group.name] = Counter(m.file for m in everything)
        sample = chosen(everything, None if arguments.all else arguments.sample, arguments.seed)
        open_ = [m for m in sample if m.key not in same and known.get(m.key, ("",))[0] not in (KILLED, ENDLESS)]
        with tempfile.TemporaryDirectory() as folder:
            if open_:
                telling = Counter(by for _, by in known.values() if by)
                PropertyRun(group, arguments.results, telling, Path(folder)).run(open_)
        known = read(arguments.results)
        tried[group.name] = [Tried(m, EQUIVALENT if m.key in same else known[m.key][0]) for m in sample]
    size = "--all" if arguments.all else f"--sample {arguments.sample}"
    command = " ".join(["python benchmarks/mutation.py", *arguments.group, size, f"--seed {arguments.seed}"])
    (HERE / "mutation.md").write_text(report(tried, sizes, command), encoding="utf-8")


if __name__ == "__main__":
    main()
