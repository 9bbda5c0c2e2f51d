"""Table 2: what its numbers count, and what the null space of the parameters is."""

from __future__ import annotations

import sympy as sp
import torch
from torch.nn.functional import cross_entropy

from proofs_checks.idealized.experiments.gauges import move_stream
from proofs_checks.idealized.experiments.spaces import CUT, mean_and_spread, spaces
from proofs_checks.idealized.experiments.table_1 import symmetries
from proofs_checks.idealized.experiments.table_2 import SWEEP, Case
from proofs_checks.idealized.experiments.table_2_parts import listed, moved
from proofs_checks.idealized.model import jacobians, logits, repeated_rows
from proofs_checks.idealized.reported import PARAMETERS, SYMMETRIES, TABLE_2
from proofs_checks.idealized.trained_models import COPY, LONGER_COPY, WIDER_COPY, XOR, row, rows
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import record_outcome
from symgauge.parameter_vector import ParameterVector

RIGHT = {COPY: 3124, XOR: 3124, LONGER_COPY: 3120, WIDER_COPY: 3141}
TANGENT = 1e-13
"""|J g| / (|J| |g|) of a symmetry direction: some 3,000 products of float64 rounding; it is 1e-17 here."""


def counted(c: Case) -> list[int]:
    return sorted(set(c.spaces.left.tolist()))


