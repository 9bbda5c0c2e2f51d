"""`symgauge audit`: what of a checkpoint is free, what that saves, and what is degenerate at its weights."""

from __future__ import annotations

from typing import Annotated

import typer

from symgauge.commands._output import JsonFlag, file, print_json

Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="A model folder, a file of weights, or a GGUF file.")]
ReportOption = Annotated[str, typer.Option("--report", metavar="FILE.md", help="Write the page there, not on stdout.")]


def command(folder: Folder, report: ReportOption = "", json: JsonFlag = False) -> None:
    """List what of a checkpoint can be folded, moved or stored smaller, and with which saving.

    Families with their gauge at full size, ranks and conditioning of all heads, dead and doubled units. Weights are
    read a layer at a time; nothing is written but the report.

    Exit status: 0, or 2 for input that cannot be used.
    """
    from symgauge.atomic import check_target, write_text
    from symgauge.commands._progress import shares
    from symgauge.folders import audit
    from symgauge.folders.audit_page import audit_page

    target = file(report, "--report") if report else None
    if target is not None:
        check_target(target)
    with shares() as progress:
        found = audit(folder, progress)
    if target is not None:
        write_text(target, audit_page(found))
    if json:
        print_json(found.as_dict())
    elif target is None:
        print(audit_page(found), end="")
