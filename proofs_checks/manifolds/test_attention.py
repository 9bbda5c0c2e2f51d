"""Attention entropy: what lowers it, what cannot, and the row that is read (4.2, Figure 2)."""

from __future__ import annotations

import math

import sympy as sp
import torch

from proofs_checks.manifolds.algebra import trajectories as t
from proofs_checks.manifolds.experiments.figure_2 import entropy
from proofs_checks.manifolds.marked_sum import MarkedSum
from proofs_checks.manifolds.recorded_results import SCALES, measured, table, where
from proofs_checks.manifolds.reported import ABSTRACT
from proofs_checks.support.silence import record_silence
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import record_outcome
from symgauge.profiles import scale
from symgauge.symbolic.identities import d, d_k, matrix, n
from symgauge.symbolic.proof import prove_equal


@checks("saturation")
def test_saturation(evidence: EvidenceLog) -> None:
    defining = ("routing coordinate is", "routing coordinates are", "defined", "denotes", "we call", "score")
    why = "the abstract, which alone is at hand, does not define a routing coordinate"
    record_silence(evidence, ABSTRACT, why, defining, there="routing coordinates")


@checks("score-scale")
def test_entropy_along_the_scale_of_scores(evidence: EvidenceLog) -> None:
    evidence.proof(
        r"$dH/d\beta + \beta\,\mathrm{Var} = 0$ as a polynomial in $p$, $s$, $\log Z$, for 2 to 5 tokens",
        all(t.entropy_slope_gap(tokens) == 0 for tokens in range(2, 6)),
        cases=4,
    )
    evidence.proof("two tokens, by differentiating the definition", t.entropy_slope_direct() == 0)
    p, s = (
        (sp.Rational(1, 6), sp.Rational(1, 3), sp.Rational(1, 2)),
        (sp.Rational(-3, 7), sp.Rational(5, 2), sp.Integer(1)),
    )
    mean = sum(a * b for a, b in zip(p, s, strict=True))
    left = sum(a * (b - mean) * b for a, b in zip(p, s, strict=True))
    evidence.exact(
        "rational weights and scores: $\\sum p_i(s_i-m)s_i$ is their variance",
        left == sum(a * (b - mean) ** 2 for a, b in zip(p, s, strict=True)),
    )
    generator = torch.Generator().manual_seed(0)
    errors = []
    for _ in range(scale(20, 200)):
        row = torch.randn(7, generator=generator, dtype=torch.float64)
        step = 1e-5
        slope = (entropy((row * (1 + step)).softmax(-1)) - entropy((row * (1 - step)).softmax(-1))) / (2 * step)
        weights = row.softmax(-1)
        variance = (weights * row.square()).sum() - (weights * row).sum() ** 2
        errors.append(float((slope + variance).abs() / variance))
    evidence.numeric(
        "random rows, difference quotient",
        figures={"error": at_most(float(f"{max(errors):.0e}"), 1e-7)},
        cases=len(errors),
    )
    evidence.control(r"$\log Z$ in place of $H$ has another slope", float(mean) != float(-left))
    flat = torch.zeros(4, dtype=torch.float64)
    evidence.control(
        r"equal scores: $H = \ln 4$ for every $\beta$",
        bool(entropy((2 * flat).softmax(-1)) == entropy(flat.softmax(-1))),
        kind="exact",
    )


@checks("entropy-gauge")
def test_entropy_is_gauge_invariant(evidence: EvidenceLog) -> None:
    x, w_q, w_k, a = matrix("X", n, d), matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("A", d_k, d_k)
    scores = x * w_q * (x * w_k).T
    evidence.proof(
        "for every size the scores stay",
        proves(lambda: prove_equal((x * w_q * a) * (x * w_k * a.I.T).T, scores)),
    )
    changes = [measured("figure-2", "gauge control: change of entropy", size) for size in SCALES]
    evidence.numeric(
        f"largest change on trained models, float64, nats, scales {' and '.join(SCALES)}",
        figures={"change": at_most(float(f"{max(changes):.0e}"), 1e-12), **where("figure-2", *SCALES)},
    )
    evidence.control(
        r"$W_KA$ in place of $W_KA^{-\top}$",
        not proves(lambda: prove_equal((x * w_q * a) * (x * w_k * a).T, scores)),
        kind="proof",
    )


@checks("fig-2")
def test_entropy_falls(evidence: EvidenceLog) -> None:
    (outcome,) = record_outcome(evidence)
    falls = {row[0]: row[3:] for row in table("figure-2", "Entropy in nats", "paper").rows}
    least = min(low for name, (low, _) in falls.items() if name.startswith("trained"))
    most = max(high for name, (_, high) in falls.items() if name.startswith("no task"))
    evidence.control(
        "no seed of a training without a task falls as far as any with one, by the same record",
        figures={"least fall with a task": at_least(least, most), "most without": most},
    )
    sharper = min(row[-1] for row in table("figure-2-sgd", "Accuracy, and the control", "paper").rows)
    evidence.control(
        "models trained by SGD with sharper scores: share in which entropy falls, by the same record",
        figures={"share": at_least(sharper, 1.0)},
        of=outcome,
    )
    moved: dict[bool, list[float]] = {True: [], False: []}  # with momentum, and without
    for name, *_, low, high in table("figure-2-sgd", "Entropy in nats", "paper").rows:
        moved[name.startswith("momentum")] += [abs(low), abs(high)]
    accuracies: dict[bool, list[float]] = {True: [], False: []}
    for name, chance, accuracy, _ in table("figure-2-sgd", "Accuracy, and the control", "paper").rows:
        accuracies[name.startswith("momentum")].append(accuracy / chance)
    stays = evidence.numeric(
        "SGD without momentum: largest change of entropy, and accuracy over chance",
        on="correction",
        figures={
            "change, nats": at_most(round(max(moved[False]), 5), 1e-3),
            "accuracy / chance": at_most(round(max(accuracies[False]), 2), 1.5),
            **where("figure-2-sgd", "paper"),
        },
    )
    evidence.control(
        "SGD with momentum learns, and its entropy falls, by the same record",
        figures={
            "change, nats": at_least(round(min(moved[True]), 2), 0.1),
            "accuracy / chance": at_least(round(min(accuracies[True]), 2), 1.5),
        },
        of=stays,
    )


@checks("eos")
def test_no_end_token(evidence: EvidenceLog) -> None:
    task = MarkedSum()
    counts = {
        m: (len(task.placements(m)), sum(p[-1] == task.length - 2 for p in task.placements(m))) for m in task.markers
    }
    ids, _, _ = task.batches(torch.Generator().manual_seed(0), 40, 4)
    kinds = len(ids[..., -1].unique())
    evidence.exact(
        "an end token would be one and the same: different tokens at the last position of 160 sequences",
        figures={"different tokens": at_most(kinds, 1)},
        counterexample="a sequence whose last marker stands at position 14 of 0…15 ends in its value",
    )
    ended = torch.cat([ids, torch.zeros_like(ids[..., :1])], -1)
    evidence.control(
        "with one token appended to all of them the same count gives one",
        kind="exact",
        figures={"different tokens": equal(len(ended[..., -1].unique()), 1)},
    )
    evidence.exact(
        "all placements of $m$ markers without neighbours: share that ends in a value",
        all(ends * (task.length - 1 - m) == m * total for m, (total, ends) in counts.items()),
        on="correction",
        figures={f"m = {m}": f"{ends}/{total}" for m, (total, ends) in counts.items()},
        cases=sum(total for total, _ in counts.values()),
    )
    assert math.comb(11, 4) == counts[4][0]
