"""Tables with the same look everywhere, and results as text."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

WIDTH = 110
"""Columns of text that goes to no terminal."""


def console() -> Console:
    """Where results are printed: stdout, in the terminal's own width or a fixed one elsewhere."""
    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False, markup=False)


def as_text(result: Any) -> str:
    """What the console shows of a result, as a string."""
    file = io.StringIO()
    Console(file=file, width=WIDTH, highlight=False, markup=False).print(result)
    return file.getvalue().rstrip("\n")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", text: Sequence[int] = (0,)) -> Table:
    """Columns numbered in ``text`` on the left, by default the first; numbers on the right."""
    made = Table(box=box.SIMPLE, title=title or None, title_justify="left", show_header=any(columns))
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i in text else "right", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made
