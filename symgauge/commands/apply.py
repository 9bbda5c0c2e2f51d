"""`symgauge apply`: a checkpoint moved by an element that `symgauge compare` found."""

from __future__ import annotations

from typing import Annotated

import typer

from symgauge.commands._output import file, folder

Source = Annotated[str, typer.Argument(metavar="A", help="A model folder, or a GGUF file.")]
ElementFile = Annotated[
    str, typer.Argument(metavar="ELEMENT", help="What `symgauge compare A B --element FILE` wrote.")
]
OutOption = Annotated[str, typer.Option("--out", metavar="B", help="The folder to write, which must not exist.")]
DtypeOption = Annotated[str, typer.Option("--dtype", help="Store in this dtype instead of each tensor's own.")]


def command(source: Source, element: ElementFile, out: OutOption, dtype: DtypeOption = "") -> None:
    """Write the image of a checkpoint under a gauge element: other weights, the same function.

    Exit status: 0 written, 2 for input that cannot be used.
    """
    from symgauge.commands._progress import shares
    from symgauge.comparison.applying import apply_element

    with shares() as progress:
        apply_element(source, file(element, "ELEMENT"), folder(out, "--out"), dtype=dtype, progress=progress)
    print(f"{out}: {source} moved by {element}")
