"""Table 2 under the laws of weights and the lengths that the source leaves open."""

from __future__ import annotations

from proofs_checks.gauge.experiments import weights
from proofs_checks.gauge.experiments.distribution import Distribution, compared, distribution
from proofs_checks.gauge.experiments.elements import sample
from proofs_checks.gauge.experiments.subject import SIZES, counts, generator
from proofs_checks.gauge.experiments.table_2 import SMALL, spoilt
from proofs_checks.gauge.experiments.weights import GRID, TAKEN, Cell, label
from proofs_checks.gauge.reported import TABLE_2
from symgauge.experiments.result import Result
from symgauge.experiments.suite import Experiment, Setting

PARTS = ("maximum", "mean", "std")


def run(setting: Setting) -> Result:
    g = generator(setting)
    found: dict[tuple[str, Cell], Distribution] = {}
    control: dict[tuple[str, Cell], Distribution] = {}
    for number, (name, sizes) in enumerate(SIZES.items()):
        inputs, elements = counts(setting, *SMALL[name])
        for cell in GRID:
            setting.tick(f"{name}, {label(cell)}", number / len(SIZES))
            drawn = weights.subject_of(sizes, cell, inputs, g)
            found[name, cell] = distribution(drawn.under(sample(sizes, elements, g)))
            control[name, cell] = spoilt(drawn, "general", setting.seed)
    return Result(
        key="table-2-weights",
        title="Table 2 under other weights",
        place="Table 2, F.1, F.2.1",
        protocol="As Table 2, under every law of weights and every length of a grid that was fixed before the run. "
        "Control: general elements with $A^{-1}$ in place of $A^{-\\top}$.",
        comparisons=[
            comparison
            for name in SIZES
            for comparison in compared(
                f"{name} ({SIZES[name]})",
                TABLE_2[name],
                found[name, TAKEN],
                {label(cell): found[name, cell] for cell in GRID if cell != TAKEN},
            )
        ],
        tables=[
            weights.grid_table(found),
            weights.control_table(control, "$A^{-1}$ in place of $A^{-\\top}$, general elements"),
        ],
        settings={"seed": setting.seed},
        open_choices={**weights.OPEN, "biases, mask, positions": "none"},
        findings=_findings(found, control),
    )


def _findings(found: dict[tuple[str, Cell], Distribution], control: dict[tuple[str, Cell], Distribution]) -> list[str]:
    def ends(part: int) -> str:
        ratios = [getattr(f, PARTS[part]) / float(TABLE_2[name][part]) for (name, _), f in found.items()]
        return f"{min(ratios):.2f} to {max(ratios):.2f}"

    return [
        f"Ours over the reported numbers, all choices and configurations: maxima {ends(0)}, means {ends(1)}, standard "
        f"deviations {ends(2)}.",
        f"The wrong map changes the outputs by {min(f.median for f in control.values()):.2g} or more throughout.",
    ]


EXPERIMENT = Experiment("table-2-weights", "Table 2 under other weights", run)
