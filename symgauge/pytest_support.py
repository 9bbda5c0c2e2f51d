"""What the pytest plugin does: collect claims, decide each after its check, carry the facts to the controller, report.

A check runs in some process (with pytest-xdist, a worker); its entries travel as JSON in `item.user_properties`. Only
the controller prints the summary and writes files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from symgauge import profiles
from symgauge.atomic import check_target, check_writable
from symgauge.check_places import home_of, located
from symgauge.claims import Claim, Entry, EvidenceLog, Ledger
from symgauge.claims.catalogue import catalogue
from symgauge.claims.declared import source_folder
from symgauge.claims.decorator import names_of
from symgauge.claims.select import matching, select
from symgauge.errors import SymgaugeError
from symgauge.reporting.lines import headline, line
from symgauge.uncollected import entries_of

PROPERTY = "symgauge"
LOG = pytest.StashKey[EvidenceLog]()
SOURCES = pytest.StashKey[dict[Path, dict[str, Claim]]]()
"""The claims of each source's folder by name, read once in a session."""


def decided(item: pytest.Item) -> tuple[Claim, ...]:
    """The claims that a collected test decides. Raises UsageError where it names none of its source's folder."""
    names = names_of(getattr(item, "function", None))
    if not names:
        return ()
    folder = source_folder(item.path) or item.path.parent
    known = item.config.stash.setdefault(SOURCES, {})
    try:
        if folder not in known:
            known[folder] = {claim.name: claim for claim in catalogue(folder).claims.values()}
    except SymgaugeError as error:
        raise refusal(item.config, str(error)) from error
    unknown = [name for name in names if name not in known[folder]]
    if unknown:
        raise refusal(item.config, f"{item.nodeid} decides {unknown[0]!r}: checks belong into files test_*.py")
    return tuple(known[folder][name] for name in names)


def refusal(config: pytest.Config, sentence: str) -> pytest.UsageError:
    """What to raise; a worker of pytest-xdist, whose words nobody sees, hands the sentence to the controller too."""
    getattr(config, "workeroutput", {})[PROPERTY] = sentence
    return pytest.UsageError(sentence)


def evidence_log(item: pytest.Item) -> EvidenceLog:
    """The one log of a test, made when first asked for."""
    if LOG not in item.stash:
        item.stash[LOG] = EvidenceLog(decided(item))
    return item.stash[LOG]


