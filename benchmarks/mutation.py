"""Change the library in one place, see whether a test notices, and write the score to benchmarks/mutation.md.

    python benchmarks/mutation.py [GROUP ...] [--sample N] [--seed S] [--all] [--results FILE]

A group is some modules and the tests that answer for them. Its tests run once under coverage; a mutant is then tried
against those that ran its lines, the quickest and the most telling first, up to the first failure. Every mutant gets a
forked process, in which torch is loaded and symgauge is not. What was killed before is in the results and is not tried
again, so a second call shows what new tests have killed. Groups are in benchmarks/mutation.toml, and so are, each with
a reason, mutants that change nothing anyone can see; an entry that fits no mutant stops the script.

Of the tools there are, mutmut changes functions only, and much that matters here is a number beside them; cosmic-ray
starts a process and loads torch for each mutant.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Callable, Generator, Sequence
from datetime import date
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any, NamedTuple

# Hypothesis would load symgauge before it is changed.
os.environ["HYPOTHESIS_NO_PLUGINS"] = "1"

import pytest
from hypothesis import Phase, settings
from mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parent.parent
HERE = Path(__file__).resolve().parent
LOADED_ONCE = ("torch._dynamo", "sympy", "scipy.stats", "flint", "galois", "hypothesis.strategies", "transformers")
SLOW, ENOUGH = 10.0, 30.0
"""Tests that take longer are left out, and all tests for one mutant take no longer than that (seconds of processor)."""
PATIENCE, AT_LEAST = 4, 20
"""A mutant has that many times what its tests take, and so many seconds, before it counts as one that never ends."""
ASLEEP = 20
"""How much longer that may last on a busy machine."""
KILLED, ENDLESS, SURVIVED, UNSEEN, EQUIVALENT = "killed", "killed by time", "survived", "no test runs it", "equivalent"


class Group(NamedTuple):
    name: str
    modules: list[str]
    tests: list[str]

    def mutants(self) -> list[Mutant]:
        paths = [ROOT / m for m in self.modules]
        files = [f for path in paths for f in (sorted(path.glob("*.py")) if path.is_dir() else [path])]
        return [x for f in files for x in mutants(str(f.relative_to(ROOT)), f.read_text(encoding="utf-8"))]


class Coverage(NamedTuple):
    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]
    """File → line → tests that ran it."""

    def tests(self, mutant: Mutant) -> list[str]:
        """Tests that ran the lines of a mutant; for what runs on import, those that ran anything of its file."""
        lines = self.lines.get(mutant.file, {})
        found = {t for n in range(mutant.statement, mutant.last + 1) for t in lines.get(n, ())}
        if mutant.on_import:
            found = {t for tests in lines.values() for t in tests}
        return [t for t in found if self.seconds.get(t, SLOW) < SLOW]


class _Watch:
    """A pytest plugin: keeps some tests, in a given order, and notes how long each took and which failed."""

    def __init__(self, order: Sequence[str] = (), known: Sequence[str] = ()) -> None:
        self.place = {test: i for i, test in enumerate(order)}
        self.known = set(known)
        self.seconds: dict[str, float] = {}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.known:
            # A test that was not there before is there because of the change.
            items[:] = [item for item in items if item.nodeid in self.place or item.nodeid not in self.known]
            items.sort(key=lambda item: self.place.get(item.nodeid, len(self.place)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        start = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - start
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid


def _pytest(arguments: Sequence[str], watch: _Watch, log: Path) -> int:
    """Run pytest in this process, without its output, and on the copy of symgauge that this script belongs to."""
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    settings.register_profile(
        "mutation", phases=(Phase.explicit, Phase.generate), derandomize=True, database=None, deadline=None
    )
    import_module("symgauge._hypothesis")._hypothesis_setup_hook()
    options = ["-q", "-p", "no:cacheprovider", "--assert=plain", "--hypothesis-profile=mutation"]
    return int(pytest.main([*options, *arguments], plugins=[watch]))


def _forked(work: Callable[[], int], seconds: int | None = None) -> int | None:
    """The exit status of a function in a process of its own; None if that took more processor time than allowed."""

    def limited() -> None:
        if seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        sys.exit(work())

    process = multiprocessing.get_context("fork").Process(target=limited)
    process.start()
    process.join(None if seconds is None else ASLEEP * seconds)
    if process.is_alive():
        process.kill()
        process.join()
    return None if process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL) else process.exitcode


def coverage_of(group: Group, folder: Path) -> Coverage:
    """Run a group's tests as they are, in a process of their own."""
    data, times = folder / f"{group.name}.coverage", folder / f"{group.name}.json"

    def work() -> int:
        os.environ["COVERAGE_FILE"] = str(data)
        watch = _Watch()
        status = _pytest(
            [*group.tests, "--cov=symgauge", "--cov-context=test", "--cov-report="], watch, folder / "coverage.log"
        )
        times.write_text(json.dumps(watch.seconds))
        return status

    if _forked(work) != 0:
        raise SystemExit(f"the tests of {group.name} fail as they are; see {folder / 'coverage.log'}")
    from coverage import CoverageData

    found = CoverageData(str(data))
    found.read()
    lines = {
        str(Path(file).relative_to(ROOT)): {
            line: sorted({context.partition("|")[0] for context in contexts if context})
            for line, contexts in found.contexts_by_lineno(file).items()
        }
        for file in found.measured_files()
        if Path(file).is_relative_to(ROOT)
    }
    return Coverage(json.loads(times.read_text()), lines)


