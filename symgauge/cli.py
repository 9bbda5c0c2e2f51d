"""The command line: one file per command in symgauge/commands/, each with a function `command`."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from symgauge import commands
from symgauge.errors import SymgaugeError

USAGE, INTERRUPTED = 2, 130


class Commands(TyperGroup):
    """Finds commands by file name. Their files import lightly; what is heavy they import when run."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the files in symgauge/commands/ that do not start with an underscore, with hyphens for others."""
        files = (module.name for module in pkgutil.iter_modules(commands.__path__))
        return sorted(name.replace("_", "-") for name in files if name[0] != "_")

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command called `cmd_name`, or None."""
        if cmd_name not in self.list_commands(ctx):
            return None
        function = importlib.import_module(f"{commands.__name__}.{cmd_name.replace('-', '_')}").command
        single = typer.Typer(add_completion=False)
        single.command(name=cmd_name)(guarded(function))
        return typer.main.get_command(single)


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
            print("symgauge: interrupted", file=sys.stderr)
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
