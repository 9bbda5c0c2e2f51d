"""Tables of Figure 5: statistics, gauge-invariant measures, alignment, connectedness."""

from __future__ import annotations

from collections.abc import Sequence

from proofs_checks.idealized import reported
from proofs_checks.idealized.experiments.geometry import COLUMNS
from proofs_checks.idealized.experiments.groups import UNTRAINED
from proofs_checks.idealized.experiments.solutions import LONGER, STEPS, Run
from symgauge.experiments.result import Table


def where(r: Run) -> str:
    return f"{r.task.name}, residual stream {'on' if r.residual else 'off'}"


def shapes_table(r: Run) -> Table:
    source = [
        reported.NORM,
        reported.DISTANCE,
        reported.DISTANCE_LOW,
        reported.DISTANCE_HIGH,
        0.0,
        "",
        reported.FIRST,
        reported.TEN,
        reported.LAST,
        reported.RATIO,
    ]
    rows = [["reported", *source], *([name, *shape.row()] for name, shape in r.shapes.items())]
    return Table(
        f"Section 7's statistics ({where(r)})",
        ["twenty vectors", *COLUMNS],
        rows,
        note="Gauge copies compute the same function to rounding. The listed families leave E and the output map "
        "alone, so their copies keep a positive cosine; the stream's maps take it away.",
    )


def told_table(r: Run) -> Table:
    rows = []
    for name, t in r.told.items():
        cells = [float(x.mean()) for x in (t.attention, t.outside, t.canonical, t.same, t.agree, *t.ablated)]
        rows.append([name, *(round(cell, 3) + 0.0 for cell in cells)])
    columns = ["attention", "off the task", "canonical form", "same answers", "the rule's answers"]
    ablated = ["right without attention", "without ReLU layer", "without both"]
    return Table(
        f"What no symmetry can change ({where(r)})",
        ["twenty models", *columns, *ablated],
        rows,
        note="Means over pairs, then over models. Attention: total variation between attention patterns on the task's "
        f"inputs. Off the task: distance between logits on all sequences of {LONGER} tokens, relative to their size. "
        "Canonical form: relative distance between E, the output map and the heads' products, seen from a frame that "
        "turns with the stream. Same answers: to those longer sequences, by two models; the rule's: those that the "
        "task's rule gives. Gauge copies give 0, 0, 0 and 1, so these measures can tell; the source's cannot.",
    )


def aligned_table(r: Run) -> Table:
    rows = []
    for name, x in r.aligned.items():
        cells = [f"{float(c.mean()):.3f}" for c in (x.before[0], x.after[0])]
        cells += [f"{float(d.mean()):.2f}" for d in (x.before[1], x.after[1])]
        for line in x.straight:
            cells.append("" if name == UNTRAINED else f"{line.solving}/{len(line.accuracy)}")
            cells.append("" if name == UNTRAINED else f"{float(line.loss.max()):.2g}")
        rows.append([name, *cells, f"{x.changed:.0e}"])
    columns = [
        "cosine",
        "aligned",
        "distance",
        "aligned",
        "line solves",
        "largest loss",
        "aligned: solves",
        "largest loss",
    ]
    return Table(
        f"Pairs before and after alignment ({where(r)})",
        ["models", *columns, "logits moved"],
        rows,
        note="One model of each pair is moved along its heads, neurons and residual stream next to the other. Line "
        "solves: pairs whose straight line has all answers right at 21 points.",
    )


def ways_table(r: Run, draws: int) -> Table:
    models = len(r.groups[0].theta)
    rows: list[Sequence[object]] = [
        ["straight lines with all answers right", f"{r.straight.solving}/{len(r.straight.accuracy)}"],
        ["bent ways with all answers right", f"{r.bent.solving}/{len(r.bent.accuracy)}"],
        ["least margin on the bent ways", f"{float(r.bent.margin.min()):.3g}"],
        *(
            [f"random steps of relative length {size:g} that spoil an answer", f"{spoilt}/{draws * models}"]
            for size, spoilt in zip(STEPS, r.leaving, strict=True)
        ),
    ]
    note = (
        "A bent way is a quadratic curve with a trained middle. Points were looked at one by one, which is no proof "
        "between them. Small steps spoil nothing: the set of parameters with all answers right is open, of full "
        "dimension."
    )
    return Table(f"Connected or not ({where(r)})", ["what", "count"], rows, note=note)
