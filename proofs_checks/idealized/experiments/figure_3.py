"""Figure 3: singular values of the Jacobian, where they end and what the small ones are."""

from __future__ import annotations

from proofs_checks.idealized.experiments.processor import on_processor
from proofs_checks.idealized.experiments.spaces import CUT
from proofs_checks.idealized.experiments.table_2 import PROTOCOL, Case, case
from proofs_checks.idealized.model import function_classes
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

CASES = (("Copy-Last", 2, 3), ("XOR", 2, 3), ("Copy-Last", 2, 4), ("Copy-Last", 3, 2))
FLOOR = 1e-18


def run(setting: Setting) -> Result:
    count = setting.seeds or 4
    cases = []
    for number, (name, vocabulary, length) in enumerate(CASES):
        setting.tick(f"{name}, |V| = {vocabulary}, T = {length}", number / len(CASES))
        cases.append(case(name, vocabulary, length, range(setting.seed, setting.seed + count), PROTOCOL))
    rows = []
    for c in cases:
        s = c.spaces
        rank = c.task.vocabulary * function_classes(c.task.vocabulary, c.task.length)
        kept = [float(f"{x:.2g}") for x in (s.kept.min(), s.kept.max())]
        rows.append([str(c.task), s.values.shape[1], rank, *kept, float(f"{s.dropped:.2g}")])
    shortest = cases[:2]
    gap = all(float(c.spaces.kept.min()) > 1e4 * c.spaces.dropped for c in shortest)
    return Result(
        key="figure-3",
        title="Singular values of the Jacobian",
        place="Figure 3, §5.3",
        protocol=f"The models of Table 2, {count} seeds each; all singular values of the Jacobian of all logits on all "
        "inputs, relative to the largest.",
        comparisons=[
            Comparison(f"{c.task}: values behind the gap, seed {setting.seed + n}", 4, int(left), factor=1)
            for c in shortest
            for n, left in enumerate(c.spaces.left)
        ],
        tables=[
            Table(
                "Where the spectrum ends",
                ["task", "singular values", "distinct rows", "least kept", "over seeds up to", "largest dropped"],
                rows,
                note=f"Relative to the largest value; kept means above {CUT:g}. min(rows, P) values are there: none of "
                "them counts a direction of parameters, of which there are thousands more.",
            )
        ],
        figures=[Figure("figure-3", _caption(), [_panel(c) for c in cases])],
        settings={"seed": setting.seed, "seeds": count},
        findings=[
            f"The gap at T = 3 is {'there' if gap else '**not** there'}, and four values lie behind it: they belong to "
            "rows that repeat, not to parameters.",
            f"At T = 4 the values that are not zero reach down to {float(cases[2].spaces.kept.min()):.1e} of the "
            "largest, so a threshold can fall among them.",
        ],
    )


def _caption() -> str:
    return (
        "Singular values by rank, one curve per seed. What lies below the lower line is rounding; the number of values "
        "above is the number of distinct rows (vertical line)."
    )


def _panel(c: Case) -> Panel:
    values = c.spaces.relative.clamp_min(FLOOR)
    at = list(range(1, values.shape[1] + 1))
    curves = [
        Series("" if n else "a seed each", at, [float(f"{x:.4g}") for x in row.tolist()], "line+points")
        for n, row in enumerate(values)
    ]
    rank = c.task.vocabulary * function_classes(c.task.vocabulary, c.task.length)
    return Panel(
        str(c.task),
        "place of the singular value by size",
        "singular value / largest",
        curves,
        y_scale="log",
        levels={"counts as zero": CUT},
        marks={f"{rank} distinct rows": rank + 0.5},
    )


EXPERIMENT = Experiment("figure-3", "Singular values of the Jacobian", on_processor(run))
