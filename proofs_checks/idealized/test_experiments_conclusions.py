"""What §5 concludes from Table 2, Figure 2 and Figure 3."""

from __future__ import annotations

import torch

import symgauge
from proofs_checks.idealized.experiments.spaces import Spaces, active, predicted_left, spaces
from proofs_checks.idealized.experiments.table_1 import parameters
from proofs_checks.idealized.experiments.table_2_parts import GRID, exact_left, listed, moved
from proofs_checks.idealized.model import (
    IdealizedModel,
    Protocol,
    Trained,
    architecture,
    copy_last,
    function_classes,
    initial,
    jacobians,
    repeated_rows,
    train,
    xor_first_two,
)
from proofs_checks.idealized.reported import FIGURE_2, FIGURE_2_NULL
from proofs_checks.idealized.trained_models import COPY, LONGER_COPY, XOR, row
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import decided, record_outcome
from symgauge.profiles import scale

PROTOCOL = Protocol(rate=1e-3, loss=1e-3, steps=3000)
TANGENT = 1e-13


def sized(d: int, heads: int, seeds: int) -> tuple[Trained, Spaces]:
    a, task = architecture(d, heads), copy_last()
    trained = train(a, task, initial(a, range(seeds)), PROTOCOL)
    return trained, spaces(a, trained.theta, task.inputs)


