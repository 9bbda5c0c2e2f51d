"""`symgauge compare`: are two checkpoints one function, by which gauge element, and if not, which tensor breaks it."""

from __future__ import annotations

from typing import Annotated

import typer

from symgauge.commands._measuring import OutputOption
from symgauge.commands._output import JsonFlag, file, print_json

First = Annotated[str, typer.Argument(metavar="A", help="A model folder, a file of weights, or a GGUF file.")]
Second = Annotated[str, typer.Argument(metavar="B", help="What is held against it.")]
ConfigOption = Annotated[
    str, typer.Option("--config", metavar="FILE", help="The config.json of weights that have none beside them.")
]
TokensOption = Annotated[
    str, typer.Option("--tokens", metavar="FILE", help="Token ids to run both on: JSON, a list or a list of lists.")
]
ElementOption = Annotated[
    str, typer.Option("--element", metavar="FILE", help="Write the element found, for `symgauge apply`.")
]
ReportOption = Annotated[
    str, typer.Option("--report", metavar="FILE.md", help="Write a report, with a picture beside it.")
]
TensorsOnly = Annotated[bool, typer.Option("--tensors-only", help="Compare tensors, and do not run the models.")]


def command(
    first: First,
    second: Second,
    config: ConfigOption = "",
    tokens: TokensOption = "",
    element: ElementOption = "",
    report: ReportOption = "",
    output: OutputOption = "logits",
    tensors_only: TensorsOnly = False,
    json: JsonFlag = False,
) -> None:
    """Compare two checkpoints up to the symmetries of their architecture.

    Folded norms, rotated streams, mixed and permuted heads, permuted neurons, casts and other layouts are seen through;
    the element is given, or the first tensor that no gauge explains, with the likely mistake. Of models that no family
    describes, tensors are compared by name and both functions are run.

    Exit status: 0 equal (exactly, or to the precision stored), 1 different, 2 for input that cannot be used or that
    settles nothing.
    """
    from pathlib import Path

    from symgauge.atomic import check_target
    from symgauge.commands._progress import shares
    from symgauge.comparison import compare
    from symgauge.comparison.element import save_element
    from symgauge.comparison.report import write_report
    from symgauge.comparison.tokens import read_tokens
    from symgauge.errors import InvalidInput
    from symgauge.models.huggingface.config_file import read_config

    outputs = {name: file(text, name) for name, text in (("--element", element), ("--report", report)) if text}
    for target in outputs.values():
        check_target(target)
    with shares() as progress:
        found = compare(
            first,
            second,
            config=read_config(Path(config)) if config else None,
            tokens=read_tokens(tokens) if tokens else None,
            output=output,  # type: ignore[arg-type]
            function=not tensors_only,
            progress=progress,
        )
    if element and not found.element.tensors:
        raise InvalidInput(f"--element: no element was solved ({found.verdict}: {found.reason}); leave it out")
    if element:
        about = {"first": first, "second": second, "verdict": found.verdict, "untie": found.unties}
        save_element(found.element, outputs["--element"], about)
    if report:
        write_report(found, outputs["--report"], first, second)
    if json:
        print_json({"first": first, "second": second, **found.as_dict()})
    else:
        print(found)
    if not found:
        raise typer.Exit(1)
