"""Table 1, row by row: what the formulas give, and for which vocabulary."""

from __future__ import annotations

from itertools import pairwise

import sympy as sp

from proofs_checks.idealized import dimension_formulas as formulas
from proofs_checks.idealized.model import architecture
from proofs_checks.idealized.reported import FIGURE_2, PARAMETERS, TABLE_1, TABLE_2, Row
from symgauge.claims import EvidenceLog, checks, equal
from symgauge.model_graph import graph_of
from symgauge.symbolic.dimensions import L, V, d, h

ROWS = [f"table-1.{number}" for number in range(1, len(TABLE_1) + 1)]
IMPLIED = (2, 2, 4, 4, 8, 16, 32, 128)  # what the rows' remarks say


def vocabulary(row: Row) -> sp.Expr:
    """The only |V| at which (1) gives the reported number of parameters."""
    (solution,) = sp.solve(formulas.parameters().total.subs({d: row.d, L: row.layers}) - row.parameters, V)
    return solution


def reported_ratio(row: Row) -> bool:
    return abs(row.symmetries / row.parameters - row.ratio) <= 0.0005


@checks("table-1.1", "table-1.2", "table-1.3", "table-1.4", "table-1.5", "table-1.6", "table-1.7", "table-1.8")
def test_rows(evidence: EvidenceLog) -> None:
    for name, row, remark in zip(ROWS, TABLE_1, IMPLIED, strict=True):
        words = vocabulary(row)
        contradicted = name == "table-1.3"
        on = "correction" if contradicted else "statement"
        tensors = graph_of(architecture(row.d, row.heads, row.layers, int(words))).parameters
        evidence.exact(
            f"(1) gives $P$ at one vocabulary only, $|V| = {words}$; the tensors have as many entries; (5) gives the "
            r"dimension, and their quotient rounds to $\rho$",
            bool(words == remark) and reported_ratio(row),
            figures={
                "parameters": equal(tensors, row.parameters),
                "dimension": equal(formulas.listed().at(d=row.d, h=row.heads, L=row.layers), row.symmetries),
            },
            on=on,
            only=name,
        )
    third = TABLE_1[2]
    evidence.audit(
        "the same $d$, $L$ and $H$ in Table 1 and in §5.1, Table 3",
        figures={"parameters": equal(third.parameters, PARAMETERS)},
        only=ROWS[2],
    )
    evidence.control(
        "the smallest configuration is the same in Table 1 and in §5.3",
        kind="audit",
        figures={"parameters": equal(TABLE_1[0].parameters, FIGURE_2[TABLE_1[0].d])},
        only=ROWS[2],
    )
    at = {words: formulas.parameters().at(d=16, h=2, L=1, V=words) for words in (2, 3, 4)}
    vocabularies = sorted({words for _, words, *_ in TABLE_2})
    evidence.exact(
        "parameters at $|V| = 2, 3, 4$, and the vocabularies of Table 2",
        figures={"parameters": equal(list(at.values()), [PARAMETERS, 3168, third.parameters]), "Table 2": vocabularies},
        on="correction",
        only=ROWS[2],
    )


@checks("table-1.cap")
def test_caption(evidence: EvidenceLog) -> None:
    ratios = [sp.Rational(row.symmetries, row.parameters) for row in TABLE_1]
    grown = [(a, b) for (a, x), (b, y) in pairwise(zip(TABLE_1, ratios, strict=True)) if y > x]
    evidence.exact(
        "quotients of the reported integers, row after row",
        not grown,
        counterexample=r"row 3 ($P = 3{,}200$): $320/3200 = 0.1000$; row 4 ($P = 6{,}272$): $640/6272 = 0.1020$",
        figures={"ρ": [round(float(r), 4) for r in ratios]},
        cases=len(ratios) - 1,
    )
    evidence.control(
        "by the same comparison rows 4 to 8 do fall", all(x > y for x, y in pairwise(ratios[3:])), kind="exact"
    )
    evidence.exact(
        "end points, and the vocabularies that the rows imply",
        reported_ratio(TABLE_1[0]) and reported_ratio(TABLE_1[-1]),
        figures={
            "|V|": equal([int(vocabulary(row)) for row in TABLE_1], list(IMPLIED)),
            "rows that grow": equal(len(grown), 1),
        },
        on="correction",
    )
    step = formulas.ratio().subs({d: 16, h: 2, V: 4})
    evidence.proof(
        r"at fixed $d$, $H$, $|V|$ the ratio grows with $L$: $\rho = (2d/H+4)/(12d+2|V|/L)$",
        bool(sp.simplify(sp.diff(step, L)).subs(L, 1) > 0)
        and sp.simplify(formulas.ratio() - (2 * d / h + 4) / (12 * d + 2 * V / L)) == 0,
        on="correction",
    )
