"""What commands share: options with one meaning everywhere, and JSON on stdout."""

from __future__ import annotations

import contextlib
import json
import sys
import traceback as tracebacks
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symgauge.errors import InvalidInput

if TYPE_CHECKING:
    from symgauge.claims.catalogue import Catalogue

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]
Selection = Annotated[
    list[str] | None,
    typer.Argument(metavar="[SELECT]...", help="Claims by id, by source, or by glob; all without it."),
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="DIR", help="Claims of your own: a folder with claims.toml, or of such folders."),
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


def folder(text: str, option: str) -> Path:
    """The folder that an option names. Raises InvalidInput for an empty name, which would mean the current folder."""
    if not text.strip():
        raise InvalidInput(f"{option} is empty; give the name of a folder")
    return Path(text)


def file(text: str, option: str) -> Path:
    """The file that an option names. Raises InvalidInput for an empty name and for that of a folder."""
    if not text.strip() or text.endswith("/"):
        raise InvalidInput(f"{option} is {text!r}; give the name of a file")
    return Path(text)


def claims_of(home: str | None) -> Catalogue:
    """The claims that come with symgauge, or those of the folder that --from names.

    Raises InvalidInput for a folder that is not there or has no claims.
    """
    from symgauge.claims.catalogue import catalogue, checks_folder
    from symgauge.sources import register

    if home is None:
        return catalogue(checks_folder())
    place = folder(home, "--from").resolve()
    if not place.is_dir():
        raise InvalidInput(f"--from {home}: there is no such folder")
    known = catalogue(place)
    if not known.claims:
        raise InvalidInput(f"--from {home}: no claims.toml in this folder or below it has a claim")
    register(place)
    return known