class ClaimsPlugin:
    """The hooks, one object per pytest session."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.entries: dict[str, Entry] = {}
        self.expected: dict[str, Claim] = {}
        self.uncollected: dict[str, Entry] = {}
        self.trouble = ""
        self.is_worker = hasattr(config, "workerinput")
        self.events: str | None = config.getoption("symgauge_events")
        self._check_targets()
        chosen = config.getoption("symgauge_profile")
        if chosen or os.environ.get(profiles.VARIABLE):
            try:
                profiles.activate(chosen)
            except SymgaugeError as error:
                raise pytest.UsageError(str(error)) from error

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Have reports say their file, also to another process; outside of pytest's root the node id does not."""
        report = yield
        report.__dict__["file"] = str(collector.path)
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported, or skips itself, leaves its claims undecided, and says so."""
        if report.passed:
            return
        for entry in entries_of(report, self.config):
            self.uncollected[entry.claim.id] = entry
            self._tell(entry)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Mark the checks, early enough for -m."""
        for claim in decided(item):
            item.add_marker(pytest.mark.claim(claim.id))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Refuse a claim with two checks, and apply --claims."""
        owners: dict[str, pytest.Item] = {}
        for item in items:
            for claim in decided(item):
                if claim.id in owners:
                    raise refusal(
                        config,
                        f"claim {claim.id} is decided by {owners[claim.id].nodeid} and by {item.nodeid}: "
                        "give it one check (loop over the cases inside it, in place of parametrize)",
                    )
                owners[claim.id] = item
        if owners:
            profiles.activate(config.getoption("symgauge_profile"))
        patterns = config.getoption("claims")
        if patterns:
            try:
                chosen = select(patterns, [*owners, *self.uncollected])
                kept = {owners[claim_id] for claim_id in chosen if claim_id in owners}
            except SymgaugeError as error:
                raise refusal(config, str(error)) from error
            config.hook.pytest_deselected(items=[item for item in items if item not in kept])
            items[:] = [item for item in items if item in kept]
        for item in items:
            self.expected.update({claim.id: claim for claim in decided(item)})

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Run the check, decide its claims, and fail where a verdict differs from the one on record."""
        claims = decided(pyfuncitem)
        if not claims:
            return (yield)
        try:
            result = yield
        except BaseException as error:
            record(pyfuncitem, _failure(error))
            raise
        differing = [entry for entry in record(pyfuncitem) if not entry.agrees]
        if differing:
            pytest.fail("\n".join(map(_difference, differing)), pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A check that was skipped, or whose fixtures break before or after it, leaves its claims undecided."""
        if call.when != "call" and call.excinfo is not None and decided(item):
            record(item, _failure(call.excinfo.value))
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take up the facts of a finished check; in the controller they come from the workers."""
        if self.is_worker or report.when != "teardown":
            return
        found = [Entry.from_json(json.loads(str(value))) for name, value in report.user_properties if name == PROPERTY]
        for claim_id, entry in {entry.claim.id: entry for entry in found}.items():
            self.entries[claim_id] = entry
            self._tell(entry)

    def _tell(self, entry: Entry) -> None:
        """One line of JSON to whoever watches the run."""
        if self.events and not self.is_worker:
            with open(self.events, "a", encoding="utf-8") as stream:
                stream.write(_json(entry) + "\n")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over why a worker of pytest-xdist refused to run."""
        self.trouble = getattr(node, "workeroutput", {}).get(PROPERTY, self.trouble)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the ledger and the reports. A claim that was collected and never decided is in them as undecided."""
        data, pages = self._targets()
        if self.trouble:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return
        if self.is_worker or self.config.option.collectonly:
            return
        try:
            if data:
                self.ledger().save(data)
            if pages and self.ledger().entries:
                from symgauge.reporting.site import write_reports
                from symgauge.sources import register

                for home in sorted({entry.home for entry in self.ledger().entries.values()} - {""}):
                    register(Path(self.config.invocation_params.dir, home))
                write_reports(self.ledger(), pages)
        except SymgaugeError as error:
            self.trouble = str(error)
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """One line per claim."""
        ledger = self.ledger()
        if self.trouble:
            terminalreporter.write_line(f"symgauge: {self.trouble}", red=True)
        if self.is_worker or not ledger.entries or self.config.option.collectonly:
            return
        terminalreporter.section("claims")
        for entry in ledger.entries.values():
            terminalreporter.write_line(line(entry), red=not entry.agrees)
        terminalreporter.write_line(headline(ledger))

    def _check_targets(self) -> None:
        """See that results can be written, before any check is run."""
        data, pages = self._targets()
        try:
            if data and not self.is_worker:
                check_target(data)
            if pages and not self.is_worker:
                check_writable(pages)
        except SymgaugeError as error:
            raise pytest.UsageError(str(error)) from error

    def _targets(self) -> tuple[Path | None, Path | None]:
        """The file of the ledger and the folder of the reports; UsageError for a name that is none."""
        names = [self.config.getoption(option) for option in ("ledger", "claims_report")]
        if "" in names:
            raise pytest.UsageError("--ledger needs the name of a file, --claims-report that of a folder; one is empty")
        data, pages = (Path(self.config.invocation_params.dir, name) if name else None for name in names)
        return data, pages

    def ledger(self) -> Ledger:
        """What has been decided so far, and what was asked for and is not."""
        patterns = self.config.getoption("claims")
        asked = matching(patterns, self.uncollected) if patterns else self.uncollected
        uncollected = {claim_id: self.uncollected[claim_id] for claim_id in asked}
        not_run = {
            claim_id: Entry.of(claim, (), "the check was not run")
            for claim_id, claim in self.expected.items()
            if claim_id not in self.entries
        }
        # Where one class of a file cannot be collected, the file's other checks are.
        return Ledger.of((uncollected | not_run | self.entries).values(), profiles.active())


def record(item: pytest.Item, failure: str = "") -> Sequence[Entry]:
    """Decide the claims of a test and attach the entries to it."""
    log, home = evidence_log(item), home_of(item.path, item.config)
    entries = [
        Entry.of(located(claim, item.path, item.name, item.config), log.of(claim.id), failure, home)
        for claim in decided(item)
    ]
    for entry in entries:
        item.user_properties.append((PROPERTY, _json(entry)))
    return entries


def _json(entry: Entry) -> str:
    return json.dumps(entry.to_json(), sort_keys=True, ensure_ascii=False, allow_nan=False)


def _failure(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    detail = f": {text[0][:200]}" if text else ""
    if isinstance(error, pytest.skip.Exception):
        return f"the check was skipped{detail}"
    return f"the check stopped with {type(error).__name__}{detail}"


def _difference(entry: Entry) -> str:
    lines = [f"{entry.claim.id}: on record {entry.claim.verdict}, but the evidence gives {entry.verdict}, because"]
    lines += [f"  - {reason}" for reason in entry.reasons]
    lines += [f"  counterexample: {record.counterexample}" for record in entry.evidence if record.counterexample]
    return "\n".join([*lines, f"  replay: {entry.replay}"])
