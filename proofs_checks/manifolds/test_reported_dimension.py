"""The dimensions that the source reports, held against each other and against trainings (abstract, 4.1, Figure 1)."""

from __future__ import annotations

import torch

from proofs_checks.manifolds import reported
from proofs_checks.manifolds.experiments.robustness import mean_square_cosine
from proofs_checks.manifolds.marked_sum import Sizes
from proofs_checks.manifolds.recorded_results import measured, where
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import record_outcome


@checks("abs-dimension")
def test_reported_dimension(evidence: EvidenceLog) -> None:
    evidence.audit(
        "the range for all four matrices in 4.1 and in the caption of Figure 1 against that of the abstract",
        figures={"upper end": at_most(reported.DIMENSION_OF_MATRICES[1], reported.DIMENSION[1])},
    )
    evidence.audit(
        "the range that the author's repository states for the same experiments (README)",
        figures={"lower end": at_least(reported.README_DIMENSION[0], reported.DIMENSION[0])},
    )
    qk, vo, mean, null = (
        round(measured("figure-1", name, "paper"), 2)
        for name in (
            "$r_{90}$, mean of $W_Q, W_K$",
            "$r_{90}$, mean of $W_V, W_O$",
            "$r_{90}$, mean of all",
            "null: labels drawn at random",
        )
    )
    evidence.numeric(
        "means over matrices, layers and seeds, and experiment `robustness`",
        on="correction",
        figures={
            "W_Q, W_K, at least": at_least(qk, 4.5),
            "W_Q, W_K, at most": at_most(qk, 5.0),
            "W_V, W_O, at least": at_least(vo, 3.0),
            "W_V, W_O, at most": at_most(vo, 3.5),
            "labels drawn at random, distance": at_most(round(abs(null - mean), 2), 0.5),
            "modular addition": equal(
                round(measured("robustness", "$r_{90}$, four matrices: addition", "paper"), 2), 2.0
            ),
            **where("figure-1", "paper"),
        },
    )
    free = round(measured("figure-1", "gauge control: same functions, new elements", "paper"), 2)
    evidence.control(
        "paths of the same functions, a new gauge element at each snapshot", figures={"r90": at_least(free, 20)}
    )


@checks("fig-1")
def test_figure_1(evidence: EvidenceLog) -> None:
    record_outcome(evidence)


@checks("ambient")
def test_ambient_dimension(evidence: EvidenceLog) -> None:
    sizes = Sizes()
    evidence.exact(
        "numbers in one path: one matrix, or all attention matrices",
        figures={"one matrix": equal(sizes.d**2, 128)},
        counterexample=r"$W_Q \in R^{128\times128}$ has 16,384 entries",
    )
    evidence.control("one row of a matrix has as many", kind="exact", figures={"one row": equal(sizes.d, 128)})
    evidence.exact(
        "the same",
        on="correction",
        figures={"one matrix": equal(sizes.d**2, 16_384), "all": equal(sizes.attention, reported.ATTENTION)},
    )


@checks("abs-robust")
def test_number_of_seeds(evidence: EvidenceLog) -> None:
    evidence.audit(
        "number of seeds: " + ", ".join(f"{count} in {where}" for where, count in reported.SEEDS.items()),
        figures={"different numbers": at_most(len(set(reported.SEEDS.values())), 1)},
    )
    evidence.audit(
        "length of sequences in 3.1 and in the code",
        figures={"T": equal(reported.LENGTH["3.1"], reported.LENGTH["code"])},
    )


@checks("robust-measured")
def test_robustness(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
    same = measured("robustness", "overlap of the bases of two seeds", "paper")
    chance = measured("robustness", "null: overlap of random planes", "paper")
    evidence.numeric(
        "overlap of the bases of two seeds (0: orthogonal, 1: the same), nearer to 0 than to 1, and that of random "
        "planes",
        on="reproduction",
        figures={
            "overlap": at_most(round(same, 3), 0.5),
            "random planes": round(chance, 3),
            **where("robustness", "paper"),
        },
    )
    plane = torch.linalg.qr(torch.randn(40, 6, generator=torch.Generator().manual_seed(0)))[0]
    evidence.control(
        "the overlap of a plane with itself",
        figures={"overlap": at_least(round(float(mean_square_cosine(plane, plane).sqrt()), 3), 0.5)},
    )
