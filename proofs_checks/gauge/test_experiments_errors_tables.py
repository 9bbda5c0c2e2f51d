"""Tables 2, 3 and 6 and their protocol, on small samples of the experiments that `symgauge reproduce gauge` runs."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from proofs_checks.gauge.experiments.distribution import distribution
from proofs_checks.gauge.experiments.elements import sample
from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.subject import FLAT, PAPER_ELEMENTS, PAPER_INPUTS, SHORT, SIZES, Subject, subject
from proofs_checks.gauge.experiments.table_2 import spoilt
from proofs_checks.gauge.experiments.table_3 import SECTORS
from proofs_checks.gauge.experiments.table_6 import ROWS, biases_left_alone
from proofs_checks.gauge.experiments.trials import Form
from proofs_checks.gauge.reported import CONFIGURATIONS, EPSILON, TABLE_2, TABLE_3, TABLE_5, TABLE_6, TEXT, epsilons
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import WHERE, provenance, record_outcome
from symgauge.experiments.record import recorded
from symgauge.experiments.result import Result
from symgauge.experiments.suite import Setting


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def record_control(evidence: EvidenceLog, drawn: Subject) -> None:
    change = spoilt(drawn, "general", 0).median
    evidence.control(
        r"$A^{-1}$ in place of $A^{-\top}$, general elements",
        figures={"change": at_least(round(change, 1), 0.1)},
    )


@checks("tab-2")
def test_errors_in_the_group(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
    record_control(evidence, subject(SIZES["Small"], 20, generator(), tokens=SHORT))


# What “of one order of magnitude” is taken to be: the largest at most so many times the smallest.
ONE_ORDER = 10


@checks("sec6-9")
def test_consistency_across_configurations(evidence: EvidenceLog) -> None:
    runs = [
        [(scale, record.runs[key]) for scale, record in recorded("gauge").items() if key in record.runs][-1]
        for key in ("table-2", "table-2-weights")
    ]
    results = [run.result for _, run in runs]
    maxima, means = (by_choice(results, name) for name in ("maximum", "mean"))
    evidence.numeric(
        "largest over smallest of the three configurations, under every law of the weights and length on record",
        on="reproduction",
        figures={
            "maxima": at_most(round(max(map(spread, maxima.values())), 1), ONE_ORDER),
            "means": at_most(round(max(map(spread, means.values())), 1), ONE_ORDER),
            "in Table 2": [round(spread([float(row[column]) for row in TABLE_2.values()]), 2) for column in (0, 1)],
            WHERE: "; ".join(provenance(scale, run) for scale, run in runs),
        },
        cases=3 * (len(maxima) + len(means)),
    )
    across = [spread(errors) for errors in zip(*maxima.values(), strict=True)]
    evidence.control(
        "maxima of one configuration over the laws and lengths are not of one order",
        figures={"least spread": at_least(round(min(across)), 2 * ONE_ORDER)},
    )
    record_control(evidence, subject(SIZES["Small"], 20, generator(), tokens=SHORT))


def spread(errors: Sequence[float]) -> float:
    """Largest over smallest."""
    return max(errors) / min(errors)


def by_choice(results: Sequence[Result], name: str) -> dict[str, list[float]]:
    """The errors of the three configurations under every choice of the results."""
    found: dict[str, list[float]] = {}
    for result in results:
        for each in result.comparisons:
            if each.quantity.endswith(f": {name}"):
                for choice, value in zip(("as taken", *each.choices), each.values, strict=True):
                    found.setdefault(f"{result.title}: {choice}", []).append(value)
    return found


@checks("tab-3", "sec6-5")
def test_sectors(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
    evidence.audit(
        r"the reported maxima in $\varepsilon$",
        on="reproduction",
        figures={
            "QK": equal(f"{epsilons(TABLE_3['QK only'][0]):.1f}", "2.5"),
            "VO": equal(f"{epsilons(TABLE_3['VO only'][0]):.0f}", "21"),
        },
        only="sec6-5",
    )
    small = SIZES["Small"]
    means = {}
    for sector in ("QK only", "VO only"):
        few = sample(small, 4, generator(2)).only(*SECTORS[sector])
        means[sector] = [
            distribution(subject(small, 8, generator(3), spread=times * small.d_model**-0.5).under(few)).mean
            for times in (FLAT, 2.0)
        ]
    evidence.numeric(
        "weights ten times as large (64 tokens, Small): how much the mean errors grow",
        on="correction",
        figures={
            "QK, factor": at_least(round(means["QK only"][1] / means["QK only"][0]), 3),
            "VO, factor": at_most(round(means["VO only"][1] / means["VO only"][0], 1), 1.5),
        },
        cases=4 * 8 * 4,
    )
    record_control(evidence, subject(small, 20, generator(), tokens=SHORT))


@checks("tab-6")
def test_architectures(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
    weakest = 1.0
    for name, kind in ROWS.items():
        if kind.biased and not kind.wide:
            form = Form(causal=kind.causal)
            drawn = subject(Sizes(*TABLE_6[name][0]), 8, generator(), form=form, biased=True)
            weakest = min(weakest, biases_left_alone(drawn, Setting()).median)
    evidence.control("biases left as they were", figures={"change": at_least(round(weakest, 2), 0.01)})
    evidence.not_stated(
        TEXT,
        {
            "what the checkpoints were trained on": ("training data", "corpus", "WebText"),
            "optimiser and loss of the checkpoints": ("AdamW", "optimizer", "learning rate"),
            "where the checkpoints are": ("repository", "github", "Hugging Face"),
        },
        there="trained GPT-2 checkpoints",
    )


@checks("sec6-2")
def test_protocol(evidence: EvidenceLog) -> None:
    trials, largest = PAPER_INPUTS * PAPER_ELEMENTS, max(float(maximum) for maximum, _, _ in TABLE_2.values())
    times = [ms for _, ms in TABLE_5.values()]

    def per_trial(count: int) -> list[str]:
        return [f"{1000 * float(total) / count:.2f}" for total, _ in TABLE_5.values()]

    evidence.audit(
        "inputs times transformations, milliseconds per trial in Table 5, and the largest error of Table 2 against the "
        "machine epsilon of single precision",
        figures={
            "trials": equal(trials, 10**5),
            "ms": equal(per_trial(trials), times),
            "largest error": at_most(largest, torch.finfo(torch.float32).eps),
        },
    )
    evidence.control(
        "with as many transformations as inputs the times would be others",
        per_trial(PAPER_INPUTS**2) != times,
        kind="audit",
    )


# The versions for which PyTorch 2.4.1 was built.
CUDA_VERSIONS = ("11.8", "12.1", "12.4")


@checks("F.1.1")
def test_environment(evidence: EvidenceLog) -> None:
    built = [v for v in CUDA_VERSIONS if TEXT.count(f"PyTorch Version: 2.4.1+cu{v.replace('.', '')}")]
    named = [v for v in CUDA_VERSIONS if TEXT.count(f"CUDA Version: {v}")]
    evidence.audit(
        "the suffix of the PyTorch build names the CUDA version; machine epsilon is that of double precision",
        figures={
            "CUDA": equal(built, named),
            "found": at_least(len(named), 1),
            "ε": equal(f"{torch.finfo(torch.float64).eps:.2e}", EPSILON),
        },
    )
    evidence.not_stated(
        TEXT,
        {
            "where the scripts that it announces are": ("github", "repository", "supplementary", "code is available"),
            "a log of the runs": ("logs", "log file"),
        },
        there="We include scripts to",
    )


@checks("F.1.2")
def test_configurations(evidence: EvidenceLog) -> None:
    sizes = {name: heads for name, (heads, _) in CONFIGURATIONS.items()}
    evidence.audit(
        "assumptions A2 and A6, and the configurations named in Table 2",
        figures={
            "d": equal([s.d_model for s in sizes.values()], [s.h * s.d_v for s in sizes.values()]),
            "least d / d_k": at_least(min(s.d_model / s.d_k for s in sizes.values()), 2),
            "h, d_k": equal([[s.h, s.d_k] for s in sizes.values()], [[4, 64], [8, 64], [12, 128]]),
            "rows of Tables 2 and 5": equal([list(TABLE_2), list(TABLE_5)], [list(sizes), list(sizes)]),
        },
        cases=len(sizes),
    )
