"""What the source reports without numbers, code or data (4.1, 4.5, 4.6, acknowledgments)."""

from __future__ import annotations

from proofs_checks.manifolds.recorded_results import SCALES, measured, table
from symgauge.claims import EvidenceLog, at_least, at_most, checks


@checks("feed-forward")
def test_feed_forward(evidence: EvidenceLog) -> None:
    evidence.missing("dimensions and accuracies with feed-forward layers", "the training budget compared")
    for size in SCALES:
        without = measured("robustness", "$r_{90}$, four matrices: main", size)
        layers = measured("robustness", "$r_{90}$, four matrices: with feed-forward layers", size)
        trainings = table("robustness", "r90 by training", size)
        column = list(trainings.columns).index("final accuracy, mean")
        accuracy = {row[0]: row[column] for row in trainings.rows}
        evidence.numeric(
            f"recorded at scale {size}: mean $r_{{90}}$ with feed-forward layers over that without; accuracies",
            on="reproduction",
            figures={
                "ratio": at_least(round(layers / without, 2), 1.25),
                "accuracy with": at_most(accuracy["feed-forward"], accuracy["main"] - 0.01),
            },
        )


@checks("curriculum")
def test_curriculum(evidence: EvidenceLog) -> None:
    evidence.missing("accuracies by m after the curriculum", "what fall counts as catastrophic")


@checks("multiplication")
def test_multiplication(evidence: EvidenceLog) -> None:
    evidence.missing("the multiplication task", "its modulus, architecture and training", "any figure or data of it")


@checks("available")
def test_available(evidence: EvidenceLog) -> None:
    evidence.missing(
        "bubble_exp_comm.py, imported by the script of Figures 3 to 5",
        "runs.pt, read by both scripts of Figure 1",
        "figure1_intrinsic_dim.png, figure2_entropy_bubbling.png and figure6_sae_ablation.png, included by the text",
    )
