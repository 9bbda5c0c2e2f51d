"""Sections 8 and 9 and the abstract: branches, complexities, parameter counts."""

from __future__ import annotations

from itertools import permutations

import torch
from torch import Tensor

from proofs_checks.idealized.experiments.geometry import pairs
from proofs_checks.idealized.experiments.groups import COPIES, TRAINED, UNTRAINED
from proofs_checks.idealized.experiments.paths import along
from proofs_checks.idealized.experiments.pruning import copy_last_by_hand, parity_by_hand
from proofs_checks.idealized.group_statistics import (
    CLUSTERS,
    ROUNDING,
    changed,
    clustered,
    nearness,
    shape,
    without_structure,
)
from proofs_checks.idealized.model import architecture, copy_last, initial, logits
from proofs_checks.idealized.model.training import accuracies
from proofs_checks.idealized.recorded_trials import trials_right, where
from proofs_checks.idealized.reported import TEXT
from proofs_checks.idealized.text import OF_ALGORITHMS, OF_BRANCHES
from proofs_checks.idealized.trained_models import MODELS, twenty, ways
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.model_graph import graph_of
from symgauge.parameter_vector import ParameterVector
from symgauge.profiles import scale

QUERY, KEY = (f"layers.0.attention.{name}.weight" for name in ("query", "key"))


def accuracy(theta: Tensor, residual: bool = True, d: int = 16, heads: int = 2) -> float:
    a, task = architecture(d, heads, residual=residual), copy_last()
    return float(accuracies(logits(a, theta.unsqueeze(0), task.inputs), task.targets.unsqueeze(0)))


def copy_by_attention() -> Tensor:
    """Copy-Last without the residual stream in 11 nonzero weights: tokens ±1, equal ones attract, two ReLU neurons."""
    a = architecture(residual=False)
    roles = {name: torch.zeros(size, dtype=torch.float64) for name, size in graph_of(a).shapes.items()}
    roles["token_table"][:, 0] = torch.tensor([1.0, -1.0])
    roles[QUERY][0, 0, 0] = roles[KEY][0, 0, 0] = 4  # scores ±16 / √8: equal tokens outweigh two others
    roles["layers.0.attention.value.weight"][0, 0, 0] = 1
    roles["layers.0.attention.output.weight"][0, 0, 0] = 1
    roles["layers.0.ff.up.weight"][0, :2] = torch.tensor([1.0, -1.0])
    roles["layers.0.ff.down.weight"][:2, 0] = torch.tensor([1.0, -1.0])
    roles["unembedding.weight"][0, 0] = 1
    return ParameterVector.of(a).join(roles)


@checks("abs-8", "8.1-3")
def test_connected(evidence: EvidenceLog) -> None:
    evidence.not_stated(TEXT, OF_BRANCHES, there="clustering analysis")
    count = scale(8, MODELS, 5)
    _, bent = ways(count)
    number = len(bent.accuracy)
    joined = evidence.numeric(
        "pairs of trained models of Copy-Last joined by a quadratic curve, all answers right at all of 101 points",
        on="correction",
        figures={"joined": equal(bent.solving, number), "least margin": float(bent.margin.min())},
        cases=number,
        only="abs-8",
    )
    i, j = pairs(count)
    theta = twenty()[UNTRAINED]
    untrained = along(architecture(), theta[i], (theta[i] + theta[j]) / 2, theta[j], copy_last(), 21)
    evidence.control(
        "curves between untrained models are not of right answers",
        figures={"joined": at_most(untrained.solving, 0)},
        of=joined,
        only="abs-8",
    )
    one = copy_last_by_hand(architecture(1, 1))
    evidence.exact(
        "$d = 1$: two models that solve Copy-Last, $E$ and $W_{out}$ of one those of the other times −1",
        figures={
            "accuracies": equal([accuracy(theta, d=1, heads=1) for theta in (one, -one)], [1.0, 1.0]),
            "$w_0 - w_1$": equal([float(theta[-2] - theta[-1]) for theta in (one, -one)], [1.0, -1.0]),
        },
        on="correction",
        only="abs-8",
    )
    mixed = accuracy(torch.cat([-one[:2], one[2:]]), d=1, heads=1)
    evidence.control("$E$ alone with its signs changed", kind="exact", figures={"accuracy": at_most(mixed, 0.9)})


