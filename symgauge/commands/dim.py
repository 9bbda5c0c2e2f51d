"""`symgauge dim`: the exact dimension of the set of parameters that give the same function."""

from __future__ import annotations

from symgauge.commands import _measuring as m
from symgauge.commands._output import JsonFlag


def command(
    target: m.TargetName,
    inputs: m.InputsOption = "",
    output: m.OutputOption = "logits",
    seed: m.SeedOption = 0,
    device: m.DeviceOption = "cpu",
    primes: m.PrimesOption = "",
    point: m.PointOption = "random",
    parameters: m.ParametersOption = "trained",
    outputs: m.OutputsOption = "",
    rounds: m.RoundsOption = 60,
    as_is: m.AsIsFlag = False,
    json: JsonFlag = False,
    traceback: m.TracebackFlag = False,
) -> None:
    """Measure a module's fibre: P minus the generic rank of its Jacobian, in exact arithmetic.

    Exit status: 0 decided, 1 undecided (the rank did not settle, or primes disagree), 2 for input that cannot be used.
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
            found = resolve(target, inputs=inputs, seed=seed, traceback=traceback, point=point, as_is=as_is)
            fibre, full = m.measured(found, options, parameters, outputs), m.full_size_of(found, options)
    except Undecided as error:
        m.report(options, data, lambda: None, str(error))
        return
    data |= {"module": found.name, "inputs": str(found.inputs)}
    data |= {**fibre.as_dict(), "notes": [*found.notes, *fibre.notes], "full_size": full and full.as_dict()}

    def show() -> None:
        for note in (*found.notes, *fibre.notes):
            m.console().print(note)
        m.print_table(["", ""], m.summary(fibre))
        rows = [[name, f"{count:,}", f"{fibre.by_tensor[name]:,}"] for name, count in fibre.names]
        m.print_table(["tensor", "entries", "kernel takes part in"], rows)
        if full is not None:
            m.print_full_size(full)

    m.report(options, data, show, fibre.doubt)
