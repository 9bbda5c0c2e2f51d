"""`symgauge verify`: decide claims by running their checks, and report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from symgauge.commands._output import Selection

MOST_WORKERS = 4


def command(
    select: Selection = None,
    report: Annotated[Path | None, typer.Option(metavar="DIR", help="Write Markdown reports into DIR.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the ledger to FILE as JSON.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes to run checks in; 0 chooses.")] = 0,
    profile: Annotated[str, typer.Option(help="How hard to sample: dev, ci or thorough.")] = "",
    seed: Annotated[int | None, typer.Option(min=0, help="Draw samples from this seed again (dev, thorough).")] = None,
) -> None:
    """Check claims; exit status 0 only if every computed verdict is the one on record."""
    from symgauge import profiles
    from symgauge.atomic import check_target, check_writable
    from symgauge.claims.catalogue import catalogue, checks_folder
    from symgauge.claims.select import select as choose
    from symgauge.commands._progress import progress
    from symgauge.extras import require
    from symgauge.reporting.lines import headline, overview
    from symgauge.reporting.site import write_reports
    from symgauge.sources import sources
    from symgauge.verification import run_checks

    require("verify", "symgauge verify")
    if report:
        require("reproduce", "symgauge verify --report, which draws the figures of experiments,")
    chosen_profile = profiles.check(profile or profiles.active())
    if seed is not None:
        os.environ[profiles.SEED_VARIABLE] = str(seed)
    known = catalogue(checks_folder())
    ids = choose(select or (), list(known.claims))
    if not ids:
        print(f"there are no claims in {known.folder}")
        raise typer.Exit(2)
    if json:
        check_target(json)
    if report:
        sources()  # a malformed description is found before the checks and not after them
        check_writable(report)
    processes = workers or min(MOST_WORKERS, os.cpu_count() or 1, len({known.claims[name].check for name in ids}))
    with progress(len(ids)) as watch:
        run = run_checks(known, ids, profile=chosen_profile, workers=processes, watch=watch)
    if json:
        run.ledger.save(json)
    written = write_reports(run.ledger, report) if report else []
    print(f"\n{overview(run.ledger)}\n\n{headline(run.ledger)}")
    if written:
        print(f"wrote {', '.join(str(path) for path in written)}")
    if not (run.ledger.agrees and run.passed):
        differing = [entry for entry in run.ledger.entries.values() if not entry.agrees]
        for entry in differing:
            print(
                f"\n{entry.claim.id} ({entry.claim.check}): on record {entry.claim.verdict}, computed {entry.verdict}"
            )
            print("\n".join(f"  - {reason}" for reason in entry.reasons))
        if not differing or any(entry.failure for entry in differing):
            print(f"\nthe output of pytest:\n{run.output}")
        raise typer.Exit(1)
