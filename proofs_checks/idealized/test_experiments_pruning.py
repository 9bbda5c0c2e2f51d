"""Section 6: Table 3, Figure 4, and how many weights a task needs."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import torch

from proofs_checks.idealized.experiments.pruning import Level, copy_last_by_hand, parity_by_hand, weights_kept
from proofs_checks.idealized.model import architecture, copy_last, logits, parity
from proofs_checks.idealized.model.training import accuracies
from proofs_checks.idealized.recorded_trials import HELD_WITHOUT_RESIDUAL, trials_right, where
from proofs_checks.idealized.reported import KEPT, PARAMETERS, RETRAINED, TABLE_3, TEXT
from proofs_checks.idealized.text import OF_PRUNING
from proofs_checks.idealized.trained_models import TRIALS, after_random_cut, levels
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import record_outcome

PERCENTS = tuple(TABLE_3)
REPORTED = tuple(weights_kept(PARAMETERS, p) for p in PERCENTS)
FAR = tuple(weights_kept(PARAMETERS, p) for p in (50, 80, 90, 95, 98, 99))


def accuracy(theta: torch.Tensor, name: str) -> float:
    task = copy_last() if name == "Copy-Last" else parity()
    outputs = logits(architecture(), theta.unsqueeze(0), task.inputs)
    return float(accuracies(outputs, task.targets.unsqueeze(0)))


def fewest_right(level: Level) -> int:
    """The fewest nonzero weights of a trial with all answers right; those of a dense model if there is none."""
    right = level.retrained == 1
    return int(level.nonzero[right].min()) if bool(right.any()) else PARAMETERS


@checks("table-3.copy.prune", "table-3.xor.prune", "table-3.copy.retrain", "table-3.xor.retrain", "fig-4")
def test_table_3(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
    worst = float(levels(False, REPORTED)["XOR"][-1].pruned.min())
    evidence.control(
        "pruning alone is not enough at 95 % for XOR, so retraining has something to recover",
        figures={"least accuracy": at_most(worst, 0.9)},
    )


@checks("6.1-five", "abs-4", "6.2-1600", "6.2-np")
def test_sparsity(evidence: EvidenceLog) -> None:
    free, held = levels(False, REPORTED), levels(True, FAR)
    evidence.audit(
        "sparsity of 1,600 nonzero weights, in percent",
        figures={
            "sparsity": equal(round(100 * (1 - RETRAINED / PARAMETERS)), 95),
            "accuracy after pruning": [0.5, 0.5],
        },
        only="abs-4",
    )
    evidence.audit(
        "nonzero weights at 95 %: §6.1 and §6.2", figures={"weights": equal(KEPT, RETRAINED)}, only="6.2-1600"
    )
    back = {column: [int(n) for n in found[-1].nonzero] for column, found in free.items()}
    evidence.numeric(
        "nonzero weights after retraining from 157, free to move",
        on="correction",
        figures={**back, "least": at_least(min(map(min, back.values())), 1200),
                 "largest": at_most(max(map(max, back.values())), 2100)},
        cases=2 * TRIALS,
        only="6.2-1600",
    )  # fmt: skip
    record_outcome(evidence)
    far = held["Copy-Last"][-1]
    evidence.numeric(
        "Copy-Last at 99 %, weights held at zero: trials with all answers right",
        on="correction",
        figures={"kept": far.kept, "solved": at_least(int((far.retrained == 1).sum()), 1), "of": TRIALS},
        cases=TRIALS,
        only="6.1-five",
    )
    evidence.control(
        "as many random weights in place of the largest",
        figures={"mean accuracy": at_most(after_random_cut(far.kept), 0.95)},
        only="6.1-five",
    )
    at_95 = {column: found[FAR.index(KEPT)] for column, found in held.items()}
    evidence.numeric(
        "trials with all answers right and at most 157 nonzero weights",
        on="correction",
        figures={
            column: at_least(int(((x.retrained == 1) & (x.nonzero <= KEPT)).sum()), TRIALS - 1)
            for column, x in at_95.items()
        },
        cases=2 * TRIALS,
        only=["6.1-five", "abs-4"],
    )
    evidence.not_stated(TEXT, OF_PRUNING, there="smallest-magnitude weights", only="6.2-np")
    fewest = {column: min(fewest_right(x) for x in found) for column, found in held.items()}
    evidence.numeric(
        "the same pruning with pruned weights held at zero: fewest nonzero weights with all answers right, by task; as "
        "many as the retrained models have?",
        max(fewest.values()) >= RETRAINED / 2,
        on="reproduction",
        figures={**fewest, **{f"{column}, free to move": n for column, n in back.items()}, "reported": RETRAINED},
        cases=2 * TRIALS,
        only="6.2-np",
    )
    given_back = {column: sum(n - KEPT for n in x) / sum(x) for column, x in back.items()}
    given = evidence.numeric(
        "share of the retrained models' nonzero weights that had been pruned, and trials with all answers right at 157 "
        "or fewer with weights held",
        on="correction",
        figures={
            **{f"{column}, given back": at_least(share, 0.9) for column, share in given_back.items()},
            **{
                f"{column}, held": equal(int(((x.retrained == 1) & (x.nonzero <= KEPT)).sum()), TRIALS)
                for column, x in at_95.items()
            },
        },
        cases=4 * TRIALS,
        only="6.2-np",
    )
    apart = HELD_WITHOUT_RESIDUAL
    remaining = evidence.numeric(
        "recorded trials with all answers right, of five, weights held: the gap that remains",
        on="correction",
        figures={
            "Copy-Last, 31 and 3": equal([trials_right("Copy-Last", n) for n in (31, 3)], [5, 1]),
            "XOR, 63 and 31": equal([trials_right("XOR", n) for n in (63, 31)], [3, 0]),
            "no residual stream, 941": equal([trials_right(task, 941, apart) for task in back], [5, 5]),
            "no residual stream, 314": equal([trials_right(task, 314, apart) for task in back], [0, 1]),
            **where(),
        },
        cases=40,
        only="6.2-np",
    )
    evidence.control(
        "weights held at fewer are not enough for XOR, and free to move no trial stays at 157",
        figures={
            "XOR, held at 31, least accuracy": at_most(float(held["XOR"][-1].retrained.min()), 0.9),
            "least, free to move": at_least(min(map(min, back.values())), KEPT + 1),
        },
        of=[given, remaining],
        only="6.2-np",
    )
    evidence.control(
        "157 random weights in place of the largest do not solve Copy-Last",
        figures={"mean accuracy": at_most(after_random_cut(KEPT), 0.95)},
    )


@checks("6.1-157")
def test_kept(evidence: EvidenceLog) -> None:
    evidence.exact("3,136 times 0.05, rounded", figures={"weights": equal(weights_kept(PARAMETERS, 95), KEPT)})


def signs(entries: dict[str, Fraction]) -> list[tuple[Fraction, Fraction]]:
    """Logits of the two tokens for weights in E (2 × 1) and W_out (1 × 2) alone, all else zero."""
    return [(entries[f"e{t}"] * entries["w0"], entries[f"e{t}"] * entries["w1"]) for t in (0, 1)]


@checks("abs-5", "6.2-min")
def test_minimum(evidence: EvidenceLog) -> None:
    copying, adding = copy_last_by_hand(architecture()), parity_by_hand(architecture())
    counts = {"Copy-Last": int(torch.count_nonzero(copying)), "XOR": int(torch.count_nonzero(adding))}
    right = {"Copy-Last": accuracy(copying, "Copy-Last"), "XOR": accuracy(adding, "XOR")}
    evidence.exact(
        "nonzero weights of two models written by hand (small integers, so that no rounding decides)",
        min(counts.values()) >= KEPT,
        figures={**counts, "accuracy, Copy-Last": right["Copy-Last"], "accuracy, XOR": right["XOR"]},
        counterexample=r"$E_{00} = 1$, $E_{10} = -1$, $(W_{out})_{00} = 1$, all else 0: logits $(1, 0)$ and $(-1, 0)$",
        only="abs-5",
    )
    evidence.exact(
        "both tasks are solved with 157 nonzero weights or fewer",
        on="condition",
        figures={**{k: at_most(n, KEPT) for k, n in counts.items()},
                 **{f"accuracy, {k}": equal(a, 1.0) for k, a in right.items()}},
        only="abs-5",
    )  # fmt: skip
    apart = HELD_WITHOUT_RESIDUAL
    trials = evidence.numeric(
        "without a residual stream, recorded trials of XOR with all answers right and 94 nonzero weights, of five",
        on="condition",
        figures={"right": at_least(trials_right("XOR", 94, apart), 1), **where()},
        cases=5,
        only="abs-5",
    )
    evidence.control(
        "with 63 none is", figures={"right": at_most(trials_right("XOR", 63, apart), 0)}, of=trials, only="abs-5"
    )
    evidence.exact(
        "nonzero weights of two models written by hand, and their accuracy",
        figures={**{k: at_most(n, RETRAINED / 100) for k, n in counts.items()},
                 **{f"accuracy, {k}": equal(a, 1.0) for k, a in right.items()}},
        only="6.2-min",
    )  # fmt: skip
    values = [Fraction(n) for n in (-1, 0, 1)]
    names = ("e0", "e1", "w0", "w1")
    solving = []
    for choice in product(values, repeat=4):
        entries = dict(zip(names, choice, strict=True))
        zero, one = signs(entries)
        if zero[0] > zero[1] and one[1] > one[0]:
            solving.append(sum(x != 0 for x in choice))
    without = {}
    for role in ("token_table", "unembedding"):
        theta = copying.clone()
        theta[:32] = 0 if role == "token_table" else theta[:32]
        theta[-32:] = 0 if role == "unembedding" else theta[-32:]
        without[role] = equal(accuracy(theta, "Copy-Last"), 0.0)
    evidence.exact(
        "all sign patterns of one entry of $E$ per token and of $W_{out}$ per logit: the fewest nonzero that solve "
        "Copy-Last. Without $E$ or without $W_{out}$ all logits are 0, and one entry of each leaves the other token's "
        "logits 0",
        on="condition",
        figures={"fewest": equal(min(solving), 3), "found": equal(counts["Copy-Last"], 3),
                 "XOR": equal(counts["XOR"], 13), "XOR right": equal(right["XOR"], 1.0), **without},
        cases=81,
        only="abs-5",
    )  # fmt: skip
    spoilt = {}
    for name, theta in (("Copy-Last", copying), ("XOR", adding)):
        for n in torch.nonzero(theta).flatten().tolist():
            cut = theta.clone()
            cut[n] = 0
            spoilt[f"{name}, entry {n}"] = accuracy(cut, name)
    evidence.control(
        "with any one of these weights removed some answer is wrong",
        kind="exact",
        figures={"largest accuracy": at_most(max(spoilt.values()), 0.875)},
    )
