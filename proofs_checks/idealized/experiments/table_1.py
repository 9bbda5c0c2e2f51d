"""Table 1: parameters, symmetry dimension and their ratio, from the formulas; and the |V| that each row implies."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from proofs_checks.idealized.experiments.processor import on_processor
from proofs_checks.idealized.reported import TABLE_1, Row
from symgauge.experiments.result import Comparison, Result, Table
from symgauge.experiments.suite import Experiment, Setting


def parameters(d: int, layers: int, vocabulary: int) -> int:
    """Equation (1) with d_ff = 4 d."""
    return 2 * vocabulary * d + 12 * layers * d * d


def symmetries(d: int, layers: int, heads: int) -> int:
    """Equation (5)."""
    return layers * (2 * heads * (d // heads) ** 2 + 4 * d)


def implied_vocabulary(row: Row) -> Fraction:
    """The |V| for which equation (1) gives the reported number of parameters."""
    return Fraction(row.parameters - parameters(row.d, row.layers, 0), 2 * row.d)


def run(setting: Setting) -> Result:
    comparisons, rows = [], []
    for row in TABLE_1:
        name = f"d={row.d}, L={row.layers}, H={row.heads}"
        vocabulary, ours = implied_vocabulary(row), symmetries(row.d, row.layers, row.heads)
        comparisons += [
            Comparison(f"{name}: symmetries", row.symmetries, ours, factor=1),
            Comparison(f"{name}: ratio", row.ratio, round(ours / row.parameters, 3), factor=1),
        ]
        stream = ours + row.d**2
        rows.append([name, str(vocabulary), row.parameters, ours, stream, round(stream / row.parameters, 3)])
    sizes = [str(implied_vocabulary(row)) for row in TABLE_1]
    rising = [
        f"rows {n} and {n + 1} ({a.ratio:.3f} to {b.ratio:.3f})"
        for n, (a, b) in enumerate(pairwise(TABLE_1), 1)
        if Fraction(b.symmetries, b.parameters) > Fraction(a.symmetries, a.parameters)
    ]
    paper_size = parameters(16, 1, 2)
    return Result(
        key="table-1",
        title="Symmetry dimensions",
        place="Table 1, §4.4",
        protocol="Equations (1) and (5) evaluated; |V| solved from the reported number of parameters.",
        comparisons=comparisons,
        tables=[
            Table(
                "What the rows imply",
                ["row", "|V|", "parameters", "equation (5)", "with GL(d) of the residual stream", "ratio"],
                rows,
                note="The last two columns add the maps of the residual stream, which the source leaves out.",
            )
        ],
        open_choices={"|V| of each row": ", ".join(sizes) + " (solved; all are whole numbers)"},
        findings=[
            f"All rows follow from the formulas, each with its own |V|: {', '.join(sizes)}. The table never says so.",
            f"The ratio does not fall throughout: it rises between {' and '.join(rising)}.",
            f"The model of sections 5 to 7 has |V| = 2 and {paper_size:,} parameters; the row of its d, L, H has |V| = "
            "4.",
        ],
    )


EXPERIMENT = Experiment("table-1", "Symmetry dimensions", on_processor(run))