def attempt(mutant: Mutant, coverage: Coverage, telling: Counter[str], folder: Path) -> tuple[str, str]:
    """What became of a mutant, and the test that noticed it."""
    tests = sorted(coverage.tests(mutant), key=lambda t: (coverage.seconds[t] + 0.05) / (1 + telling[t]))
    if not tests:
        return UNSEEN, ""
    order: list[str] = []
    total = 0.0
    for test in tests:
        total += coverage.seconds[test]
        if order and total > ENOUGH:
            break
        order.append(test)
    told = folder / "failed"
    told.unlink(missing_ok=True)

    def work() -> int:
        read, target = SourceFileLoader.get_code, str(ROOT / mutant.file)

        def get_code(self: SourceFileLoader, name: str) -> Any:
            if self.path != target:
                return read(self, name)
            return compile(mutant.source, target, "exec", dont_inherit=True)

        SourceFileLoader.get_code = get_code  # type: ignore
        watch = _Watch(order, list(coverage.seconds))
        status = _pytest(["-x", *sorted({t.partition("::")[0] for t in order})], watch, folder / "mutant.log")
        told.write_text(watch.failed)
        return status

    status = _forked(work, AT_LEAST + int(PATIENCE * min(total, ENOUGH)))
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise SystemExit(f"none of the tests that ran {mutant.file} were found again; see {folder / 'mutant.log'}")
    if status is None:
        return ENDLESS, ""
    return (SURVIVED if status == 0 else KILLED), told.read_text() if told.exists() else ""


def chosen(all_of_them: Sequence[Mutant], sample: int | None, seed: int) -> list[Mutant]:
    """A sample that stays the same where the code does."""

    def lot(mutant: Mutant) -> str:
        return hashlib.sha256(repr((seed, *mutant.key)).encode()).hexdigest()

    return sorted(all_of_them, key=lot)[:sample]


def equivalents(entries: Sequence[dict[str, Any]], groups: Sequence[Group]) -> set[tuple[Any, ...]]:
    """The keys of mutants that change nothing; every entry must fit a mutant."""
    there = {m.key for group in groups for m in group.mutants()}
    keys = {(e["file"], e["place"], e["before"], e["after"], e.get("number", 0)) for e in entries}
    if lost := keys - there:
        raise SystemExit("no such mutant (was the line changed?):\n" + "\n".join(map(str, sorted(lost))))
    return keys


class Tried(NamedTuple):
    mutant: Mutant
    outcome: str


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
    results = {}
    if arguments.results.exists():
        for line in arguments.results.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            results[tuple(record["key"])] = record["outcome"], record["by"]
    telling = Counter(by for _, by in results.values() if by)
    for name in LOADED_ONCE:
        import_module(name)
    tried: dict[str, list[Tried]] = {}
    sizes: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as temporary, arguments.results.open("a", encoding="utf-8") as stream:
        for group in groups:
            everything = group.mutants()
            sizes[group.name] = Counter(m.file for m in everything)
            sample = chosen(everything, None if arguments.all else arguments.sample, arguments.seed)
            coverage, tried[group.name] = None, []
            for mutant in sample:
                outcome, by = results.get(mutant.key, (SURVIVED, ""))
                if mutant.key in same:
                    outcome = EQUIVALENT
                elif outcome not in (KILLED, ENDLESS):
                    coverage = coverage or coverage_of(group, Path(temporary))
                    outcome, by = attempt(mutant, coverage, telling, Path(temporary))
                    telling[by] += bool(by)
                    stream.write(json.dumps({"key": mutant.key, "outcome": outcome, "by": by}) + "\n")
                    stream.flush()
                    print(f"{outcome}: {mutant.file}:{mutant.first}\n- {mutant.before}\n+ {mutant.after}", flush=True)
                tried[group.name].append(Tried(mutant, outcome))
    size = "--all" if arguments.all else f"--sample {arguments.sample}"
    command = " ".join(["python benchmarks/mutation.py", *arguments.group, size, f"--seed {arguments.seed}"])
    (HERE / "mutation.md").write_text(report(tried, sizes, command), encoding="utf-8")


if __name__ == "__main__":
    main()
