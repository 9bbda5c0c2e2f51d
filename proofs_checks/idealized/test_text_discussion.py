"""Section 8 where it speaks of counting: permutations, nonzero parameters, a smallest solution."""

from __future__ import annotations

import math

import sympy as sp
import torch

from proofs_checks.idealized.model import IdealizedModel, architecture
from proofs_checks.idealized.model.tasks import copy_last
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.model_graph import graph_of
from symgauge.models.reference import forward
from symgauge.symmetries import discrete_families
from symgauge.symmetries import symbols as letters


@checks("8.1-2")
def test_permutations(evidence: EvidenceLog) -> None:
    a = architecture(4, 2, 2, 3)
    # Permutations and signs of the stream are finite too, but lie inside its GL(d).
    known = {family.name: family for family in discrete_families(a) if family.name != "stream-permutation"}
    orders = {name: letters.evaluate(family.order(a), a) for name, family in known.items()}
    evidence.exact(
        r"order of the discrete families at $d = 4$, $H = 2$, $L = 2$ against $((4d)!\,H!)^L$",
        figures={"order": equal(math.prod(orders.values()), (math.factorial(16) * 2) ** 2), "families": sorted(orders)},
        on="condition",
    )
    generator = torch.Generator().manual_seed(0)
    roles = {role: value.detach() for role, value in IdealizedModel(a).roles().items()}
    words = torch.cartesian_prod(*[torch.arange(3)] * 3)
    before, worst, moved, broken = forward(a, roles, words), 0.0, True, math.inf
    for family in known.values():
        after = family.act(a, graph_of(a), roles, family.sample(a, graph_of(a), generator))
        worst = max(worst, float((forward(a, after, words) - before).abs().max() / before.abs().max()))
        changed = [role for role in roles if not torch.equal(after[role], roles[role])]
        moved = moved and bool(changed)
        half = {**after, changed[0]: roles[changed[0]]}
        broken = min(broken, float((forward(a, half, words) - before).abs().max() / before.abs().max()))
    evidence.numeric(
        "drawn elements move the parameters of a random model and keep its logits, in float64",
        figures={"largest relative change": at_most(worst, 1e-12)},
        on="condition",
        cases=len(known),
    )
    evidence.control("one tensor put back", moved, figures={"smallest change": at_least(broken, 1e-4)})
    equal_neurons = {role: torch.zeros_like(value) for role, value in roles.items()}
    elsewhere = []
    for family in known.values():
        after = family.act(a, graph_of(a), equal_neurons, family.sample(a, graph_of(a), generator))
        elsewhere.append(any(not torch.equal(after[role], value) for role, value in equal_neurons.items()))
    evidence.exact(
        "with equal neurons and heads drawn elements lead to other parameters",
        all(elsewhere),
        cases=len(elsewhere),
        counterexample=r"all parameters zero: every permutation fixes $\theta$, the factor is 1",
    )


@checks("8.2-c")
def test_count_of_nonzeros(evidence: EvidenceLog) -> None:
    a = architecture(4, 2)
    roles = {role: torch.zeros(shape, dtype=torch.float64) for role, shape in graph_of(a).shapes.items()}
    roles["token_table"][0, 0], roles["token_table"][1, 0], roles["unembedding.weight"][0, 0] = 1.0, -1.0, 1.0
    turn = torch.tensor([[2.0, 1, 3, 4], [1, 1, 2, 3], [0, 0, 1, 2], [2, 1, 3, 5]], dtype=torch.float64)
    inverse = torch.tensor(sp.Matrix(turn.to(torch.int64).tolist()).inv().tolist(), dtype=torch.float64)
    turned = {
        **roles,
        "token_table": roles["token_table"] @ turn,
        "unembedding.weight": inverse @ roles["unembedding.weight"],
    }
    task = copy_last()
    logits = [forward(a, r, task.inputs)[:, -1] for r in (roles, turned)]
    nonzero = [sum(int(value.count_nonzero()) for value in r.values()) for r in (roles, turned)]
    right = bool((logits[0].argmax(-1) == task.targets).all())
    evidence.exact(
        "Copy-Last by three nonzero weights on a residual stream, and its stream turned by an integer matrix of "
        "determinant 1: small integers, so float64 is exact",
        right and torch.equal(*logits) and nonzero[0] == 3,
        figures={"nonzeros": at_least(nonzero[1], 4), "from": nonzero[0]},
        on="condition",
    )
    evidence.control(
        "the embedding alone turned changes the logits",
        not torch.equal(logits[0], forward(a, {**roles, "token_table": turned["token_table"]}, task.inputs)[:, -1]),
        kind="exact",
    )
    evidence.exact(
        "the number of all parameters",
        len({sum(value.numel() for value in r.values()) for r in (roles, turned)}) > 1,
        counterexample=r"$P = 2|V|d + 12Ld^2$ is the same at every point of a class",
    )
