"""Task and training as the text states them, beside the code (3.1, 3.2)."""

from __future__ import annotations

from itertools import pairwise

import torch

from proofs_checks.manifolds import reported
from proofs_checks.manifolds.experiments.gauges import RAW
from proofs_checks.manifolds.marked_sum import MarkedSum
from proofs_checks.manifolds.recorded_results import SCALES, table, where
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.profiles import scale


@checks("task")
def test_task(evidence: EvidenceLog) -> None:
    wrong, cases, marks = 0, 0, set()
    for shared in (True, False):
        task = MarkedSum(length=12, classes=5, markers=(1, 2, 3, 4), vocabulary=30, shared=shared)
        ids, labels, number = task.batches(torch.Generator().manual_seed(1), scale(20, 100), 8)
        for row, label, m in zip(
            ids.flatten(0, 1).tolist(), labels.flatten().tolist(), number.flatten().tolist(), strict=True
        ):
            places = [i for i, token in enumerate(row) if 5 <= token < 9]
            values = [row[i + 1] for i in places]
            others = [token for i, token in enumerate(row) if i not in places and i - 1 not in places]
            fits = (
                len(places) == m
                and [row[i] for i in places] == [5 + i for i in range(m)]
                and all(b - a > 1 for a, b in pairwise(places))
                and all(value < 5 for value in values)
                and all(token >= 9 for token in others)
                and label == sum(values) % 5
            )
            wrong += not fits
            cases += 1
            marks.add((m, tuple(places)))
    evidence.exact(
        "sequences taken apart token by token; violations", figures={"violations": equal(wrong, 0)}, cases=cases
    )
    task = MarkedSum(length=8, classes=3, markers=(2,), vocabulary=9, shared=False)
    ids, _, _ = task.batches(torch.Generator().manual_seed(2), 1, 2000)
    seen = {tuple(i for i, token in enumerate(row) if token in (3, 4)) for row in ids[0].tolist()}
    evidence.exact(
        "every placement without neighbours is drawn",
        seen == set(task.placements(2)),
        figures={"placements": len(seen)},
    )
    noisy = MarkedSum(length=12, classes=5, vocabulary=30, noise=True)
    ids, labels, _ = noisy.batches(torch.Generator().manual_seed(1), 20, 8)
    evidence.control(
        "labels drawn at random disagree with the sum",
        figures={"share": at_least(round(float((noisy.label(ids) != labels).double().mean()), 2), 0.5)},
        kind="exact",
    )


@checks("training")
def test_training(evidence: EvidenceLog) -> None:
    evidence.audit(
        f"optimizer: {reported.OPTIMIZER['3.2']} (text), {reported.OPTIMIZER['code']} (code)",
        reported.OPTIMIZER["3.2"] == reported.OPTIMIZER["code"],
    )
    evidence.audit(
        "tokens; steps between checkpoints",
        figures={
            "T": equal(reported.LENGTH["3.1"], reported.LENGTH["code"]),
            "interval": equal(reported.INTERVAL["3.2"], reported.INTERVAL["code"]),
        },
    )
    evidence.audit(
        "checkpoints of 20,000 steps",
        on="correction",
        figures={"n": equal(20_000 // reported.INTERVAL["code"], reported.SNAPSHOTS)},
    )
    for size, chance in zip(SCALES, (0.25, 0.125), strict=True):
        accuracy, path = (table("figure-1", title, size) for title in ("Final accuracy", "r90: mean"))
        adamw, sgd = (row[2] for row in accuracy.rows)
        straight = {row[0]: str(row[list(path.columns).index("SGD as in the text")]) for row in path.rows}
        evidence.numeric(
            f"final accuracy with either, chance {chance}; mean $r_{{90}}$ by SGD without momentum; scale {size}",
            on="correction",
            figures={
                "SGD of the text, share of what lies above chance": at_most(
                    round((sgd - chance) / (1 - chance), 3), 0.1
                ),
                "accuracies": [sgd, adamw],
                "AdamW": at_least(adamw, 0.997),
                **{name: at_most(float(straight[name].split()[0]), 1.0) for name in RAW},
                **where("figure-1", size),
            },
        )
        evidence.control(f"the two trainings differ, scale {size}", figures={"gap": at_least(adamw - sgd, 0.5)})
        with_momentum, without = (
            [row[2] for row in table("figure-2-sgd", "Accuracy, and the control", size).rows if row[0].startswith(name)]
            for name in ("momentum", "no momentum")
        )
        learns = evidence.numeric(
            f"SGD of the text with momentum 0.9: final accuracy, share of what lies above chance, scale {size}",
            on="correction",
            figures={
                "share": at_least(round((min(with_momentum) - chance) / (1 - chance), 2), 0.2),
                **where("figure-2-sgd", size),
            },
        )
        evidence.control(
            f"without momentum, by the same record, scale {size}",
            figures={"share": at_most(round((max(without) - chance) / (1 - chance), 2), 0.1)},
            of=learns,
        )
