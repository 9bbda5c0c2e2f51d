"""Table 8 and F.7: how rounding errors under gauge transformations are distributed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

import numpy as np
import torch

from proofs_checks.gauge.experiments.elements import act, sample
from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.normality import (
    SHAPIRO_LIMIT,
    Normality,
    Sample,
    normality,
    quantiles,
    variance_shares,
)
from proofs_checks.gauge.experiments.subject import OPEN, SIZES, generator, subject
from proofs_checks.gauge.experiments.trials import TOKENS
from proofs_checks.gauge.reported import PERCENTILES, TABLE_8, exact
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

NAMES = {f"h = {sizes.heads}": sizes for sizes in SIZES.values()}
POOLED = "all three"
CROSSED = {"small": (10, 40), "paper": (100, 1000)}  # elements, inputs; F.2.1 has 100 × 1,000
SEPARATE = {"small": (25, 16), "paper": (500, 10)}  # elements, inputs of its own for each
SMALL_TOKENS = 8
UNIT = 1e-15


def crossed(sizes: Sizes, setting: Setting, elements: int, inputs: int, tokens: int) -> Sample:
    """Relative errors (elements, inputs): every element on every input, as F.2.1 has it."""
    random = generator(setting)
    layer = subject(sizes, inputs, random, tokens=tokens)
    return layer.under(sample(sizes, elements, random)).cpu().numpy()


def separate(sizes: Sizes, setting: Setting, elements: int, inputs: int, tokens: int) -> Sample:
    """Relative errors (elements, inputs): every input used once, so that trials share no more than an element."""
    random = generator(setting)
    layer = subject(sizes, elements * inputs, random, tokens=tokens)
    each = zip(sample(sizes, elements, random).each(), layer.inputs.split(inputs), strict=True)
    found = [replace(layer, inputs=x).errors([act(layer.layer, element)]) for element, x in each]
    return torch.cat(found).cpu().numpy()


def run(setting: Setting) -> Result:
    tokens = TOKENS if setting.paper else SMALL_TOKENS
    errors, single = {}, {}
    for number, (name, sizes) in enumerate(NAMES.items()):
        setting.tick(f"errors, {name}", number / 3)
        errors[name] = crossed(sizes, setting, *CROSSED[setting.scale], tokens)
        single[name] = separate(sizes, setting, *SEPARATE[setting.scale], tokens)
    setting.tick("tests", 0.95)
    errors[POOLED] = np.concatenate([each.ravel() for each in errors.values()])
    single[POOLED] = np.concatenate([each.ravel() for each in single.values()])
    logs = {name: normality(np.log(each)) for name, each in single.items()}
    plain = {name: normality(each) for name, each in single.items()}
    every = {name: normality(np.log(each)) for name, each in errors.items()}
    shares = {name: variance_shares(np.log(errors[name])) for name in NAMES}
    elements, inputs = CROSSED[setting.scale]
    blocks, own = SEPARATE[setting.scale]
    return Result(
        key="table-8",
        title="Distribution of the errors",
        place="Table 8, F.6.1, F.7",
        protocol=f"The layers of Table 2, float64, {tokens} tokens, elements as in F.1.3. Two designs: *crossed*, "
        f"{elements} elements × {inputs} inputs per configuration, as in F.2.1; and *separate*, {blocks * own} trials "
        f"per configuration, each input used once ({own} inputs per element). All three tests are run on the same "
        "sample, with mean and variance estimated: Shapiro-Wilk, Anderson-Darling, and Kolmogorov-Smirnov in "
        "Lilliefors' form; the p-values of the last two are simulated.",
        comparisons=_comparisons(logs[POOLED], errors[POOLED]),
        tables=[
            _tests("Tests of log-normality, separate trials", logs),
            _tests("Tests of normality of the errors themselves, separate trials", plain),
            _tests("Tests of log-normality, crossed trials", every, note=_note(shares)),
            _percentiles(errors),
        ],
        figures=[_figure(single)],
        settings={"seed": setting.seed, "tokens": tokens, "weight scale": "1/√d"},
        open_choices={
            "sample that was tested, and its size": "each configuration, and all three together",
            "whether mean and variance were estimated from the sample": "yes, and the p-values allow for it",
            **OPEN,
            "sequence length": f"{tokens} tokens",
        },
        findings=_findings(logs, plain, shares, errors[POOLED]),
    )


def _comparisons(pooled: Normality, errors: Sample) -> list[Comparison]:
    ours = {
        "Shapiro-Wilk": (1 - pooled.w, pooled.w_p),
        "Anderson-Darling": (pooled.a2, pooled.a2_p),
        "Kolmogorov-Smirnov": (pooled.d, pooled.d_p),
    }
    found = []
    for name, (statistic, p) in ours.items():
        reported, reported_p = map(float, TABLE_8[name])
        if name == "Shapiro-Wilk":
            reported = round(1 - reported, 6)
        letter = {"Shapiro-Wilk": "1 − W", "Anderson-Darling": "A²", "Kolmogorov-Smirnov": "D"}[name]
        used = min(pooled.count, SHAPIRO_LIMIT) if name == "Shapiro-Wilk" else pooled.count
        note = f"{used:,} trials of all configurations"
        found.append(Comparison(f"{name}, {letter}", reported, statistic, note=note))
        found.append(Comparison(f"{name}, p", reported_p, p))
    for percent, text in PERCENTILES.items():
        what = "maximum" if percent == 100 else f"percentile {percent}"
        found.append(Comparison(what, float(exact(text)), float(np.percentile(errors, percent)), factor=1.25))
    return found


def _tests(title: str, found: Mapping[str, Normality], note: str = "") -> Table:
    columns = ["sample", "trials", "W", "p (W)", "A²", "p (A²)", "D", "p (D)", "skewness", "excess kurtosis"]
    rows = [
        [name, t.count, *(float(f"{x:.4g}") for x in (t.w, t.w_p, t.a2, t.a2_p, t.d, t.d_p, t.skewness, t.kurtosis))]
        for name, t in found.items()
    ]
    return Table(title, columns, rows, note)


def _note(shares: Mapping[str, Mapping[str, float]]) -> str:
    each = "; ".join(f"{name}: {100 * s['input']:.0f} %, {100 * s['element']:.0f} %" for name, s in shares.items())
    return (
        "Trials of a crossed design are not independent, so these p-values mean little. Share of the variance of the "
        f"logarithm that goes with the input, and with the element: {each}."
    )


def _percentiles(errors: Mapping[str, Sample]) -> Table:
    percents = list(PERCENTILES)
    columns = ["sample", "mean", "std / mean", *("maximum" if p == 100 else f"{p} %" for p in percents)]
    rows = [
        [name, float(e.mean()), float(e.std() / e.mean()), *(float(np.percentile(e, p)) for p in percents)]
        for name, e in errors.items()
    ]
    median, ninety = (float(np.percentile(errors[POOLED], p)) for p in (50, 90))
    implied = median * (ninety / median) ** (2.3263 / 1.2816)
    note = f"A log-normal distribution with the pooled percentiles 50 and 90 would have percentile 99 at {implied:.3g}."
    return Table("Percentiles, crossed trials", columns, rows, note)


def _findings(
    logs: Mapping[str, Normality],
    plain: Mapping[str, Normality],
    shares: Mapping[str, Mapping[str, float]],
    pooled: Sample,
) -> list[str]:
    rejected = [name for name in NAMES if min(logs[name].p_values) < 0.01]
    as_normal = [name for name in NAMES if min(plain[name].p_values) < 0.01]
    inside = min(s["input"] for s in shares.values())
    t = logs[POOLED]
    return [
        f"The errors of all configurations together are not log-normal (W = {t.w:.3f}, A² = {t.a2:.3g}, D = {t.d:.3f}, "
        f"p at most {max(t.p_values):.1g} on {t.count:,} trials): the configurations have different means, "
        "so the distribution has several peaks.",
        f"Within a configuration, of {logs['h = 4'].count:,} separate trials, log-normality is rejected at 1 % for "
        f"{len(rejected)} of 3, normality of the errors themselves for {len(as_normal)} of 3. With a standard "
        "deviation of a few percent of the mean the two differ little"
        + (", and these samples favour neither." if len(rejected) == len(as_normal) else "."),
        f"At least {100 * inside:.0f} % of the variance goes with the input: the trials of F.2.1, 100 per input, are "
        "far from independent, which the tests assume.",
        f"The percentiles come out near the reported ones: median {np.median(pooled):.3g}, maximum {pooled.max():.3g}.",
    ]


def _figure(errors: Mapping[str, Sample]) -> Figure:
    top = float(errors[POOLED].max()) / UNIT
    bottom = float(errors[POOLED].min()) / UNIT
    edges = np.linspace(bottom - 0.05, top + 0.05, 71)
    histograms = []
    for name in NAMES:
        density, _ = np.histogram(errors[name].ravel() / UNIT, edges, density=True)
        histograms.append(Series(name, ((edges[1:] + edges[:-1]) / 2).tolist(), density.tolist(), "steps"))
    log = np.log(errors[POOLED] / UNIT)
    x = np.linspace(edges[0], edges[-1], 200)
    fit = np.exp(-0.5 * ((np.log(x) - log.mean()) / log.std()) ** 2) / (x * log.std() * np.sqrt(2 * np.pi))
    fitted = Series("log-normal fitted to all", x.tolist(), (3 * fit).tolist())
    curves = []
    for name, each in errors.items():
        ideal, found = quantiles(np.log(each.ravel()))
        curves.append(Series(name, ideal.tolist(), found.tolist(), "points"))
    ends = [min(chain(*(c.x for c in curves))), max(chain(*(c.x for c in curves)))]
    return Figure(
        "table-8",
        "Left: relative errors of the three configurations (each of area 1), and the log-normal distribution fitted to "
        "all together (area 3). Right: standardised logarithms against normal quantiles; log-normal samples follow the "
        "line. Each configuration nearly does, all together do not.",
        [
            Panel("relative errors", "relative error (10⁻¹⁵)", "density", [*histograms, fitted]),
            Panel(
                "Q–Q plot of the logarithms",
                "normal quantile",
                "sample quantile (standardised)",
                [*curves, Series("log-normal", ends, ends)],
            ),
        ],
    )


EXPERIMENT = Experiment("table-8", "Distribution of the errors", run)
