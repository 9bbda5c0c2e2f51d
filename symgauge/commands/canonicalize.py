"""`symgauge canonicalize`: one representative of all checkpoints that are one function by symmetry."""

from __future__ import annotations

from typing import Annotated

import typer

from symgauge.commands._folders import Dtype, Out, Source, Untie, tell
from symgauge.commands._output import JsonFlag, folder

FormOption = Annotated[
    str, typer.Option("--form", help="balanced heads; or minor, in which `symgauge compress` stores them.")
]


def command(
    source: Source, out: Out, form: FormOption = "balanced", untie: Untie = False, dtype: Dtype = "",
    json: JsonFlag = False,
) -> None:  # fmt: skip
    """Write a model in canonical form: norms folded, stream in a fixed basis, heads balanced, neurons in order.

    The new folder loads where the old one did and computes the same. Two checkpoints that symmetries take into each
    other become the same numbers, up to rounding.

    Exit status: 0, or 2 for input that cannot be used.
    """
    from symgauge.commands._progress import shares
    from symgauge.folders import canonicalize_folder

    target = folder(out, "--out")
    with shares() as progress:
        found = canonicalize_folder(source, target, form=form, untie=untie, dtype=dtype, progress=progress)
    lines = [*found.notes, f"heads are determined to {found.rounding:.1e}", f"wrote {found.out}"]
    tell(lines, json, {"source": source, **found.as_dict()})
