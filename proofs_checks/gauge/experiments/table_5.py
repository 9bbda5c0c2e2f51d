"""Table 5: time of the trials, by sequence length, which the source leaves open."""

from __future__ import annotations

import math

import torch

from proofs_checks.gauge.experiments.distribution import FACTOR
from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.subject import OPEN, PAPER_ELEMENTS, SHORT, SIZES, counts
from proofs_checks.gauge.experiments.timing import Timing, timed
from proofs_checks.gauge.experiments.trials import TOKENS
from proofs_checks.gauge.reported import TABLE_5
from symgauge.experiments.result import Comparison, Result, Table
from symgauge.experiments.suite import Experiment, Setting

SMALL = {"Small": (32, 10), "Medium": (20, 6), "Large": (16, 3)}  # inputs, elements
ALL = 10**5  # trials that the reported times are for
PASSES = ALL * (1 + 1 / PAPER_ELEMENTS)  # with the unchanged ones
LENGTHS = (TOKENS, SHORT, 512, 1024, 2048)  # those of the other tables; the contexts of BERT, GPT-2, GPT-3 of Table 6
Found = dict[tuple[str, int], Timing]


def run(setting: Setting) -> Result:
    found: Found = {}
    for number, (name, sizes) in enumerate(SIZES.items()):
        inputs, elements = counts(setting, *SMALL[name])
        for tokens in LENGTHS:
            setting.tick(f"{name}, {tokens} tokens", number / len(SIZES))
            fewer = max(1, min(inputs, inputs * TOKENS // tokens))
            found[name, tokens] = timed(sizes, fewer, elements, setting.device, setting.seed, tokens=tokens)
    card = torch.device(setting.device).type == "cuda"
    return Result(
        key="table-5",
        title="Time of the trials",
        place="Table 5, F.2.4",
        protocol="Elements of all sectors are drawn, the weights changed, the whole layer computed with them on "
        "every input (and once unchanged), and the error kept per trial; inputs are there before. Wall clock, the "
        "faster of two runs after a short one to warm up; of long sequences so many that there are as many tokens, "
        "and the time for all trials from theirs. The rate counts the matrix products of attention; beside "
        "it that of one float64 product of the shape of the largest among them, measured in the same run.",
        comparisons=comparisons(found) if card else (),
        tables=[_table(found)],
        settings={"seed": setting.seed},
        open_choices={
            "GPU utilisation": "not measured; the share of the product's rate says more",
            **OPEN,
            "sequence length": ", ".join(map(str, LENGTHS)) + " tokens",
        },
        findings=_findings({name: found[name, TOKENS] for name in SIZES}, card),
    )


def comparisons(found: Found) -> list[Comparison]:
    """The reported times beside ours at every length."""
    seconds = {key: t.seconds_for(ALL, PAPER_ELEMENTS) for key, t in found.items()}
    return [
        Comparison(
            f"{name}, $10^5$ trials",
            float(TABLE_5[name][0]),
            seconds[name, TOKENS],
            FACTOR,
            "s",
            choices={f"{tokens} tokens": seconds[name, tokens] for tokens in LENGTHS if tokens != TOKENS},
        )
        for name in dict.fromkeys(name for name, _ in found)
    ]


def length_of(sizes: Sizes, operations: float) -> float:
    """Tokens with so many operations per trial: the positive root of 2 n h (d_k + d_v) (2 d + n) = operations."""
    h, d_k, d_v, d = sizes
    return math.sqrt(d * d + operations / (2 * h * (d_k + d_v))) - d


def _table(found: Found) -> Table:
    rows = [
        [
            name, tokens, t.trials, t.seconds, t.drawing, t.milliseconds, float(TABLE_5[name][1]),
            t.rate / 1e12, t.product_rate / 1e12, round(100 * t.share),
        ]
        for (name, tokens), t in found.items()
    ]  # fmt: skip
    columns = ["configuration", "tokens", "trials", "seconds", "of them drawing elements", "ms per trial",
               "reported ms per transform", "TFLOP/s", "TFLOP/s of the product", "share in %"]  # fmt: skip
    return Table("Time", columns, rows)


def _findings(found: dict[str, Timing], card: bool) -> list[str]:
    shares = ", ".join(f"{100 * t.share:.0f} % ({name})" for name, t in found.items())
    rate = f"The trials of {TOKENS} tokens run at {shares} of the rate of a plain float64 product of the same shape."
    if not card:
        return [rate, "The reported times are for an H100, so a processor's are not compared with them."]
    gains = ", ".join(
        f"{float(TABLE_5[name][0]) / t.seconds_for(ALL, PAPER_ELEMENTS):.0f}" for name, t in found.items()
    )
    lengths = [length_of(t.sizes, t.rate * float(TABLE_5[name][0]) / PASSES) for name, t in found.items()]
    return [
        f"The same trials with {TOKENS} tokens take less time than reported by factors of {gains}. At the rate of "
        f"these runs the reported times are those of {', '.join(f'{length:,.0f}' for length in lengths)} tokens.",
        rate,
    ]


EXPERIMENT = Experiment("table-5", "Time of the trials", run)
