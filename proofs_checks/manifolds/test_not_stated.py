"""What the source reports without numbers, code or data (4.1, 4.5, 4.6, acknowledgments)."""

from __future__ import annotations

from collections.abc import Sequence

from proofs_checks.manifolds.recorded_results import SCALES, measured, table, where
from proofs_checks.manifolds.reported import ABSTRACT, FILES, FILES_NEEDED
from proofs_checks.support.silence import record_silence
from symgauge.claims import EvidenceLog, at_least, checks, equal


def not_at_hand(evidence: EvidenceLog, what: str, searched: Sequence[str], there: str) -> None:
    """The sections that a claim is from are not at hand, and the abstract is silent on it."""
    why = f"the abstract, which alone is at hand, does not say {what}, and it was not measured here"
    record_silence(evidence, ABSTRACT, why, searched, there)


@checks("feed-forward")
def test_feed_forward(evidence: EvidenceLog) -> None:
    for size in SCALES:
        without = measured("robustness", "$r_{90}$, four matrices: main", size)
        layers = measured("robustness", "$r_{90}$, four matrices: with feed-forward layers", size)
        trainings = table("robustness", "r90 by training", size)
        rows = {row[0]: dict(zip(trainings.columns, row, strict=True)) for row in trainings.rows}
        accuracy = [rows[name]["final accuracy, mean"] for name in ("main", "feed-forward")]
        figures = {"seeds": [rows[name]["seeds"] for name in ("main", "feed-forward")], **where("robustness", size)}
        paths = evidence.numeric(
            f"mean $r_{{90}}$ without and with feed-forward layers: more dimensions? Scale {size}",
            layers > without,
            on="reproduction",
            figures={"mean r90": [round(without, 2), round(layers, 2)], **figures},
        )
        addition = measured("robustness", "$r_{90}$, four matrices: addition", size)
        evidence.control(
            f"another task has fewer, by the same record, scale {size}",
            addition < without,
            figures={"addition": round(addition, 2)},
            of=paths,
        )
        evidence.numeric(
            f"accuracy without and with feed-forward layers: less? Scale {size}",
            bool(accuracy[1] < accuracy[0]),
            on="reproduction",
            figures={"accuracy": accuracy, **figures},
        )
        noise = rows["noise"]["final accuracy, mean"]
        evidence.control(
            f"noise in the labels does bring the accuracy down, by the same record, scale {size}",
            noise < accuracy[0],
            figures={"with noise": noise, "without": accuracy[0]},
        )


@checks("curriculum")
def test_curriculum(evidence: EvidenceLog) -> None:
    searched = ("forgetting", "forgets", "catastrophic", "mixed training")
    not_at_hand(evidence, "what happens to smaller m", searched, there="training curriculum design")


@checks("multiplication")
def test_multiplication(evidence: EvidenceLog) -> None:
    searched = ("multiplication", "multiplicative", "complexity", "4 6", "4 7")
    not_at_hand(evidence, "dimensions for multiplication", searched, there="execution manifolds of dimension")


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
