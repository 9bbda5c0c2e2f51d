"""What commands share: options with one meaning everywhere, and JSON on stdout."""

from __future__ import annotations

import contextlib
import json
import sys
import traceback as tracebacks
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]
Selection = Annotated[
    list[str] | None, typer.Argument(metavar="[SELECT]...", help="Claims by id, prefix or glob; all without it.")
]


@contextmanager
def foreign_code(json: bool, traceback: bool) -> Iterator[None]:
    """Around what runs a user's code: with --json nothing but the result may reach stdout, whatever that code prints;
    of what it raises, the traceback is shown on stderr or, where there may be more to see than its place, offered."""
    from symgauge.errors import ForeignError, SymgaugeError

    with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext():
        try:
            yield
        except SymgaugeError as error:
            if traceback and error.__cause__ is not None:
                tracebacks.print_exception(error.__cause__, file=sys.stderr)
            elif isinstance(error, ForeignError):
                raise ForeignError(f"{error} (--traceback shows all of it)") from error
            raise


def print_json(data: Any) -> None:
    """`data` on stdout, keys sorted."""
    print(json.dumps(data, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False))
