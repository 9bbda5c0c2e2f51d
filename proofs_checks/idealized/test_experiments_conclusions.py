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
    logits,
    repeated_rows,
    train,
    xor_first_two,
)
from proofs_checks.idealized.model.training import accuracies
from proofs_checks.idealized.reported import FIGURE_2, FIGURE_2_NULL
from proofs_checks.idealized.trained_models import COPY, LONGER_COPY, WIDER_COPY, XOR, row
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import decided, record_outcome
from symgauge.model_graph import graph_of
from symgauge.parameter_vector import ParameterVector
from symgauge.profiles import scale

PROTOCOL = Protocol(rate=1e-3, loss=1e-3, steps=3000)
TANGENT = 1e-13
SHARP = 1e4  # quotient of neighbouring singular values that counts as a sharp gap


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


@checks("5.2-b")
def test_regular(evidence: EvidenceLog) -> None:
    cases = [row(*key) for key in (COPY, XOR, LONGER_COPY, WIDER_COPY)]
    counts = {str(c.task): c.spaces.right.tolist() for c in cases}
    same = evidence.numeric(
        "P − rank of eight trained models each: one value for all initialisations?",
        figures={task: equal(sorted(set(x)), x[:1]) for task, x in counts.items()},
        cases=sum(map(len, counts.values())),
    )
    bounds = {str(c.task): c.spaces.rows - repeated_rows(c.task.vocabulary, c.task.length) for c in cases}
    full = evidence.numeric(
        "the rank is the largest that repeated rows allow, at any parameters: it cannot rise and, where it is largest, "
        "does not fall nearby",
        figures={str(c.task): equal(sorted(set(c.spaces.ranks.tolist())), [bounds[str(c.task)]]) for c in cases},
        cases=sum(map(len, counts.values())),
    )
    _, narrow = sized(8, 1, 8)
    evidence.control(
        "$d = 8$ with one head: ranks of eight trained models differ, and some are below the largest",
        figures={
            "different ranks": at_least(len(set(narrow.ranks.tolist())), 2),
            "least rank": at_most(int(narrow.ranks.min()), bounds[str(cases[0].task)] - 1),
        },
        of=[same, full],
    )


@checks("5.2-d")
def test_what_the_count_depends_on(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
    a, inputs = architecture(), copy_last().inputs
    theta = initial(a, range(4))
    other = train(a, xor_first_two(), theta, PROTOCOL)
    counts = {
        "untrained": spaces(a, theta, inputs).left.tolist(),
        "Copy-Last": row(*COPY).spaces.left.tolist(),
        "XOR of all": row(*XOR).spaces.left.tolist(),
        "XOR of the first two": spaces(a, other.theta, inputs).left.tolist(),
    }
    evidence.numeric(
        "rows − rank at $|V| = 2$, $T = 3$, by task",
        on="correction",
        figures={name: equal(sorted(set(x)), [4]) for name, x in counts.items()},
        cases=sum(map(len, counts.values())),
    )
    seen = {}
    for name, variant in {"positions": architecture(positions=True), "two layers": architecture(layers=2)}.items():
        seen[name] = equal(int(spaces(variant, initial(variant, [0]), inputs).left[0]), 0)
    evidence.control("with positions, or a second layer, order is seen and no row repeats", figures=seen)
    grid = [(2, 3), (2, 4), (3, 2), *GRID[: scale(10, len(GRID), 3)]]
    counted = {(v, t): exact_left(8, 4, v, t) for v, t in grid}
    evidence.exact(
        "rows − rank modulo a prime at random parameters, $d = 8$, $H = 4$, for the source's $(|V|, T)$ and others, "
        "and the formula",
        on="correction",
        figures={f"({v}, {t})": equal(found, repeated_rows(v, t)) for (v, t), found in counted.items()},
        cases=len(grid),
    )
    evidence.control(
        "models too narrow, $d = H = 1$ at $T = 3$ and $d = H = 2$ at $T = 6$, have more than the formula",
        kind="exact",
        figures={
            "(2, 3)": at_least(exact_left(1, 1, 2, 3), repeated_rows(2, 3) + 1),
            "(2, 6)": at_least(exact_left(2, 2, 2, 6), repeated_rows(2, 6) + 1),
        },
    )


def on_one_piece(residual: bool) -> Spaces:
    """A model with two heads and positive weights that solves Copy-Last with every neuron on for every input: a head
    looks at the tokens that are the last one. All weights have noise, so that none of the values vanishes by chance."""
    a, task = architecture(residual=residual), copy_last()
    generator = torch.Generator().manual_seed(0)
    roles = {}
    for name, shape in graph_of(a).shapes.items():
        weight = 0.1 * torch.rand(shape, generator=generator, dtype=torch.float64)
        size = 8 if name == "unembedding.weight" else 3 if "query" in name or "key" in name else 1
        for token in range(2):
            weight[..., token, token] += size
        roles[name] = weight
    theta = ParameterVector.of(a).join(roles).unsqueeze(0)
    right = accuracies(logits(a, theta, task.inputs), task.targets.unsqueeze(0))
    assert right == 1
    assert active(a, theta[0], task.inputs).all()
    return spaces(a, theta, task.inputs)


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
    two = evidence.numeric("two or more heads", on="condition", figures=several, cases=8)
    evidence.control("one head in place of two", set(counts) != {4}, figures={"rows − rank": counts})
    bare = {residual: on_one_piece(residual) for residual in (False, True)}
    evidence.control(
        "no residual stream, two heads: weights by hand that solve the task with all inputs on one piece",
        figures={
            "rows − rank": equal(int(bare[False].left[0]), 6),
            "least value that counts": at_least(float(bare[False].kept[0]), 1e-10),
            "with the stream": equal(int(bare[True].left[0]), 4),
        },
        of=two,
    )
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
    kept = {name: (least, dropped) for name, _, _, least, _, dropped in ends}
    gap = evidence.numeric(
        "least significant value over the largest near zero, by the same record",
        on="reproduction",
        figures={
            str(row(*key).task): at_least(kept[str(row(*key).task)][0] / kept[str(row(*key).task)][1], SHARP)
            for key in (COPY, XOR)
        },
        cases=len(run.result.comparisons),
    )
    values = row(*WIDER_COPY).spaces.values
    evidence.control(
        "neighbouring values of Copy-Last at $|V| = 3$, $T = 2$, where no row repeats: the largest quotient",
        figures={"quotient": at_most(float((values[:, :-1] / values[:, 1:]).max()), SHARP)},
        of=gap,
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
