"""What the source reports without numbers, code or data (4.1, 4.5, 4.6, acknowledgments)."""

from __future__ import annotations

from proofs_checks.manifolds.support import SCALES, measured, table
from symgauge.claims import EvidenceLog, at_least, at_most, claim


@claim(
    id="manifolds/feed-forward",
    source="manifolds",
    place="4.5",
    statement="Feed-forward layers disrupt the low-dimensional picture: higher-dimensional paths, and worse "
    "generalization.",
    verdict="not-reproducible",
    remark="Small scale, five seeds: paths are no higher-dimensional with them. At the source's size, one seed: a mean "
    "of 4.75 against 4.0 without, from $W_V$ and $W_O$. Accuracy is 1 with and without at either size.",
)
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


@claim(
    id="manifolds/curriculum",
    source="manifolds",
    place="4.5",
    statement="A curriculum of growing m leads to catastrophic forgetting of smaller m; mixed training does not.",
    verdict="not-reproducible",
    remark="The code has the curriculum, but no number or figure of the text shows the forgetting.",
)
def test_curriculum(evidence: EvidenceLog) -> None:
    evidence.missing("accuracies by m after the curriculum", "what fall counts as catastrophic")


@claim(
    id="manifolds/multiplication",
    source="manifolds",
    place="4.1, 4.6",
    statement="Modular multiplication has manifolds of dimension 4–6, so dimension scales with complexity.",
    verdict="not-reproducible",
    remark="Called preliminary in the text; the README says 4–7.",
)
def test_multiplication(evidence: EvidenceLog) -> None:
    evidence.missing("the multiplication task", "its modulus, architecture and training", "any figure or data of it")


@claim(
    id="manifolds/available",
    source="manifolds",
    place="footnote of the title, acknowledgments",
    statement="Code and experimental data are available in the repository, so that the figures can be made again.",
    verdict="not-reproducible",
    remark="By the repository's listing over its history; the script of the commutators imports what is not there.",
)
def test_available(evidence: EvidenceLog) -> None:
    evidence.missing(
        "bubble_exp_comm.py, imported by the script of Figures 3 to 5",
        "runs.pt, read by both scripts of Figure 1",
        "figure1_intrinsic_dim.png, figure2_entropy_bubbling.png and figure6_sae_ablation.png, included by the text",
    )
