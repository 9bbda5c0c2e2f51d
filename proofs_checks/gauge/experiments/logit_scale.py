"""What the source leaves open about its errors: the scale of the scores, and the sequence length."""

from __future__ import annotations

import torch
from torch import Tensor

from proofs_checks.gauge.experiments.distribution import Distribution, distribution
from proofs_checks.gauge.experiments.elements import Elements, sample
from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.subject import SIZES, SMALL_SPREAD, counts, generator, logit_deviation, subject
from proofs_checks.gauge.experiments.table_3 import SECTORS
from proofs_checks.gauge.experiments.trials import TOKENS
from proofs_checks.gauge.reported import TABLE_2, TABLE_3
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

FACTORS = (0.2, 0.3, 0.45, 0.7, 1.0, 1.4, 2.0, 3.0)  # weights of so many times 1/√d
LENGTHS = (2, 4, 8, 16, 32, 64, 128, 256)
SMALL_COUNTS = (12, 8)
PAPER_ELEMENTS = 5
ROWS = 64 * 1000  # tokens per element at paper scale, whatever the length
PARTS = ("QK only", "VO only", "QK + VO")


def run(setting: Setting) -> Result:
    names = ("Small", "Large") if setting.paper else ("Small",)
    by_scale: dict[tuple[str, float, str], tuple[float, Distribution]] = {}
    by_length: dict[tuple[str, int, str], Distribution] = {}
    for number, name in enumerate(names):
        sizes = SIZES[name]
        g = generator(setting)
        inputs, elements = counts(setting, *SMALL_COUNTS)
        some = sample(sizes, min(elements, PAPER_ELEMENTS), g)
        spreads = [*(f * sizes.d_model**-0.5 for f in FACTORS), SMALL_SPREAD]
        for spread in sorted(spreads):
            setting.tick(f"{name}, weights of {spread:.3g}", number / len(names))
            deviation, errors = at_scale(sizes, inputs, spread, some, g)
            for part, e in errors.items():
                by_scale[name, spread, part] = deviation, distribution(e)
        for length in LENGTHS:
            setting.tick(f"{name}, {length} tokens", (number + 0.5) / len(names))
            count = ROWS // length if setting.paper else max(SMALL_COUNTS[0], 256 // length)
            drawn = subject(sizes, min(count, 1000), g, tokens=length)
            for part in PARTS:
                by_length[name, length, part] = distribution(drawn.under(some.only(*SECTORS[part])))
    return Result(
        key="logit-scale",
        title="Error against logit scale and sequence length",
        place="F.1, Tables 2 and 3",
        protocol=f"Elements of (87) on queries and keys, on values and outputs, and on both. First the weights "
        f"vary, with {TOKENS} tokens; the deviation of the scores before softmax follows with their square. Then "
        "the length varies, with weights of $1/\\sqrt d$.",
        comparisons=[_comparison(by_scale, by_length)],
        tables=[_scale_table(by_scale), _length_table(by_length)],
        figures=[_figure(names[0], by_scale, by_length)],
        settings={"seed": setting.seed},
        open_choices={"weight scale": "varied", "sequence length": "varied", "configuration": ", ".join(names)},
        findings=_findings(names[0], by_scale, by_length),
    )


def at_scale(
    sizes: Sizes, inputs: int, spread: float, elements: Elements, g: torch.Generator
) -> tuple[float, dict[str, Tensor]]:
    """Deviation of the scores, and the errors (E, N) of each of PARTS, for weights N(0, spread²)."""
    drawn = subject(sizes, inputs, g, spread=spread)
    return logit_deviation(drawn), {part: drawn.under(elements.only(*SECTORS[part])) for part in PARTS}


def _comparison(
    by_scale: dict[tuple[str, float, str], tuple[float, Distribution]],
    by_length: dict[tuple[str, int, str], Distribution],
) -> Comparison:
    """Mean query-key error, whose configuration, weights and length the source leaves open."""
    part = PARTS[0]
    every = {f"{n}, weights of {w:.3g}": f.mean for (n, w, p), (_, f) in by_scale.items() if p == part}
    every |= {f"{n}, {length} tokens": f.mean for (n, length, p), f in by_length.items() if p == part}
    taken = next(iter(every))
    return Comparison(f"{part}, mean; {taken}", float(TABLE_3[part][1]), every.pop(taken), choices=every)


