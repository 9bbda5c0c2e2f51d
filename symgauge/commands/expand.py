"""`symgauge expand`: a compressed model made whole."""

from __future__ import annotations

from typing import Annotated

import typer

from symgauge.commands._folders import Out, tell
from symgauge.commands._output import JsonFlag, folder

Small = Annotated[str, typer.Argument(metavar="IN", help="A folder that `symgauge compress` wrote.")]


def command(source: Small, out: Out, json: JsonFlag = False) -> None:
    """Make a folder that `symgauge compress` wrote whole, bit for bit as its canonical form was.

    Exit status: 0, or 2 for input that cannot be used.
    """
    from symgauge.commands._progress import shares
    from symgauge.folders import expand_folder

    target = folder(out, "--out")
    with shares() as progress:
        expand_folder(source, target, progress=progress)
    tell([f"wrote {target}"], json, {"source": source, "out": str(target)})
