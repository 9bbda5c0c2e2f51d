"""`symgauge account`: the fibre's dimension split into symmetry families, and what none of them explains."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, cast

import typer

from symgauge.commands import _measuring as m
from symgauge.commands._output import JsonFlag

if TYPE_CHECKING:
    from symgauge.accounting import Account
    from symgauge.targets import Target


FamiliesOption = Annotated[
    str, typer.Option("--families", metavar="NAME,…", help="Count these families only, and no others.")
]
WithoutOption = Annotated[str, typer.Option("--without", metavar="NAME,…", help="Leave these families out.")]


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
    json: JsonFlag = False,
    traceback: m.TracebackFlag = False,
) -> None:
    """Explain a model's fibre: every family's generators are checked to lie in the kernel, and what is left is counted.

    A module whose architecture is not known is explained by the smallest sets of tensors that move together.

    Exit status: 0 decided (whether or not anything is unexplained), 1 undecided, 2 for input that cannot be used.
    """
    from symgauge.errors import Undecided
    from symgauge.targets import resolve

    options = m.Options.checked(
        output=output, point=point, primes=primes, device=device, seed=seed, rounds=rounds, json=json,
        traceback=traceback,
    )  # fmt: skip
    data: dict[str, object] = {"target": target}
    try:
        with m.quiet_stdout(options):
            found = resolve(target, inputs=inputs, seed=seed, traceback=traceback, point=point)
            account = _account(found, options, _names(families), _names(without) or [])
            full = m.full_size_of(found, options)
    except Undecided as error:
        m.report(options, data, lambda: None, str(error))
        return
    expected, reasons = _expected(account, options)
    notes = [*found.notes, *account.notes]
    data |= account.as_dict()
    data |= {"formula": expected, "possible_reasons": reasons}
    data |= {"notes": [*found.notes, *cast("list[str]", data["notes"])], "full_size": full and full.as_dict()}

    def show() -> None:
        for note in notes:
            m.console().print(note)
        formula = [] if expected is None else [["formula", f"{expected:,}"]]
        m.print_table(["", ""], [*m.summary(account.fibre), *formula])
        _show(account)
        for reason in reasons:
            m.console().print(f"possible reason: {reason}")
        if account.movable:
            tensors = [[name, f"{account.tensors.get(name, 0):,}", f"{can:,}"] for name, can in account.movable.items()]
            m.print_table(["unexplained directions touch", "in", "at most in"], tensors)
        if full is not None:
            m.print_full_size(full)

    m.report(options, data, show, account.doubt)


def _names(text: str) -> list[str] | None:
    """Names separated by commas; None if there are none."""
    return [name.strip() for name in text.split(",") if name.strip()] or None


def _expected(account: Account, options: m.Options) -> tuple[int | None, list[str]]:
    """What the formula of the architecture says, and why more may be free than in a model of its kind at full size."""
    from symgauge.symmetries import degenerate_cases
    from symgauge.symmetries import dimension as formula
    from symgauge.symmetries.symbols import evaluate

    a = account.architecture
    if a is None:
        return None, []
    return evaluate(formula(a, options.output), a), degenerate_cases(a) if account.unexplained else []


def _show(account: Account) -> None:
    """The tables of what explains the kernel, and of what carries the rest."""
    unexplained = ["unexplained", "", f"{account.unexplained:,}"]
    if account.architecture is not None:
        rows = [[f.name, f"{f.dimension:,}", f"{f.gain:,}", f"{f.violations:,}"] for f in account.families]
        m.print_table(["family", "dimension", "gain", "violations"], [*rows, [*unexplained, ""]])
    moving = [[" + ".join(found.tensors), f"{found.dimension:,}", f"{found.gain:,}"] for found in account.sets]
    if account.architecture is None:
        m.print_table(["tensors that move together", "dimension", "gain"], [*moving, unexplained])
    elif moving:
        rest = [["more tensors at once", "", f"{account.left:,}"]] if account.left else []
        m.print_table(["unexplained directions move", "dimension", "gain"], [*moving, *rest])


def _account(found: Target, options: m.Options, families: list[str] | None, without: list[str]) -> Account:
    from symgauge.accounting import account_for, check_inputs, describe, no_families
    from symgauge.errors import InvalidInput, UnsupportedModel
    from symgauge.generators import check_names

    try:
        module, architecture, layout = describe(found.module)
    except UnsupportedModel as reason:
        if families or without:
            raise InvalidInput(f"--families and --without: {no_families(reason)}") from reason
        account = account_for(
            found.module, found.inputs, None, None, fibre=m.measured(found, options), output=options.output
        )
        return dataclasses.replace(account, notes=(no_families(reason), *account.notes))
    check_inputs(found.inputs, architecture)
    check_names([*(families or ()), *without])
    fibre = m.measured(found, options)
    return account_for(
        module, found.inputs, architecture, layout, fibre=fibre, families=families, without=without,
        output=options.output,
    )  # fmt: skip