def _scale_table(by_scale: dict[tuple[str, float, str], tuple[float, Distribution]]) -> Table:
    rows = []
    for name, spread in dict.fromkeys((name, spread) for name, spread, _ in by_scale):
        deviation = by_scale[name, spread, PARTS[0]][0]
        rows.append([name, spread, deviation, *(by_scale[name, spread, part][1].mean for part in PARTS)])
    return Table(
        "Mean error by scale", ["configuration", "deviation of weights", "deviation of scores", *PARTS], rows,
        note=f"The source has a mean of {TABLE_3['QK only'][1]} for QK only and {TABLE_3['VO only'][1]} for VO only.",
    )  # fmt: skip


def _length_table(by_length: dict[tuple[str, int, str], Distribution]) -> Table:
    rows = []
    for name, length in dict.fromkeys((name, length) for name, length, _ in by_length):
        means = [by_length[name, length, part].mean for part in PARTS]
        both = by_length[name, length, PARTS[-1]]
        rows.append([name, length, *means, both.std / both.mean])
    reported = ", ".join(f"{name} {float(row[2]) / float(row[1]):.3f}" for name, row in TABLE_2.items())
    return Table(
        "Mean error and relative spread by length",
        ["configuration", "tokens", *PARTS, "std / mean, QK + VO"],
        rows,
        note=f"Standard deviation over mean in the source's Table 2: {reported}.",
    )


def _findings(
    name: str,
    by_scale: dict[tuple[str, float, str], tuple[float, Distribution]],
    by_length: dict[tuple[str, int, str], Distribution],
) -> list[str]:
    curve = [found for (n, _, part), found in by_scale.items() if (n, part) == (name, "QK only")]
    flat, steep = curve[0], curve[-1]
    reported = float(TABLE_2[name][2]) / float(TABLE_2[name][1])
    spreads = {
        length: found.std / found.mean
        for (n, length, part), found in by_length.items() if (n, part) == (name, "QK + VO")
    }  # fmt: skip
    nearest = min(spreads, key=lambda length: abs(spreads[length] - reported))
    return [
        f"The query-key error goes from {flat[1].mean:.1e} to {steep[1].mean:.1e} as the scores' deviation goes from "
        f"{flat[0]:.2g} to {steep[0]:.2g}: what it measures is the scale of the scores. The source's "
        f"{TABLE_3['QK only'][1]} belongs to nearly uniform attention.",
        "The value-output error does not depend on the scale.",
        f"The spread of errors falls with the length: {spreads[LENGTHS[0]]:.2g} of the mean with {LENGTHS[0]} "
        f"tokens, {spreads[LENGTHS[-1]]:.2g} with {LENGTHS[-1]}. The reported {reported:.2g} ({name}) would fit about "
        f"{nearest} tokens.",
    ]


def _figure(
    name: str,
    by_scale: dict[tuple[str, float, str], tuple[float, Distribution]],
    by_length: dict[tuple[str, int, str], Distribution],
) -> Figure:
    def scale(part: str) -> Series:
        points = [(d, found.mean) for (n, _, p), (d, found) in by_scale.items() if (n, p) == (name, part)]
        return Series(f"{part}, mean", [x for x, _ in points], [y for _, y in points], "line+points")

    def length(part: str) -> Series:
        points = [(n_tokens, f.std / f.mean) for (n, n_tokens, p), f in by_length.items() if (n, p) == (name, part)]
        return Series(part, [x for x, _ in points], [y for _, y in points], "line+points")

    reported = {f"{part}, reported": float(TABLE_3[part][1]) for part in PARTS[:2]}
    spreads = {f"{n}, reported (Table 2)": float(row[2]) / float(row[1]) for n, row in TABLE_2.items()}
    return Figure(
        "logit-scale",
        f"{name}, {SIZES[name]}. Left: the query-key error grows with the scores, the value-output error does not. "
        "Right: the longer the sequences, the less the errors spread.",
        [
            Panel("Error by scale of the scores", "standard deviation of the scores", "mean relative error",
                  [scale(part) for part in PARTS], "log", "log", levels=reported),
            Panel("Spread by length", "sequence length (tokens)", "standard deviation / mean of the error",
                  [length(part) for part in PARTS], "log", "log", levels=spreads),
        ],
    )  # fmt: skip


EXPERIMENT = Experiment("logit-scale", "Error against logit scale and sequence length", run)
