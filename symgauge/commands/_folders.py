"""Options of the commands that make one model folder of another, and what they say when they are done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

Source = Annotated[str, typer.Argument(metavar="IN", help="A model folder, or a GGUF file.")]
Out = Annotated[str, typer.Option("--out", metavar="OUT", help="The folder to make; it must not be there yet.")]
Untie = Annotated[bool, typer.Option("--untie", help="Store a tied head apart, so that the final norm folds too.")]
Dtype = Annotated[
    str, typer.Option("--dtype", help="float64, float32, bfloat16 or float16; without it, each tensor's own.")
]


def tell(lines: Iterable[str], json: bool, data: dict[str, object]) -> None:
    """The result on stdout: JSON, or a line each."""
    from symgauge.commands._output import print_json

    if json:
        print_json(data)
    else:
        print("\n".join(lines))
