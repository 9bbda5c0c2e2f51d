"""`symgauge account`: the fibre's dimension split into symmetry families, and what none of them explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symgauge.commands import _measuring as m
from symgauge.commands._output import JsonFlag

if TYPE_CHECKING:
    from symgauge.exact.accounting import Account
    from symgauge.targets import Target


def command(
    target: m.TargetName,
    inputs: m.InputsOption = "",
    output: m.OutputOption = "logits",
    seed: m.SeedOption = 0,
    device: m.DeviceOption = "cpu",
    primes: m.PrimesOption = "",
    point: m.PointOption = "random",
    rounds: m.RoundsOption = 60,
    json: JsonFlag = False,
    traceback: m.TracebackFlag = False,
) -> None:
    """Explain a model's fibre: every family's generators are checked to lie in the kernel, and what is left is counted.

    Exit status: 0 decided (whether or not anything is unexplained), 1 undecided, 2 for input that cannot be used.
    """
    from symgauge.errors import Undecided
    from symgauge.symmetries import dimension as formula
    from symgauge.symmetries import limits
    from symgauge.symmetries.symbols import evaluate
    from symgauge.targets import resolve

    options = m.Options.checked(
        output=output, point=point, primes=primes, device=device, seed=seed, rounds=rounds, json=json,
        traceback=traceback,
    )  # fmt: skip
    data: dict[str, object] = {"target": target}
    try:
        with m.quiet_stdout(options):
            found = resolve(target, inputs=inputs, seed=seed, traceback=traceback, point=point)
            account, full = _account(found, options), m.full_size_of(found, options)
    except Undecided as error:
        m.report(options, data, lambda: None, str(error))
        return
    expected = evaluate(formula(account.architecture, options.output), account.architecture)
    # Sizes so small that more is free than in a model of the same kind at full size.
    reasons = limits(account.architecture) if account.unexplained else []
    data |= account.as_dict()
    data |= {"formula": expected, "possible_reasons": reasons}
    data |= {"notes": list(found.notes), "full_size": full and full.as_dict()}

    def show() -> None:
        for note in found.notes:
            m.console().print(note)
        m.print_table(["", ""], [*m.summary(account.fibre), ["formula", f"{expected:,}"]])
        rows = [[f.name, f"{f.dimension:,}", f"{f.gain:,}", f"{f.violations:,}"] for f in account.families]
        rows.append(["unexplained", "", f"{account.unexplained:,}", ""])
        m.print_table(["family", "dimension", "gain", "violations"], rows)
        for reason in reasons:
            m.console().print(f"possible reason: {reason}")
        if account.tensors:
            tensors = [[name, f"{count:,}"] for name, count in account.tensors.items()]
            m.print_table(["unexplained directions touch", "in"], tensors)
        if full is not None:
            m.print_full_size(full)

    m.report(options, data, show, account.fibre.doubt or _violations(account))


def _account(found: Target, options: m.Options) -> Account:
    from symgauge.errors import UnsupportedModel
    from symgauge.exact.accounting import account_for, describe

    try:
        module, architecture, layout = describe(found.module)
    except UnsupportedModel as error:
        raise UnsupportedModel(
            f"{type(found.module).__name__} cannot be accounted for ({error}): that takes a transformers model with an "
            "adapter, or a factory that returns a symgauge.Architecture; `symgauge dim` measures any module"
        ) from error
    fibre = m.measured(found, options)
    return account_for(module, found.inputs, architecture, layout, fibre=fibre, output=options.output)


def _violations(account: Account) -> str:
    """Generators outside the kernel, as a reason for doubt."""
    wrong = [f"{f.name} ({f.violations})" for f in account.families if f.violations]
    return f"generators lie outside the kernel: {', '.join(wrong)}; these families do not hold here" if wrong else ""
