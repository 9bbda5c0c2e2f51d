"""`symgauge compress`: a model without the numbers that its canonical form makes known."""

from __future__ import annotations

from symgauge.commands._folders import Dtype, Out, Source, Untie, tell
from symgauge.commands._output import JsonFlag, folder


def command(source: Source, out: Out, untie: Untie = False, dtype: Dtype = "", json: JsonFlag = False) -> None:
    """Store a model without what symmetries make superfluous; `symgauge expand` makes it whole again, bit for bit.

    Its function stays, in the canonical form "minor": norms folded, an identity block in the keys and values of every
    group.

    Exit status: 0, or 2 for input that cannot be used.
    """
    from symgauge.commands._progress import shares
    from symgauge.folders import compress_folder

    target = folder(out, "--out")
    with shares() as progress:
        found = compress_folder(source, target, untie=untie, dtype=dtype, progress=progress)
    (numbers, kept), (size, small) = found.numbers, found.bytes
    lines = [
        *found.notes,
        f"{kept:,} of {numbers:,} numbers are left, {small:,} of {size:,} bytes: {100 * (1 - small / size):.3g} % less",
        f"wrote {found.out}",
    ]
    tell(lines, json, {"source": source, **found.as_dict()})
