"""Table 3 without a residual stream, which the source does not say that its model has."""

from __future__ import annotations

from proofs_checks.idealized.experiments.processor import on_processor
from proofs_checks.idealized.experiments.table_3 import COLUMNS, FREE, HELD, PERCENTS, compared, levels_table, pruned
from proofs_checks.idealized.reported import TRIALS
from symgauge.experiments.result import Result
from symgauge.experiments.suite import Experiment, Setting

TITLE = "Accuracy after pruning and retraining, no residual stream"


def run(setting: Setting) -> Result:
    trials = setting.seeds or TRIALS
    found = pruned(setting.seed, trials, 1500 if setting.paper else 600, False, setting.tick)
    last = {mask: {c: found.of(c, mask)[len(PERCENTS) - 1] for c in COLUMNS} for mask in (FREE, HELD)}
    solved = {mask: {c: int((x.retrained == 1).sum()) for c, x in each.items()} for mask, each in last.items()}
    return Result(
        key="table-3-stream",
        title=TITLE,
        place="Table 3, §6.1",
        protocol=f"As Table 3, {trials} trials per task, without the residual stream.",
        comparisons=compared(found),
        tables=[
            levels_table("No residual stream, mask not enforced", found, FREE),
            levels_table("No residual stream, mask enforced", found, HELD),
        ],
        settings={"seed": setting.seed, "trials": trials},
        open_choices={
            "residual stream": "off; on in Table 3",
            "is the mask kept while retraining": "both",
            "how five trials make one number": "their median; lowest and highest beside it",
        },
        findings=[
            "Without the residual stream 95 % is reached by "
            + " and ".join(
                ", ".join(f"{n} of {trials} trials of {c}" for c, n in solved[mask].items()) + f" with the mask {mask}"
                for mask in (FREE, HELD)
            )
            + "."
        ],
    )


EXPERIMENT = Experiment("table-3-stream", TITLE, on_processor(run))
