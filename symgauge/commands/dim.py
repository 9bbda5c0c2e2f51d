"""`symgauge dim`: the exact dimension of the set of parameters that give the same function."""

from __future__ import annotations

from symgauge.commands import _measuring as m
from symgauge.commands._output import JsonFlag, foreign_code


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
    from symgauge.full_size import full_size
    from symgauge.measurement import dimension

    options = m.Options.checked(
        output=output, point=point, primes=primes, device=device, seed=seed, rounds=rounds, json=json,
        traceback=traceback,
    )  # fmt: skip
    data: dict[str, object] = {"target": target}
    try:
        with foreign_code(json, traceback):
            found = m.subject(target, inputs, options, as_is)
            with m.progress(found, options) as progress:
                fibre = dimension(
                    found, parameters=parameters, outputs=outputs.split(",") if outputs else None, progress=progress,
                    **options.measuring,
                )  # fmt: skip
    except Undecided as error:
        m.report(options, data, [], str(error))
        return
    full = None if found.full_size is None else full_size(found.full_size, fibre.output)
    notes = [*found.notes, *fibre.notes]
    data |= {"module": found.name, "inputs": str(found.inputs)}
    data |= {**fibre.as_dict(), "notes": notes, "full_size": full and full.as_dict()}
    m.report(options, data, [*notes, fibre, *([] if full is None else [full])], fibre.doubt)