@checks("table-2.1", "table-2.2", "table-2.4")
def test_rows_without_a_threshold(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
    numbered = {"table-2.1": 0, "table-2.2": 1, "table-2.4": 3}
    for identifier, number in numbered.items():
        name, vocabulary, length, *_ = TABLE_2[number]
        c = row(name, vocabulary, length)
        evidence.numeric(
            f"rows − rank and P − rank, values below {CUT:g} counting as zero",
            on="correction",
            figures={"rows": c.spaces.rows, "P": c.spaces.parameters,
                     "rows − rank": equal(counted(c), [repeated_rows(vocabulary, length)]),
                     "P − rank": equal(sorted(set(c.spaces.right.tolist())), [RIGHT[name, vocabulary, length]])},
            cases=len(c.trained.theta),
            only=identifier,
        )  # fmt: skip
    c = row(*COPY)
    doubled = spaces(c.architecture, c.trained.theta[:2], c.task.inputs.repeat(2, 1))
    evidence.control(
        "every input listed twice: the reported number changes, the dimension of the parameters' null space does not",
        figures={
            "rows − rank": equal(doubled.left.tolist(), [20, 20]),
            "P − rank": equal(doubled.right.tolist(), [3124] * 2),
        },
    )


@checks("table-2.3")
def test_row_with_a_threshold(evidence: EvidenceLog) -> None:
    c = row(*LONGER_COPY)
    record_outcome(evidence)
    *_, null, spread = TABLE_2[2]
    counts = evidence.numeric(
        f"counts at {CUT:g}, below which only rounding lies",
        on="correction",
        figures={"rows − rank": equal(counted(c), [16]), "formula": equal(repeated_rows(2, 4), 16),
                 "P − rank": equal(sorted(set(c.spaces.right.tolist())), [3120]),
                 "largest rounding": at_most(c.spaces.dropped, CUT / 10),
                 "smallest that is none": at_least(float(c.spaces.kept.min()), 10 * CUT)},
        cases=8,
    )  # fmt: skip
    evidence.exact(
        "the spread of seven 16s and one 17",
        figures={"mean": equal(16 + 1 / 8, null), "deviation": equal(round((7 / 64) ** 0.5, 2), spread)},
        on="correction",
    )
    evidence.control(
        "the count depends on the threshold, as a dimension must not",
        figures={"means": at_least(len({mean_and_spread(c.null(t))[0] for t in SWEEP}), 2)},
        of=counts,
    )


@checks("fig-gap-T4")
def test_no_gap_to_cut_at(evidence: EvidenceLog) -> None:
    off = {
        c.task.length: {t: int((c.null(t) != repeated_rows(2, c.task.length)).sum()) for t in SWEEP}
        for c in (row(*COPY), row(*LONGER_COPY))
    }
    within = [t for t in SWEEP if 0.9e-8 < t < 1.1e-6]
    evidence.numeric(
        "runs of eight whose count at $T = 4$ is not the exact one, by relative threshold; smallest value that is not "
        "zero",
        figures={
            **{f"{t:.0e}": at_least(off[4][t], 1) for t in within},
            "1e-11 to 1e-13": equal(sum(off[4][t] for t in SWEEP if t < 1.1e-11), 0),
            "closed form": equal(repeated_rows(2, 4), 16),
            "smallest value": float(row(*LONGER_COPY).spaces.kept.min()),
        },
        cases=8 * len(SWEEP),
    )
    evidence.control(
        "at $T = 3$ the same thresholds give the exact count in every run",
        figures={f"{t:.0e}": equal(off[3][t], 0) for t in within},
    )


@checks("table-2.5", "abs-3", "9-verify")
def test_upper_bound(evidence: EvidenceLog) -> None:
    c = row(*COPY)
    theta = c.trained.theta[0]
    least = {str(x.task): x.spaces.parameters - x.spaces.rows for x in rows()}
    evidence.exact(
        "P − rows, which the null dimension cannot fall below",
        min(least.values()) <= SYMMETRIES,
        figures=least,
        counterexample="Copy-Last, $|V| = 2$, $T = 3$: 16 rows and 3,136 parameters leave at least 3,120 directions",
    )
    families = listed(c.architecture, theta)
    three = torch.cat([families[name] for name in ("query-key", "value-output", "relu-rescale")])
    units = torch.nn.functional.normalize(three, dim=1)
    jacobian = jacobians(c.architecture, theta.unsqueeze(0), c.task.inputs)[0]
    evidence.numeric(
        "the source's three families at a trained model: independent, and in the null space",
        on="correction",
        figures={"directions": equal(int(torch.linalg.matrix_rank(units)), SYMMETRIES),
                 "formula": equal(symmetries(16, 1, 2), SYMMETRIES),
                 "largest |J g| / (|J| |g|)": at_most(moved(jacobian, three), TANGENT),
                 "P − rank": equal(int(c.spaces.right[0]), 3124)},
        cases=len(three),
    )  # fmt: skip
    random = torch.randn(20, PARAMETERS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    evidence.control("random directions move the logits", figures={"largest": at_least(moved(jacobian, random), 1e-3)})


def orbit(c: Case, theta: torch.Tensor) -> int:
    """Rank of the tangent vectors of the source's three families at one model."""
    families = listed(c.architecture, theta)
    three = torch.cat([families[name] for name in ("query-key", "value-output", "relu-rescale")])
    return int(torch.linalg.matrix_rank(torch.nn.functional.normalize(three, dim=1)))


@checks("8.1-1")
def test_orbits(evidence: EvidenceLog) -> None:
    found = {str(c.task): [orbit(c, theta) for theta in c.trained.theta] for c in rows()}
    every = [rank for ranks in found.values() for rank in ranks]
    evidence.numeric(
        "dimension of the orbit of the three families through trained models of Table 2: typically below the bound?",
        2 * sum(rank < SYMMETRIES for rank in every) > len(every),
        figures={task: sorted(set(ranks)) for task, ranks in found.items()},
        counterexample="every one of the 32 models: 320",
        cases=len(every),
    )
    evidence.numeric(
        "it is the bound",
        on="correction",
        figures={task: equal(sorted(set(ranks)), [symmetries(16, 1, 2)]) for task, ranks in found.items()},
        cases=len(every),
    )
    c = row(*COPY)
    flat = ParameterVector.of(c.architecture)
    roles = dict(flat.split(c.trained.theta[0]))
    up, down = (roles[f"layers.0.ff.{name}.weight"].clone() for name in ("up", "down"))
    up[:, 0], down[0] = 0, 0
    dead = flat.join({**roles, "layers.0.ff.up.weight": up, "layers.0.ff.down.weight": down})
    evidence.control(
        "a model with one neuron that neither reads nor writes", figures={"dimension": at_most(orbit(c, dead), 319)}
    )


@checks("5.1-null", "abs-2", "intro-2", "fig-3.b")
def test_the_other_null_space(evidence: EvidenceLog) -> None:
    c = row(*COPY)
    true = [sorted(set(x.spaces.right.tolist())) for x in rows()]
    evidence.audit(
        "rows of Table 2 whose reported number is 4.0",
        figures={"rows": equal(sum(reported[5] == 4.0 for reported in TABLE_2), len(TABLE_2))},
        only=["abs-2", "intro-2"],
    )
    evidence.numeric(
        "directions of parameters that move no logit of a trained model",
        all(x == [4] for x in true),
        figures={str(x.task): t for x, t in zip(rows(), true, strict=True)},
        counterexample=r"Copy-Last, $|V| = 2$, $T = 3$: 16 rows, rank 12, so 3,124 of 3,136 directions",
        cases=32,
    )
    doubled = spaces(c.architecture, c.trained.theta[:1], c.task.inputs.repeat(2, 1))
    evidence.numeric(
        "P − rank as it stands and with every input listed twice",
        on="correction",
        figures={
            "P − rank": equal(true, [[3124], [3124], [3120], [3141]]),
            "doubled": equal(int(doubled.right[0]), 3124),
        },
        cases=33,
    )
    evidence.control(
        "the reported number changes when inputs are listed twice",
        figures={"rows − rank": equal(int(doubled.left[0]), 20)},
    )


@checks("5.2-c")
def test_uniqueness(evidence: EvidenceLog) -> None:
    c = row(*WIDER_COPY)
    flat, theta = ParameterVector.of(c.architecture), c.trained.theta[0]
    double = 2 * torch.eye(16, dtype=torch.float64)
    other = flat.join(move_stream(c.architecture, flat.split(theta), double))
    pair = torch.stack([theta, other])
    outputs = logits(c.architecture, pair, c.task.inputs)
    evidence.exact(
        "logits of a trained model and of its copy at $c = 2$ (powers of two round nothing): no two solutions?",
        not torch.equal(outputs[0], outputs[1]),
        figures={
            "distance of parameters": float((other - theta).norm()),
            "largest difference of logits": float((outputs[0] - outputs[1]).abs().max()),
        },
        counterexample="a trained model, and the same with $E, W_O, W_2$ doubled and the other matrices halved",
    )
    evidence.numeric(
        "dimension of the null space of the parameters",
        on="correction",
        figures={"P − rank": equal(sorted(set(c.spaces.right.tolist())), [3141])},
        cases=8,
    )
    half_way = {**flat.split(theta), "token_table": 2 * flat.split(theta)["token_table"]}
    broken = logits(c.architecture, flat.join(half_way).unsqueeze(0), c.task.inputs)
    evidence.control("$E$ doubled alone", figures={"change": at_least(float((broken - outputs[0]).abs().max()), 1e-3)})


@checks("5.1-loss")
def test_zero_loss(evidence: EvidenceLog) -> None:
    m = sp.Symbol("m", real=True)
    loss = sp.log(1 + sp.exp(-m))
    evidence.proof(
        r"$\log(1 + e^{-m})$ vanishes at some real margin $m$",
        not loss.is_positive,
        counterexample="every model with finite weights: its margins are finite, and the loss is positive",
    )
    computed = {
        (tokens, margin): float(cross_entropy(margin * torch.eye(tokens), torch.arange(tokens)))
        for tokens in (2, 3)
        for margin in (8.0, 17.0, 18.0)
    }
    evidence.exact(
        "the mean loss that torch computes in float32, each token the right one once: two tokens at a margin of 17, "
        "three at 18",
        on="condition",
        figures={"two": equal(computed[2, 17.0], 0.0), "three": equal(computed[3, 18.0], 0.0)},
    )
    losses = torch.cat([c.trained.loss for c in rows()])
    evidence.control(
        "at smaller margins, and in float64 for all trained models of Table 2, the computed loss is positive",
        figures={
            "margin 8": at_least(computed[2, 8.0], 1e-4),
            "three tokens, margin 17": at_least(computed[3, 17.0], 1e-8),
            "least": at_least(float(losses.min()), 1e-9),
        },
        kind="exact",
    )
