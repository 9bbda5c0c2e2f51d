"""Section 7: the numbers of twenty models, and the controls that say where these numbers come from."""

from __future__ import annotations

import torch
from torch import Tensor

from proofs_checks.idealized import reported
from proofs_checks.idealized.experiments.gauges import Mixture, gauge_copies
from proofs_checks.idealized.experiments.geometry import geometry
from proofs_checks.idealized.experiments.groups import TRAINED
from proofs_checks.idealized.group_statistics import DRAWS, isotropic, shape
from proofs_checks.idealized.model import architecture, initial
from proofs_checks.idealized.trained_models import MODELS, from_all_starts, twenty
from symgauge.claims import EvidenceLog, at_least, at_most, checks
from symgauge.experiments.deciding import WHERE, provenance, record_outcome
from symgauge.experiments.record import recorded


@checks("7.1-L2", "7.1-norm", "7.1-cos", "7.2-pca")
def test_statistics(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
    parallel = geometry(gauge_copies(architecture(), twenty()[TRAINED][0], MODELS, 0, Mixture(stream=False)))
    evidence.control(
        "copies that share embedding and output map are not orthogonal, and isotropic vectors have another ratio",
        figures={
            "mean cosine": at_least(float(parallel.cosines.mean()), 0.2),
            "isotropic ratio": at_most(isotropic(0).ratio, 1.6),
        },
    )


def each_of_the_table(theta: Tensor) -> float:
    """Mean variance of the 32 embedding entries of vectors (n, P) over that of the other parameters."""
    variance = theta.var(0)
    return float(variance[:32].mean() / variance[32:].mean())


def share_of_the_table(theta: Tensor) -> float:
    """Share of the variance of vectors (n, P) that the 32 embedding entries have."""
    variance = theta.var(0)
    return float(variance[:32].sum() / variance.sum())


@checks("7.2-iso", "abs-6")
def test_isotropy(evidence: EvidenceLog) -> None:
    ratios = [isotropic(seed).ratio for seed in range(DRAWS)]
    ours = shape(TRAINED).ratio
    evidence.numeric(
        "ratio of the first to the last component: is it that of isotropic vectors?",
        min(ours, reported.RATIO) <= max(ratios),
        figures={
            "trained": ours,
            "reported": reported.RATIO,
            "isotropic, least": min(ratios),
            "isotropic, largest": max(ratios),
        },
        counterexample=f"the reported 2.55 against at most {max(ratios):.2f} in {DRAWS} isotropic sets",
        cases=DRAWS,
        only="abs-6",
    )
    theta = twenty()[TRAINED]
    table = {how: share_of_the_table(models) for how, models in from_all_starts().items()}
    each = {how: each_of_the_table(models) for how, models in from_all_starts().items()}
    generator = torch.Generator().manual_seed(0)
    even = [each_of_the_table(torch.randn(theta.shape, generator=generator, dtype=theta.dtype)) for _ in range(DRAWS)]
    found = evidence.numeric(
        "variance of an embedding entry over that of another parameter, on average, by initialisation: at most twice?",
        on="reproduction",
        figures={**{how: at_most(ratio, 2) for how, ratio in each.items()},
                 **{f"share of the embedding, {how}": share for how, share in table.items()}},
        cases=3 * MODELS,
        only="7.2-iso",
    )  # fmt: skip
    evidence.control(
        f"in {DRAWS} isotropic sets it is roughly one",
        figures={"least": at_least(min(even), 0.5), "largest": at_most(max(even), 2)},
        of=found,
        only="7.2-iso",
    )
    rest = geometry(theta[:, 32:] / theta[:, 32:].norm(dim=1, keepdim=True))
    evidence.numeric(
        "share of the variance in the 32 embedding entries of 3,136, and the ratio without them",
        on="correction",
        figures={"share": at_least(table["torch"], 0.3), "each": at_least(each["torch"], 40),
                 "first component, %": at_most(shape(TRAINED).first, 10), "ratio": at_least(ours, 2),
                 "isotropic": at_most(max(ratios), 1.6), "without the embedding": at_most(rest.ratio, ours)},
        cases=MODELS,
    )  # fmt: skip
    evidence.control(
        "isotropic vectors have a ratio near 1.3", figures={"distance to 1.3": at_most(abs(ratios[0] - 1.3), 0.15)}
    )
    spread = evidence.numeric(
        "the same ratio by initialisation, and the reported ratio of components against that of isotropic sets",
        on="correction",
        figures={
            "torch": at_least(each["torch"], 40),
            "xavier, at least": at_least(each["xavier"], 2),
            "xavier, at most": at_most(each["xavier"], 5),
            "normal": at_most(each["normal"], 2),
            "reported": at_least(reported.RATIO, max(ratios)),
        },
        cases=3 * MODELS,
        only="7.2-iso",
    )
    untrained = each_of_the_table(initial(architecture(), range(MODELS), "normal"))
    evidence.control(
        "where it starts even and is not trained it is one",
        figures={"distance to one": at_most(abs(untrained - 1), 0.2)},
        of=spread,
        only="7.2-iso",
    )
    run = recorded("idealized")["paper"].runs["figure-5-starts"]
    other = run.result.comparison("first to last")
    starts = evidence.numeric(
        "ratio of components from the other initialisations on record",
        on="correction",
        figures={
            **{f"value {n}": at_most(value, reported.RATIO / other.factor) for n, value in enumerate(other.values, 1)},
            WHERE: provenance("paper", run),
        },
        cases=len(other.values) * MODELS,
        only="abs-6",
    )
    evidence.control(
        "from torch's default it is the reported one, by the same factor",
        figures={"ratio": at_least(ours, reported.RATIO / other.factor)},
        of=starts,
        only="abs-6",
    )
    evidence.numeric(
        "mean cosine",
        on="correction",
        figures={"mean": at_most(abs(float(shape(TRAINED).cosines.mean())), 0.05)},
        cases=190,
        only="abs-6",
    )
    half = geometry((theta + theta[0]) / 2)
    evidence.control(
        "every model moved half way to the first: no longer orthogonal",
        figures={"mean": at_least(float(half.cosines.mean()), 0.3)},
        only="abs-6",
    )
