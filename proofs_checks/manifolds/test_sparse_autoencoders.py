"""Sparse autoencoders: what the source's ablation can and cannot show (abstract (3), 4.4, Figure 6)."""

from __future__ import annotations

import torch

from proofs_checks.manifolds import reported
from proofs_checks.manifolds.marked_sum import AttentionOnly, MarkedSum, Sizes
from proofs_checks.manifolds.recorded_results import SCALES, measured, table, where
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal


@checks("ablation")
def test_ablation_is_not_read(evidence: EvidenceLog) -> None:
    task = MarkedSum(shared=False)
    places = task.placements(4)
    unread = sum(p[-1] + 1 != task.length - 1 for p in places)
    printed = torch.full((1, task.length), task.first_distractor)
    printed[0, [1, 3, 5, 7]], printed[0, [2, 4, 6, 8]] = torch.arange(4) + task.classes, torch.arange(4)
    ids = torch.cat([printed, task.batches(torch.Generator().manual_seed(0), 1, 300)[0][0]])
    model = AttentionOnly(Sizes(), seed=1).double()
    with torch.no_grad():
        logits, _, stream = model(ids)
        marker = (ids >= task.classes) & (ids < task.first_distractor)
        value = torch.zeros_like(marker)
        value[:, 1:] = marker[:, :-1]
        changed = torch.where(value.unsqueeze(-1), torch.zeros_like(stream), stream)
        moved = (model.read(changed[:, -1]) != logits).any(-1)
    last = value[:, -1]
    evidence.exact(
        "all the stream after values removed, in an untrained model of the source's size: does some logit change where "
        "the last token is no value?",
        bool(moved[~last].any()) or not bool(value[0, [2, 4, 6, 8]].all()),
        counterexample=r"markers at 1, 3, 5, 7 of 16 tokens: the whole stream at 2, 4, 6, 8 set to 0, and every "
        r"logit is the "
        "same number",
        cases=int((~last).sum()),
    )
    evidence.exact(
        "all 330 placements of four markers: those whose last value is not the last token",
        on="correction",
        figures={"unread": equal(11 * unread, 7 * len(places)), "placements": equal(len(places), 330)},
        cases=len(places),
    )
    evidence.exact(
        "where the last token is a value, zeros there do change logits",
        bool(moved[last].all()),
        on="correction",
        cases=int(last.sum()),
    )
    for size in SCALES:
        unseen = measured("figure-6", "the same where no changed position is read", size)
        rows = {row[0]: row for row in table("figure-6", "Accuracy, mean", size).rows if row[1] == "late"}
        falls = {kind: round(row[2] - row[6], 3) for kind, row in rows.items()}
        evidence.numeric(
            "fall of accuracy late in training, six latents of largest variance removed at values, by what the last "
            f"token is, scale {size}",
            on="correction",
            figures={
                "top-k, a value": at_least(falls["top-k"], 0.15),
                "ReLU + L1, a value": at_most(falls["ReLU + L1"], 0.02),
                "top-k, no value": equal(unseen, 0.0),
                **where("figure-6", size),
            },
        )
        evidence.control(
            f"before removal accuracy is far from chance, 1/8 or 1/4: it could fall, scale {size}",
            figures={kind: at_least(row[2], 0.9) for kind, row in rows.items()},
        )
    evidence.control(
        "the test on an untrained model tells the two cases apart",
        bool(moved[last].any() and not moved[~last].any()),
        kind="exact",
    )


@checks("abs-autoencoder")
def test_autoencoder_text(evidence: EvidenceLog) -> None:
    for what, said in (("autoencoder", reported.AUTOENCODER), ("the effect is largest", reported.ABLATION_MOST)):
        evidence.audit(f"{what}: as {' and '.join(said)} have it", figures={what: equal(*said.values())})
    evidence.control(
        "that the effect is small both say", kind="audit", figures={"effect": equal(*reported.ABLATION_SIZE.values())}
    )


@checks("marker-latents")
def test_latents_and_markers(evidence: EvidenceLog) -> None:
    for size in SCALES:
        found = {row[0]: row[1:] for row in table("figure-6", "Largest |correlation|", size).rows}
        evidence.numeric(
            "lowest of five seeds: largest correlation of a latent with m, against the highest of the five with the m "
            f"of other sequences, scale {size}",
            on="reproduction",
            figures={
                **{kind: at_least(low, highest) for kind, (_, low, _, highest) in found.items()},
                **where("figure-6", size),
            },
            cases=5 * len(found),
        )
        evidence.control(
            f"mean with the m of other sequences, which no latent can know, against that lowest, scale {size}",
            figures={kind: at_most(null, low) for kind, (_, low, null, _) in found.items()},
        )
