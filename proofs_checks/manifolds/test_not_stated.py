"""What the source reports without numbers, code or data (4.1, 4.5, 4.6, acknowledgments)."""

from __future__ import annotations

from proofs_checks.manifolds.recorded_results import SCALES, measured, table, where
from symgauge.claims import EvidenceLog, checks


@checks("feed-forward")
def test_feed_forward(evidence: EvidenceLog) -> None:
    for size in SCALES:
        without = measured("robustness", "$r_{90}$, four matrices: main", size)
        layers = measured("robustness", "$r_{90}$, four matrices: with feed-forward layers", size)
        trainings = table("robustness", "r90 by training", size)
        rows = {row[0]: dict(zip(trainings.columns, row, strict=True)) for row in trainings.rows}
        accuracy = [rows[name]["final accuracy, mean"] for name in ("main", "feed-forward")]
        evidence.numeric(
            f"mean $r_{{90}}$ and accuracy without and with feed-forward layers: more dimensions and less accuracy? "
            f"{where('robustness', size)}",
            bool(layers > without and accuracy[1] < accuracy[0]),
            on="reproduction",
            figures={
                "mean r90": [round(without, 2), round(layers, 2)],
                "accuracy": accuracy,
                "seeds": [rows[name]["seeds"] for name in ("main", "feed-forward")],
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
