"""Section 8 where it speaks of counting: permutations, nonzero parameters, a smallest solution."""

from __future__ import annotations

import math
from fractions import Fraction

import sympy as sp
import torch
from torch import Tensor

from proofs_checks.idealized.experiments.pruning import copy_last_by_hand
from proofs_checks.idealized.model import IdealizedModel, architecture
from proofs_checks.idealized.model.tasks import copy_last
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.model_graph import graph_of
from symgauge.models.reference import forward
from symgauge.parameter_vector import ParameterVector
from symgauge.symmetries import discrete_families
from symgauge.symmetries import symbols as letters

ATTENTION, FF = "layers.0.attention.", "layers.0.ff."


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
    different = [len(set(neurons(roles, layer))) == 16 and len(set(heads(roles, layer))) == 2 for layer in (0, 1)]
    evidence.exact(
        "what no listed symmetry changes of a neuron (incoming weights up to a positive factor, their product with the "
        "outgoing ones) and of a head (its two products) differs between all of them in a random model: no permutation "
        "but the identity stays in an orbit",
        all(different),
        on="condition",
        cases=len(different),
    )
    small = architecture(4, 2)
    solution = copy_with_neurons(small)
    up, down = f"{FF}up.weight", f"{FF}down.weight"
    swap = [1, 0, *range(2, 16)]
    swapped = {**solution, up: solution[up][:, swap], down: solution[down][swap]}
    factors = torch.tensor([2, 0.5, *[1] * 14], dtype=torch.float64)
    scaled = {**solution, up: solution[up] * factors, down: solution[down] / factors[:, None]}
    answers = forward(small, solution, copy_last().inputs)[:, -1].argmax(-1)
    evidence.exact(
        "a model that solves Copy-Last, two of whose neurons agree up to the factor 2: does their swap leave the orbit "
        "of rescalings?",
        not all(torch.equal(swapped[role], scaled[role]) for role in solution),
        figures={"right answers": equal(int((answers == copy_last().targets).sum()), 8)},
        counterexample=r"neurons $(w, v)$ and $(2w, v/2)$: rescaled by $2$ and $\tfrac12$ they have changed places",
    )
    evidence.control(
        "two neurons that do not agree change places by no rescaling",
        len(set(neurons(solution, 0)[:2])) == 1 and len(set(neurons(solution, 0)[1:3])) == 2,
        kind="exact",
    )


def neurons(roles: dict[str, Tensor], layer: int) -> list[tuple[Fraction, ...]]:
    """For each neuron its incoming weights over their sum of magnitudes, and its outgoing ones times it, in rationals:
    the same for two neurons where one is the other rescaled, and not otherwise."""
    prefix = f"layers.{layer}.ff."
    found = []
    for w, v in zip(roles[f"{prefix}up.weight"].mT.tolist(), roles[f"{prefix}down.weight"].tolist(), strict=True):
        size = sum(abs(Fraction(x)) for x in w)
        found.append((*(Fraction(x) / size for x in w), *(Fraction(x) * size for x in v)))
    return found


def heads(roles: dict[str, Tensor], layer: int) -> list[tuple[Fraction, ...]]:
    """For each head the entries of W_Q W_Kᵀ and of W_V W_O, in rationals."""
    query, key, value, output = (
        [sp.Matrix(head).applyfunc(sp.Rational) for head in roles[f"layers.{layer}.attention.{name}.weight"].tolist()]
        for name in ("query", "key", "value", "output")
    )
    return [(*(q * k.T), *(v * o)) for q, k, v, o in zip(query, key, value, output, strict=True)]


def copy_with_neurons(a: Architecture) -> dict[str, Tensor]:
    """Copy-Last by three weights, and neurons of small integers that write to channels which the output does not read;
    the second is the first rescaled by 2."""
    roles = ParameterVector.of(a).split(copy_last_by_hand(a))
    generator = torch.Generator().manual_seed(0)
    up = torch.randint(1, 9, (4, 16), generator=generator).double()
    down = torch.randint(1, 9, (16, 4), generator=generator).double()
    down[:, 0] = 0
    up[:, 1], down[1] = 2 * up[:, 0], down[0] / 2
    return {**roles, f"{FF}up.weight": up, f"{FF}down.weight": down}


@checks("8.2-c")
def test_count_of_nonzeros(evidence: EvidenceLog) -> None:
    a, task = architecture(4, 2), copy_last()
    plain = ParameterVector.of(a).split(copy_last_by_hand(a))
    for name in ("query", "key", "value", "output"):
        plain[f"{ATTENTION}{name}.weight"][0, 0, 0] = 1
    shear = torch.tensor([[1.0, 1], [0, 1]], dtype=torch.float64)
    turned = dict(plain)
    turned[f"{ATTENTION}query.weight"] = plain[f"{ATTENTION}query.weight"] @ shear
    turned[f"{ATTENTION}key.weight"] = plain[f"{ATTENTION}key.weight"] @ torch.linalg.inv(shear).mT
    wrong = {**turned, f"{ATTENTION}key.weight": plain[f"{ATTENTION}key.weight"] @ torch.linalg.inv(shear)}
    logits = [forward(a, r, task.inputs)[:, -1] for r in (plain, turned, wrong)]
    nonzero = [sum(int(value.count_nonzero()) for value in r.values()) for r in (plain, turned)]
    evidence.exact(
        "Copy-Last by seven nonzero weights, one head among them, and the same with $W_Q$, $W_K$ moved by "
        r"$A = \begin{pmatrix}1&1\\0&1\end{pmatrix}$: small integers, logits equal bit by bit, all answers right",
        bool((logits[0].argmax(-1) == task.targets).all()) and torch.equal(logits[0], logits[1]),
        figures={"nonzero": equal(nonzero, [7, 8])},
        cases=len(task.inputs),
    )
    evidence.control(
        "$A^{-1}$ in place of $A^{-\\top}$ changes the logits", not torch.equal(logits[0], logits[2]), kind="exact"
    )
