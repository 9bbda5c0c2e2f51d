"""Table 6: other shapes, and layers of production models."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from proofs_checks.gauge.experiments.distribution import (
    COLUMNS,
    EPSILON,
    FACTOR,
    Distribution,
    cells,
    distribution,
    histogram,
)
from proofs_checks.gauge.experiments.elements import act, sample
from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.subject import OPEN, Subject, counts, generator, subject
from proofs_checks.gauge.experiments.trials import Form
from proofs_checks.gauge.reported import TABLE_6
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Table
from symgauge.experiments.suite import Experiment, Setting

SMALL_COUNTS = (16, 6)
WIDE_INPUTS = 50  # of d = 12,288: a trial there costs 77 GFLOP
CONTROL = (8, 3)
LAWS = {"source": "source's law (87)", "general": "general elements"}


class Kind(NamedTuple):
    """What a row of Table 6 is, beside its sizes."""

    biased: bool = False
    causal: bool = False
    wide: bool = False


ROWS = {
    "Config A": Kind(),
    "Config B": Kind(),
    "Config C": Kind(),
    "GPT-2": Kind(biased=True, causal=True),
    "BERT-Base": Kind(biased=True),
    "GPT-3 config": Kind(biased=True, causal=True, wide=True),
}
UNAVAILABLE = ("GPT-2 (10k steps)", "GPT-2 (converged)")
WITHOUT_CHECKPOINT = "neither checkpoints nor data, optimiser or loss are given"


def run(setting: Setting) -> Result:
    found: dict[tuple[str, str], Tensor] = {}
    control: dict[str, Distribution] = {}
    left = [*UNAVAILABLE]
    for number, (name, kind) in enumerate(ROWS.items()):
        if kind.wide and not setting.paper:
            left.insert(0, name)
            continue
        setting.tick(name, number / len(ROWS))
        g = generator(setting)
        inputs, elements = counts(setting, *SMALL_COUNTS)
        sizes = Sizes(*TABLE_6[name][0])
        drawn = subject(
            sizes, WIDE_INPUTS if kind.wide else inputs, g, form=Form(causal=kind.causal), biased=kind.biased
        )
        for law in ("source",) if kind.wide else LAWS:
            found[name, law] = drawn.under(sample(sizes, elements, g, law=law))
        if kind.biased and not kind.wide:
            control[name] = biases_left_alone(drawn, setting)
    summaries = {key: distribution(errors) for key, errors in found.items()}
    return Result(
        key="table-6",
        title="Other shapes and production layers",
        place="Table 6, F.4",
        protocol="As Table 2, one attention layer of each architecture, all sectors at once. GPT-2, BERT and GPT-3 "
        "have biases, which move along ($b_QA$, $b_KA^{-\\top}$, $b_VC$); GPT-2 and GPT-3 are causal. The control "
        "leaves their biases as they were.",
        comparisons=_comparisons(summaries),
        tables=[_table(summaries), _missing_table(left), _control_table(control)],
        figures=[_figure(found)],
        settings={"seed": setting.seed},
        open_choices={
            **OPEN,
            "biases, mask, positions": "biases of the weights' scale where the model has biases; causal masks where "
            "it has",
            "weights of production architectures": "random, as for the others",
            "trials of the GPT-3 layer": f"{WIDE_INPUTS} inputs at paper scale, none at the small one",
        },
        findings=_findings(summaries, control),
    )


def biases_left_alone(drawn: Subject, setting: Setting) -> Distribution:
    """A control: the weights move, the biases stay."""
    inputs, elements = CONTROL
    few = Subject(drawn.sizes, drawn.layer, drawn.inputs[:inputs], drawn.form, drawn.biases)
    some = sample(drawn.sizes, elements, generator(setting))
    return distribution(few.errors(act(drawn.layer, element) for element in some.each()))


def _comparisons(summaries: dict[tuple[str, str], Distribution]) -> list[Comparison]:
    def compared(name: str, ours: float | None, note: str = "") -> Comparison:
        sizes, reported = TABLE_6[name]
        return Comparison(f"{name} ({Sizes(*sizes)}): maximum", float(reported), ours, FACTOR, note=note)

    measured = [compared(name, found.maximum) for (name, law), found in summaries.items() if law == "source"]
    return [*measured, *(compared(name, None, WITHOUT_CHECKPOINT) for name in UNAVAILABLE)]


def _table(summaries: dict[tuple[str, str], Distribution]) -> Table:
    rows = [[name, LAWS[law], *cells(found)] for (name, law), found in summaries.items()]
    return Table("Errors per trial", ["architecture", "elements", *COLUMNS], rows)


def _missing_table(left: list[str]) -> Table:
    why = {
        **dict.fromkeys(UNAVAILABLE, WITHOUT_CHECKPOINT),
        "GPT-3 config": "run at paper scale only: its weights take 4.8 GB",
    }
    rows = [[name, float(TABLE_6[name][1]), why[name]] for name in left]
    return Table("Rows without a value of ours", ["architecture", "reported maximum", "reason"], rows)


def _control_table(control: dict[str, Distribution]) -> Table:
    rows = [[name, found.median, found.maximum] for name, found in control.items()]
    return Table("Control: biases left as they were", ["architecture", "median change", "maximum"], rows)


def _findings(summaries: dict[tuple[str, str], Distribution], control: dict[str, Distribution]) -> list[str]:
    source = {name: found for (name, law), found in summaries.items() if law == "source"}
    worst = max(source, key=lambda name: source[name].maximum)
    smallest = min(found.median for found in control.values())
    return [
        f"The largest error under the source's law is {source[worst].maximum / EPSILON:.1f} ε ({worst}); the "
        "caption has all of them within 33 ε.",
        f"With biases the function is kept only if they move along: left alone they change the outputs by "
        f"{smallest:.2g} or more. The source does not say what was done with them.",
        "Errors grow with the width, as rounding errors of longer sums do.",
    ]


def _figure(found: dict[tuple[str, str], Tensor]) -> Figure:
    series = [histogram(name, errors) for (name, law), errors in found.items() if law == "source"]
    panel = Panel("Errors under the source's law", "relative error", "share of trials", series)
    return Figure("errors-by-architecture", "Relative errors per trial, by architecture.", [panel])


EXPERIMENT = Experiment("table-6", "Other shapes and production layers", run)
