"""`symgauge account`: the fibre's dimension split into symmetry families, and what none of them explains."""

from __future__ import annotations

from typing import Annotated

import typer

from symgauge.commands import _measuring as m
from symgauge.commands._output import JsonFlag, foreign_code

FamiliesOption = Annotated[
    str, typer.Option("--families", metavar="NAME,…", help="Count these families only, and no others.")
]
WithoutOption = Annotated[str, typer.Option("--without", metavar="NAME,…", help="Leave these families out.")]


DiscoverFlag = Annotated[
    bool | None,
    typer.Option(
        "--discover/--no-discover",
        help="Look for symmetries that no family has; by default for up to 300 parameters, where families leave some.",
    ),
]


def command(
    target: m.TargetName,
    inputs: m.InputsOption = "",
    output: m.OutputOption = "logits",
    families: FamiliesOption = "",
    without: WithoutOption = "",
    seed: m.SeedOption = 0,
    device: m.DeviceOption = "cpu",
    primes: m.PrimesOption = "",
    point: m.PointOption = "random",
    rounds: m.RoundsOption = 60,
    discover: DiscoverFlag = None,
    json: JsonFlag = False,
    traceback: m.TracebackFlag = False,
) -> None:
    """Explain a model's fibre: every family's generators are checked to lie in the kernel, and what is left is counted.

    A module whose architecture is not known is explained by the smallest sets of tensors that move together.

    Exit status: 0 decided (whether or not anything is unexplained), 1 undecided, 2 for input that cannot be used.
    """
    from symgauge.accounting import account
    from symgauge.errors import Undecided

    options = m.Options.checked(
        output=output, point=point, primes=primes, device=device, seed=seed, rounds=rounds, json=json,
        traceback=traceback,
    )  # fmt: skip
    data: dict[str, object] = {"target": target}
    try:
        with foreign_code(json, traceback):
            subject = m.subject(target, inputs, options)
            with m.progress(subject, options) as progress:
                found = account(
                    subject, families=_names(families), without=_names(without) or [], discover=discover,
                    progress=progress,
                    **options.measuring,
                )  # fmt: skip
    except Undecided as error:
        m.report(options, data, [], str(error))
        return
    m.report(options, data | found.as_dict(), [found], found.doubt)


def _names(text: str) -> list[str] | None:
    """Names separated by commas; None if there are none."""
    return [name.strip() for name in text.split(",") if name.strip()] or None
