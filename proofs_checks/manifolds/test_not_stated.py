"""What the source reports without numbers, code or data (4.1, 4.5, 4.6, acknowledgments)."""

from __future__ import annotations

from proofs_checks.manifolds.recorded_results import SCALES, measured, table, where
from proofs_checks.manifolds.reported import ABSTRACT, FILES, FILES_NEEDED
from symgauge.claims import EvidenceLog, at_least, checks, equal


@checks("feed-forward")
def test_feed_forward(evidence: EvidenceLog) -> None:
    for size in SCALES:
        without = measured("robustness", "$r_{90}$, four matrices: main", size)
        layers = measured("robustness", "$r_{90}$, four matrices: with feed-forward layers", size)
        trainings = table("robustness", "r90 by training", size)
        rows = {row[0]: dict(zip(trainings.columns, row, strict=True)) for row in trainings.rows}
        accuracy = [rows[name]["final accuracy, mean"] for name in ("main", "feed-forward")]
        evidence.numeric(
            "mean $r_{90}$ and accuracy without and with feed-forward layers: more dimensions and less accuracy? "
            f"Scale {size}",
            bool(layers > without and accuracy[1] < accuracy[0]),
            on="reproduction",
            figures={
                "mean r90": [round(without, 2), round(layers, 2)],
                "accuracy": accuracy,
                "seeds": [rows[name]["seeds"] for name in ("main", "feed-forward")],
                **where("robustness", size),
            },
        )
        noise = rows["noise"]["final accuracy, mean"]
        evidence.control(
            f"noise in the labels does bring the accuracy down, by the same record, scale {size}",
            noise < accuracy[0],
            figures={"with noise": noise, "without": accuracy[0]},
        )


@checks("curriculum")
def test_curriculum(evidence: EvidenceLog) -> None:
    searched = {
        "accuracies by m after the curriculum": ("accuracy", "accuracies"),
        "what fall counts as catastrophic": ("catastrophic", "catastrophically"),
    }
    evidence.not_stated(ABSTRACT, searched, there="training curriculum design", part="the abstract")


@checks("multiplication")
def test_multiplication(evidence: EvidenceLog) -> None:
    searched = {
        "the multiplication task": ("multiplication", "multiplicative", "product"),
        "its modulus": ("modulus", "modulo", "prime"),
        "dimensions other than 3 to 4": ("4 6", "4 7", "dimension 5", "dimension 6"),
    }
    evidence.not_stated(ABSTRACT, searched, there="execution manifolds of dimension", part="the abstract")


@checks("available")
def test_available(evidence: EvidenceLog) -> None:
    lacking = [name for name in FILES_NEEDED if name not in FILES]
    evidence.audit(
        "files that the code imports or reads and no commit of the repository has",
        on="reproduction",
        figures={"files": equal(lacking, [])},
        cases=len(FILES_NEEDED),
    )
    evidence.control(
        "not all are lacking", kind="audit", figures={"there": at_least(len(FILES_NEEDED) - len(lacking), 1)}
    )