@checks("abs-9-clusters")
def test_discovery(evidence: EvidenceLog) -> None:
    bar = without_structure() / 2
    shares = {name: nearness(shape(name).plane) for name in (TRAINED, COPIES)}
    found = evidence.numeric(
        "distance to the nearest model over the mean distance, in the plane of the first two components: does it tell "
        "20 trained models from copies of one?",
        not min(shares.values()) > bar,
        figures={**shares, "below it, clusters": bar},
        counterexample=f"20 copies of one model, with the same logits to {changed(COPIES):.0e}: no clusters either",
        cases=2 * MODELS,
    )
    copies = evidence.numeric(
        "copies of one model: the share, and how far their logits differ",
        on="correction",
        figures={"share": at_least(shares[COPIES], bar), "logits": at_most(changed(COPIES), ROUNDING)},
        cases=MODELS,
    )
    evidence.control(
        "two to ten models with noise around them, twenty in all, are seen as clusters",
        figures={f"{k} clusters": at_most(clustered(k), bar) for k in CLUSTERS},
        of=[found, copies],
    )


@checks("8.2-a")
def test_local_search(evidence: EvidenceLog) -> None:
    evidence.not_stated(TEXT, OF_BRANCHES, there="local search methods")
    least = {
        "Copy-Last": int(torch.count_nonzero(copy_last_by_hand(architecture()))),
        "XOR": int(torch.count_nonzero(parity_by_hand(architecture()))),
    }
    evidence.numeric(
        "recorded trials of pruning, five of each task, with all answers right: Copy-Last with the least number of "
        "weights, 3, XOR with 16, when 13 suffice",
        on="correction",
        figures={
            "Copy-Last": at_most(trials_right("Copy-Last", least["Copy-Last"]), 2),
            "XOR": at_most(trials_right("XOR", 16), 2),
            "least": equal(least["Copy-Last"], 3),
            "enough for XOR": equal(least["XOR"], 13),
            **where(),
        },
        cases=10,
    )
    evidence.control(
        "with 31 and with 157 weights most trials of the two tasks are right",
        figures={"Copy-Last": at_least(trials_right("Copy-Last", 31), 3), "XOR": at_least(trials_right("XOR", 157), 3)},
    )


@checks("8.2-b")
def test_complexities(evidence: EvidenceLog) -> None:
    evidence.not_stated(TEXT, OF_ALGORITHMS, there="algorithmic strategies")
    a = architecture(residual=False)
    flat, theta = ParameterVector.of(a), copy_by_attention()
    direct = copy_last_by_hand(architecture())
    evidence.exact(
        "two ways to copy the last token: through the residual stream, and by attention and the ReLU layer alone",
        figures={"nonzero, direct": equal(int(torch.count_nonzero(direct)), 3), "direct": equal(accuracy(direct), 1.0),
                 "nonzero, by attention": equal(int(torch.count_nonzero(theta)), 11),
                 "by attention": equal(accuracy(theta, residual=False), 1.0)},
        on="correction",
    )  # fmt: skip
    needed = {}
    for name in flat.shapes:
        roles = flat.split(initial(a, [0])[0])
        outputs = logits(a, flat.join({**roles, name: torch.zeros_like(roles[name])}).unsqueeze(0), copy_last().inputs)[
            0
        ]
        if name in (QUERY, KEY):
            # Equal weights for all tokens: every order of a word gives the same logits, whatever comes last.
            words = copy_last().words()
            turned = [(words.index(w), words.index(v)) for w in words for v in permutations(w)]
            apart = max(float((outputs[i] - outputs[j]).abs().max()) for i, j in turned)
        else:
            apart = float(outputs.abs().max())
        needed[name] = at_most(apart, 1e-12)
    evidence.exact(
        "without the residual stream, any one matrix zero: all logits are 0, or (queries, keys) blind to which token "
        "is last",
        figures={**needed, "matrices": equal(len(needed), 8)},
        on="correction",
        cases=8,
    )
    evidence.control(
        "11 nonzero weights do not copy through the other architecture's path",
        kind="exact",
        figures={"accuracy": at_most(accuracy(direct, residual=False), 0.9)},
    )
