"""`symgauge verify`: decide claims by running their checks, and report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from symgauge.commands._output import From, Selection
from symgauge.errors import InvalidInput

if TYPE_CHECKING:
    from symgauge.claims import Entry
    from symgauge.claims.catalogue import Catalogue
    from symgauge.verification import Run

MOST_WORKERS = 4
LEDGER = "ledger.json"


def command(
    select: Selection = None,
    report: Annotated[str | None, typer.Option(metavar="DIR", help="Bring the reports in DIR up to date.")] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="Write the ledger to FILE as JSON.")] = None,
    home: From = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the same command was stopped.")] = False,
    workers: Annotated[int, typer.Option(min=0, help="Processes to run checks in; 0 chooses.")] = 0,
    profile: Annotated[str, typer.Option(help="How hard to sample: dev, ci or thorough.")] = "",
    seed: Annotated[int | None, typer.Option(min=0, help="Draw samples from this seed again (dev, thorough).")] = None,
) -> None:
    """Check claims; exit status 0 only if every computed verdict is the one on record."""
    from symgauge import profiles
    from symgauge.claims import Entry, Ledger
    from symgauge.claims.journal import take_up
    from symgauge.claims.select import select as choose
    from symgauge.commands._output import claims_of
    from symgauge.extras import require
    from symgauge.reporting.site import check_reports

    require("verify", "symgauge verify")
    if report is not None and home is None:
        require("reproduce", "symgauge verify --report, which draws the figures of experiments,")
    chosen = profiles.check(profile or profiles.active())
    pages, data = _targets(report, json)
    target = pages / LEDGER if pages else data
    known = claims_of(home)
    ids = choose(select or (), list(known.claims))
    if not ids:
        print(f"there are no claims in {known.folder}")
        raise typer.Exit(2)
    if pages:
        planned = Ledger.of([Entry.of(known.claims[claim_id], ()) for claim_id in ids], chosen)
        check_reports(planned, pages, known.claims)
    done: dict[str, Entry] = {}
    if resume:
        if target is None:
            raise InvalidInput("--resume goes on with a run that writes; give --report or --json as that run had them")
        done, drawn_from = take_up(target, chosen, {claim_id: known.claims[claim_id] for claim_id in ids})
        seed = drawn_from if seed is None else seed
    if seed is not None:
        os.environ[profiles.SEED_VARIABLE] = str(seed)
    processes = workers or min(MOST_WORKERS, os.cpu_count() or 1, len({known.claims[name].check for name in ids}))
    run = _verify(known, ids, chosen, processes, target, done, pages, data)
    if not (run.ledger.agrees and run.passed):
        _tell_differences(run)
        raise typer.Exit(1)


def _targets(report: str | None, json: str | None) -> tuple[Path | None, Path | None]:
    """The folder of reports and the file of the ledger, both fit to be written; InvalidInput otherwise."""
    from symgauge.atomic import check_target, check_writable
    from symgauge.commands._output import file, folder
    from symgauge.sources import sources

    pages = None if report is None else folder(report, "--report")
    data = None if json is None else file(json, "--json")
    if pages and data and data.resolve() == (pages / LEDGER).resolve():
        raise InvalidInput(f"--json {json} is where --report {report} keeps its own ledger; give another file")
    if data:
        check_target(data)
    if pages:
        sources()  # a malformed description is found before the checks and not after them
        check_writable(pages)
    return pages, data


def _verify(
    known: Catalogue,
    ids: Sequence[str],
    profile: str,
    workers: int,
    target: Path | None,
    done: Mapping[str, Entry],
    pages: Path | None,
    data: Path | None,
) -> Run:
    """Check the claims that are not done, and write; until that is done, what is decided is kept beside the target."""
    from symgauge.claims import Ledger
    from symgauge.claims.journal import Journal
    from symgauge.commands._progress import progress
    from symgauge.profiles import sampling_seed
    from symgauge.reporting.lines import headline, overview
    from symgauge.reporting.site import write_reports
    from symgauge.verification import Run, run_checks

    left = [claim_id for claim_id in ids if claim_id not in done]
    with ExitStack() as stack:
        journal = target and stack.enter_context(Journal(target, profile, sampling_seed(profile), done.values()))
        watch = stack.enter_context(progress(len(left)))

        def keep(entry: Entry) -> None:
            if journal:
                journal.add(entry)
            watch(entry)

        try:
            run = run_checks(known, left, profile=profile, workers=workers, watch=keep)
        except KeyboardInterrupt:
            if not journal or not journal.decided:
                raise
            said = (
                f"{journal.decided} of {len(ids)} claims are decided and kept; the same command with --resume goes on"
            )
            raise KeyboardInterrupt(said) from None
        run = Run(Ledger.of([*done.values(), *run.ledger.entries.values()], profile), run.passed, run.output)
        if data:
            run.ledger.save(data)
        index = pages and write_reports(run.ledger, pages, known.claims)
    print(f"\n{overview(run.ledger)}\n\n{headline(run.ledger)}")
    if index:
        print(f"wrote {index}")
    return run


def _tell_differences(run: Run) -> None:
    differing = [entry for entry in run.ledger.entries.values() if not entry.agrees]
    for entry in differing:
        print(f"\n{entry.claim.id} ({entry.claim.check}): on record {entry.claim.verdict}, computed {entry.verdict}")
        print("\n".join(f"  - {reason}" for reason in entry.reasons))
        print(f"  again: {entry.replay}")
    if not differing or any(entry.failure for entry in differing):
        print(f"\nthe output of pytest:\n{run.output}")
