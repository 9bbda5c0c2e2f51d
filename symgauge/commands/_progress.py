"""A line per claim as it is decided, under a moving bar on a terminal and bare elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from symgauge.claims import Entry
from symgauge.reporting.lines import line


@contextmanager
def progress(total: int) -> Generator[Callable[[Entry], None], None, None]:
    """Yields what to call with each entry."""
    if not sys.stdout.isatty():
        yield lambda entry: print(line(entry), flush=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(), transient=True) as bar:
        task = bar.add_task("checking", total=total)

        def show(entry: Entry) -> None:
            bar.console.print(line(entry), style=None if entry.agrees else "red", markup=False, highlight=False)
            bar.advance(task)

        yield show


@contextmanager
def shares() -> Generator[Callable[[str, float], None], None, None]:
    """Yields what to call with the name of a step and its share done; a bar on a terminal, silent elsewhere."""
    if not sys.stderr.isatty():
        yield lambda what, share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)
