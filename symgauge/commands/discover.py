"""`symgauge discover`: the symmetries of a module that nobody described, found, proved at its size, and named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from symgauge.commands import _measuring as m
from symgauge.commands._output import JsonFlag, file, foreign_code

if TYPE_CHECKING:
    from symgauge.discovery.discovery import Discovery
    from symgauge.discovery.sizes import Formula

SizesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[SIZE=A,B,…]...", help="With --vary: values of the factory's arguments.")
]
VaryFlag = Annotated[
    bool, typer.Option("--vary", help="Repeat over a grid of sizes, and fit dimensions by polynomials in them.")
]
ReportOption = Annotated[str, typer.Option("--report", metavar="FILE.md", help="Write a page, its picture beside it.")]
EmitOption = Annotated[
    str, typer.Option("--emit", metavar="FILE.py", help="Write what was found as families, with a test that proves it.")
]


def command(
    target: m.TargetName,
    sizes: SizesArgument = None,
    inputs: m.InputsOption = "",
    output: m.OutputOption = "logits",
    seed: m.SeedOption = 0,
    primes: m.PrimesOption = "",
    rounds: m.RoundsOption = 60,
    vary: VaryFlag = False,
    report: ReportOption = "",
    emit: EmitOption = "",
    json: JsonFlag = False,
    traceback: m.TracebackFlag = False,
) -> None:
    """Find a module's continuous symmetries without being told anything about it, and say what they are.

    With --vary, as in --vary heads=1,2,3 d_model=4,5, TARGET is file.py:factory and sizes are its arguments; what is
    shown, reported and emitted is then the discovery at the last of them.

    Exit status: 0 decided (whether or not anything is unexplained), 1 undecided, 2 for input that cannot be used.
    """
    from symgauge.errors import InvalidInput, Undecided

    options = m.Options.checked(
        output=output, point="random", primes=primes, device="cpu", seed=seed, rounds=rounds, json=json,
        traceback=traceback,
    )  # fmt: skip
    grid = _grid(sizes or [], vary)
    page, families = _file(report, "--report", ".md"), _file(emit, "--emit", ".py")
    if families is not None and families.resolve() == Path(target.rpartition(":")[0]).resolve():
        raise InvalidInput(f"--emit is {emit!r}, which has the module itself and would be replaced; name another file")
    data: dict[str, object] = {"target": target}
    try:
        with foreign_code(json, traceback):
            found, formula = _found(target, inputs, grid, options)
            if page is not None:
                from symgauge.reporting.discovery_page import write

                write(page, found, formula)
            if families is not None:
                from symgauge.discovery.emit import emit as written

                last = {name: values[-1] for name, values in grid.items()}
                written(families, found, target, last)
    except Undecided as error:
        m.report(options, data, [], str(error))
        return
    data |= found.as_dict()
    if formula is not None:
        data["formula"] = formula.as_dict()
    m.report(options, data, [found, *([] if formula is None else [formula])], found.doubt)


def _found(
    target: str, inputs: str, grid: dict[str, list[int]], options: m.Options
) -> tuple[Discovery, Formula | None]:
    """The discovery, and over a grid of sizes the formula of which it is the last."""
    from symgauge.discovery.discovery import discover
    from symgauge.discovery.sizes import subject_at, vary
    from symgauge.subjects.inputs import parse_inputs

    wanted = parse_inputs(inputs) if inputs else None
    asked = {name: getattr(options, name) for name in ("output", "primes", "seed", "rounds")}
    if not grid:
        subject = m.subject(target, inputs, options)
        with m.progress(subject, options) as progress:
            return discover(subject, progress=progress, **asked), None
    largest = subject_at(target, {name: max(values) for name, values in grid.items()}, wanted)
    with m.progress(largest, options) as progress:
        formula = vary(target, grid, inputs=wanted, progress=progress, **asked)
    return formula.discoveries[-1], formula


def _grid(sizes: list[str], vary: bool) -> dict[str, list[int]]:
    """Sizes by name. Raises InvalidInput for what is not NAME=A,B,…, and for sizes without --vary."""
    from symgauge.errors import InvalidInput

    if bool(sizes) != vary:
        given = "sizes need --vary" if sizes else "--vary needs sizes"
        raise InvalidInput(f"{given}: symgauge discover file.py:factory --vary heads=1,2,3 d_model=4,5")
    grid = {}
    for text in sizes:
        name, _, values = text.partition("=")
        try:
            grid[name] = [int(value) for value in values.split(",")]
        except ValueError:
            raise InvalidInput(f"size {text!r} is not understood: write name and values, as in heads=1,2,3") from None
    if len(grid) < len(sizes):
        raise InvalidInput("a size is given twice")
    if grid:
        from symgauge.discovery.sizes import check_grid

        check_grid(grid)
    return grid


def _file(text: str, option: str, ending: str) -> Path | None:
    """The file that an option names, which can be written; None without one."""
    if not text:
        return None
    from symgauge.atomic import check_target
    from symgauge.errors import InvalidInput

    path = file(text, option)
    if path.suffix != ending:
        raise InvalidInput(f"{option} is {text!r}; give the name of a file that ends in {ending}")
    if option == "--report":
        from symgauge.extras import require

        require("reproduce", "--report, which draws a picture,")
    check_target(path)
    return path