@checks("5.2-a")
def test_broken_symmetries(evidence: EvidenceLog) -> None:
    largest = {}
    for key in (COPY, XOR):
        c = row(*key)
        theta = c.trained.theta[0]
        directions = torch.cat(list(listed(c.architecture, theta).values()))
        jacobian = jacobians(c.architecture, theta.unsqueeze(0), c.task.inputs)[0]
        largest[str(c.task)] = moved(jacobian, directions)
    account = symgauge.account(IdealizedModel(architecture(4, 2)), symgauge.Tokens(2, 3))
    violations = {family.name: family.violations for family in account.families}
    evidence.exact(
        "symmetry directions that move an output, modulo two primes, $d = 4$, $H = 2$: most of them?",
        2 * sum(violations.values()) > sum(f.coordinates for f in account.families),
        figures={**violations, "independent directions": account.explained, "nullity": account.fibre.nullity},
        counterexample="all query-key, value-output and ReLU directions, at a trained model and at random ones",
    )
    evidence.numeric(
        r"largest $|J g| / (|J|\,|g|)$ over all symmetry directions of a trained model",
        on="correction",
        figures={task: at_most(value, TANGENT) for task, value in largest.items()},
        cases=len(directions),
    )
    random = torch.randn(20, len(theta), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    evidence.control("random directions", figures={"largest": at_least(moved(jacobian, random), 1e-3)})


@checks("5.2-b", "5.2-d")
def test_what_the_count_depends_on(evidence: EvidenceLog) -> None:
    a, inputs = architecture(), copy_last().inputs
    theta = initial(a, range(4))
    untrained = spaces(a, theta, inputs).left.tolist()
    other = train(a, xor_first_two(), theta, PROTOCOL)
    counts = {
        "untrained": untrained,
        "Copy-Last": row(*COPY).spaces.left.tolist(),
        "XOR of all": row(*XOR).spaces.left.tolist(),
        "XOR of the first two": spaces(a, other.theta, inputs).left.tolist(),
    }
    same = all(set(x) == {4} for x in counts.values())
    evidence.numeric(
        "rows − rank at $|V| = 2$, $T = 3$: does it depend on the task?",
        not same,
        figures=counts,
        counterexample="Copy-Last, XOR of all and XOR of the first two give 4, as models do that never saw a task",
        only="5.2-d",
    )
    evidence.numeric(
        "rows − rank of models that solve nothing: is the consistency one of solutions?",
        set(untrained) != {4},
        figures={"untrained": untrained, "trained": counts["Copy-Last"]},
        counterexample="four untrained models, all with 4",
        only="5.2-b",
    )
    grid = GRID[: scale(10, len(GRID), 3)]
    counted = {(v, t): exact_left(8, 4, v, t) for v, t in grid}
    for bearing, name in (("correction", "5.2-b"), ("condition", "5.2-d")):
        evidence.exact(
            "rows − rank modulo a prime at random parameters, $d = 8$, $H = 4$, for other $(|V|, T)$, and the formula",
            on=bearing,
            figures={f"({v}, {t})": equal(found, repeated_rows(v, t)) for (v, t), found in counted.items()},
            cases=len(grid),
            only=name,
        )
    seen = {}
    for name, variant in {"positions": architecture(positions=True), "two layers": architecture(layers=2)}.items():
        seen[name] = equal(int(spaces(variant, initial(variant, [0]), inputs).left[0]), 0)
    evidence.control("with positions, or a second layer, order is seen and no row repeats", figures=seen)


@checks("fig-2")
def test_constant_count(evidence: EvidenceLog) -> None:
    one_head, s = sized(8, 1, 8)
    a, inputs = architecture(8, 1), copy_last().inputs
    counts = s.left.tolist()
    evidence.numeric(
        "$d = 8$, $H = 1$: rows − rank of eight trained models",
        set(counts) == {FIGURE_2_NULL},
        figures={"rows − rank": counts, "parameters": equal(s.parameters, FIGURE_2[8])},
        counterexample=f"$d = 8$, $H = 1$, one of the seeds 0 to 7: {max(counts)}",
    )
    predicted = [predicted_left(a, theta, inputs) for theta in one_head.theta]
    rule = evidence.numeric(
        "the rule in the remark, from ReLU patterns",
        on="condition",
        figures={"counts": equal(predicted, counts)},
        cases=8,
    )
    several = {}
    for d, heads in ((8, 2), (16, 2), (24, 3), (32, 4)):
        _, found = sized(d, heads, 2)
        several[f"d={d}, H={heads}"] = equal(sorted(set(found.left.tolist())), [4])
    evidence.numeric("two or more heads", on="condition", figures=several, cases=8)
    evidence.control("one head in place of two", set(counts) != {4}, figures={"rows − rank": counts})
    patterns = active(a, one_head.theta[counts.index(max(counts))], inputs)
    mixed = [bool((x != x[0]).any()) for x in (patterns[inputs[:, -1] == 0], patterns[inputs[:, -1] == 1])]
    evidence.control(
        "the rule notices: a model whose tokens see one piece each is not given 4",
        not all(mixed),
        kind="exact",
        figures={"tokens on more than one piece": mixed},
        of=rule,
    )


@checks("fig-2.b")
def test_capacity(evidence: EvidenceLog) -> None:
    true, repeated = {}, set()
    for d, heads in ((8, 2), (16, 2), (24, 3), (32, 4)):
        _, s = sized(d, heads, 2)
        true[d] = sorted(set(s.right.tolist()))
        repeated |= set(s.left.tolist())
    evidence.numeric(
        "P − rank of trained models by width",
        len({tuple(x) for x in true.values()}) == 1,
        figures={f"d={d}": x for d, x in true.items()},
        counterexample="$d = 8$: 788 and $d = 32$: 12,404, for the same task",
        cases=8,
    )
    evidence.control(
        "rows − rank of the same models does not grow", figures={"rows − rank": equal(sorted(repeated), [4])}
    )
    classes = 2 * function_classes(2, 3)
    evidence.exact(
        "P minus the number of distinct rows",
        on="correction",
        figures={f"d={d}": equal([parameters(d, 1, 2) - classes], x) for d, x in true.items()},
        cases=4,
    )


@checks("fig-3")
def test_gap(evidence: EvidenceLog) -> None:
    (outcome,) = record_outcome(evidence)
    c = row(*COPY)
    ((_, run),) = decided(evidence.claims[0]).runs
    ends = run.result.table("Where the spectrum ends").rows
    behind = {name: values - distinct for name, values, distinct, *_ in ends}
    evidence.control(
        "values behind the gap of the other two tasks, by the same record",
        figures={"counts": equal([behind["Copy-Last (V=2, T=4)"], behind["Copy-Last (V=3, T=2)"]], [16, 0])},
        of=outcome,
    )
    words = c.task.words()
    keep = [n for n, word in enumerate(words) if list(word[:-1]) == sorted(word[:-1])]
    distinct = spaces(c.architecture, c.trained.theta, c.task.inputs[keep])
    evidence.numeric(
        "one input per class: rows, and rows − rank",
        on="correction",
        figures={"rows": equal(distinct.rows, 12), "rows − rank": equal(distinct.left.tolist(), [0] * 8),
                 "P − rank": equal(distinct.right.tolist(), [3124] * 8)},
        cases=8,
    )  # fmt: skip
    evidence.control(
        "at $T = 4$ the gap narrows",
        figures={"smallest above": at_most(float(row(*LONGER_COPY).spaces.kept.min()), 1e-6)},
    )
