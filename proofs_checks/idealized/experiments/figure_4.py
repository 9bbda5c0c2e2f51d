"""Figure 4: accuracy against sparsity, with and without retraining, with the mask enforced and not."""

from __future__ import annotations

from proofs_checks.idealized.experiments.processor import on_processor
from proofs_checks.idealized.experiments.table_3 import (
    COLUMNS,
    FREE,
    FURTHER,
    HELD,
    PERCENTS,
    Pruned,
    by_setting,
    findings,
)
from proofs_checks.idealized.reported import RETRAINED, TABLE_3
from symgauge.experiments.result import Figure, Panel, Result, Series
from symgauge.experiments.suite import Experiment, Setting


def run(setting: Setting) -> Result:
    found = by_setting(setting)
    return Result(
        key="figure-4",
        title="Accuracy against sparsity",
        place="Figure 4, §6.1",
        protocol=f"The runs of Table 3; means over {found.trials} trials. The reported values are compared there.",
        figures=[
            Figure("figure-4", _caption(), [*(_accuracy(found, c, n) for n, c in enumerate(COLUMNS)), _size(found)])
        ],
        settings={"seed": setting.seed, "trials": found.trials},
        findings=findings(found),
    )


def _caption() -> str:
    return (
        "Above: accuracy right after pruning, and after retraining with the mask enforced and not (the latter is 1 at "
        "every level, under the other curve). Below: how many weights are not zero after retraining without a mask; "
        "those models are not sparse."
    )


def _accuracy(found: Pruned, column: str, number: int) -> Panel:
    far = [*PERCENTS, *FURTHER]
    free, held = found.of(column, FREE), found.of(column, HELD)
    left = [100 - p for p in far]
    return Panel(
        f"{column}, 2 tokens, T = {COLUMNS[column].length}",
        "weights kept (%)",
        "accuracy, mean over trials",
        [
            Series("after pruning", left[: len(free)], [float(x.pruned.mean()) for x in free], "line+points"),
            Series(
                "retrained, mask not enforced",
                left[: len(free)],
                [float(x.retrained.mean()) for x in free],
                "line+points",
            ),
            Series("retrained, mask enforced", left, [float(x.retrained.mean()) for x in held], "line+points"),
            Series("reported, after pruning", left[: len(free)], [TABLE_3[p][number][0] for p in PERCENTS], "points"),
        ],
        x_scale="log",
    )


def _size(found: Pruned) -> Panel:
    left = [100 - p for p in PERCENTS]
    curves = [
        Series(
            f"{c}, mask not enforced",
            left,
            [float(x.nonzero.double().mean()) for x in found.of(c, FREE)],
            "line+points",
        )
        for c in COLUMNS
    ]
    kept = [float(x.kept) for x in found.of("XOR", FREE)]
    return Panel(
        "weights after retraining",
        "weights kept by pruning (%)",
        "nonzero weights, mean over trials",
        [*curves, Series("kept by pruning (mask enforced)", left, kept, "line+points")],
        "log",
        "log",
        {"reported at 95 %: about 1,600": float(RETRAINED)},
    )


EXPERIMENT = Experiment("figure-4", "Accuracy against sparsity", on_processor(run))
