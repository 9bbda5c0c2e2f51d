"""The command line: one file per command in symgauge/commands/, each with a function `command`.

The folder of a source may have commands/ too.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from symgauge import commands
from symgauge.errors import InvalidInput, SymgaugeError
from symgauge.sources import source_commands

USAGE, INTERRUPTED = 2, 130


class Commands(TyperGroup):
    """Finds commands by file name. Their files import lightly; what is heavy they import when run."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the files that do not start with an underscore, with hyphens for others."""
        return sorted(_modules())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command called `cmd_name`, or None."""
        module = _modules().get(cmd_name)
        if module is None:
            return None
        function = importlib.import_module(module).command
        single = typer.Typer(add_completion=False)
        single.command(name=cmd_name)(guarded(function))
        return typer.main.get_command(single)


def _modules() -> dict[str, str]:
    """The module of each command; a source's command does not take the place of one of ours."""
    files = (module.name for module in pkgutil.iter_modules(commands.__path__))
    own = {name.replace("_", "-"): f"{commands.__name__}.{name}" for name in files if name[0] != "_"}
    with suppress(InvalidInput):  # without the package of checks there are our commands still
        return source_commands() | own
    return own


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with the caller's mistakes as one sentence on stderr (exit 2), and Ctrl-C as exit 130."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except SymgaugeError as error:
            print(f"symgauge: {error}", file=sys.stderr)
            raise typer.Exit(USAGE) from error
        except KeyboardInterrupt as error:
            print(": ".join(["symgauge: interrupted", *map(str, error.args)]), file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from error

    return run


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"symgauge {version('symgauge')}")
        raise typer.Exit


app = typer.Typer(cls=Commands, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """A theorem checker for the parameter symmetries of transformers."""


def main() -> None:
    """The console script `symgauge`."""
    app()


if __name__ == "__main__":
    main()
