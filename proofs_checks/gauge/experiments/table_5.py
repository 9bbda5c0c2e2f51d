"""Table 5: time of the trials."""

from __future__ import annotations

import torch

from proofs_checks.gauge.experiments.distribution import FACTOR
from proofs_checks.gauge.experiments.subject import OPEN, SIZES, counts
from proofs_checks.gauge.experiments.timing import Timing, timed
from proofs_checks.gauge.experiments.trials import TOKENS
from proofs_checks.gauge.reported import TABLE_5
from symgauge.experiments.result import Comparison, Result, Table
from symgauge.experiments.suite import Experiment, Setting

SMALL = {"Small": (32, 10), "Medium": (20, 6), "Large": (16, 3)}  # inputs, elements
ALL = 10**5  # trials that the reported times are for


def run(setting: Setting) -> Result:
    found = {}
    for number, (name, sizes) in enumerate(SIZES.items()):
        setting.tick(name, number / len(SIZES))
        inputs, elements = counts(setting, *SMALL[name])
        found[name] = timed(sizes, inputs, elements, setting.device, setting.seed)
    card = torch.device(setting.device).type == "cuda"
    return Result(
        key="table-5",
        title="Time of the trials",
        place="Table 5, F.2.4",
        protocol="Elements of all sectors are drawn, the weights changed, the whole layer computed with them on "
        "every input (and once unchanged), and the error kept per trial; inputs are there before. Wall clock, the "
        "faster of two runs after a short one to warm up. The rate counts the matrix products of attention; beside "
        "it that of one float64 product of the shape of the largest among them, measured in the same run.",
        comparisons=_comparisons(found) if card else (),
        tables=[_table(found)],
        settings={"seed": setting.seed},
        open_choices={"GPU utilisation": "not measured; the share of the product's rate says more", **OPEN},
        findings=_findings(found, card),
    )


def _comparisons(found: dict[str, Timing]) -> list[Comparison]:
    return [
        Comparison(f"{name}, $10^5$ trials", float(TABLE_5[name][0]), t.milliseconds * ALL / 1000, FACTOR, "s")
        for name, t in found.items()
    ]  # fmt: skip


def _table(found: dict[str, Timing]) -> Table:
    rows = [
        [
            name, t.trials, t.seconds, t.drawing, t.milliseconds, float(TABLE_5[name][1]),
            t.rate / 1e12, t.product_rate / 1e12, round(100 * t.share),
        ]
        for name, t in found.items()
    ]  # fmt: skip
    columns = ["configuration", "trials", "seconds", "of them drawing elements", "ms per trial",
               "reported ms per transform", "TFLOP/s", "TFLOP/s of the product", "share in %"]  # fmt: skip
    return Table("Time", columns, rows)


def _findings(found: dict[str, Timing], card: bool) -> list[str]:
    shares = ", ".join(f"{100 * t.share:.0f} % ({name})" for name, t in found.items())
    rate = f"The trials run at {shares} of the rate of a plain float64 product of the same shape."
    if not card:
        return [rate, "The reported times are for an H100, so a processor's are not compared with them."]
    gains = ", ".join(f"{float(TABLE_5[name][0]) * t.trials / ALL / t.seconds:.0f}" for name, t in found.items())
    last = found["Large"]
    needed = last.rate * last.seconds / last.trials * ALL / float(TABLE_5["Large"][0]) / 1e12
    return [
        f"The same trials take less time than reported by factors of {gains}. The reported times say nothing on what "
        f"the protocol costs: 170.82 s for the largest configuration are {needed:.2g} TFLOP/s with {TOKENS} tokens.",
        rate,
    ]


EXPERIMENT = Experiment("table-5", "Time of the trials", run)
