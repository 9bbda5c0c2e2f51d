"""Alignment and averaging (§7.4, Proposition E.10)."""

from __future__ import annotations

import itertools
from random import Random

import sympy as sp
import torch

from proofs_checks.gauge.layer_algebra import average
from proofs_checks.gauge.published_algorithms import algorithm_4
from proofs_checks.support.attention_layers import (
    drawn_layers,
    gaussian_like,
    inputs_for,
    layer_outputs,
    relative_change_of_outputs,
)
from proofs_checks.support.symbolic_evidence import is_zero, proves, record_identity
from symgauge.algorithms import (
    GaugeElement,
    align,
    apply,
    canonicalize,
    random_attention,
    random_element,
)
from symgauge.algorithms.invariants import head_distances
from symgauge.claims import EvidenceLog, at_least, at_most, checks
from symgauge.symbolic.identities import d, d_k, matrix
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import prove_equal

a = sp.Symbol("a", real=True, nonzero=True)


def squared_distance(first: tuple[int, int], second: tuple[int, int]) -> sp.Expr:
    """|q₁ − q₂ a|² + |k₁ − k₂/a|² as a function of a, for scalar heads."""
    return (first[0] - second[0] * a) ** 2 + (first[1] - second[1] / a) ** 2


@checks("sec7.4-b")
def test_alignment_procedure(evidence: EvidenceLog) -> None:
    objective = squared_distance((1, 1), (2, 2))
    procrustes, identity = objective.subs(a, sp.Rational(1, 2)), objective.subs(a, 1)
    stationary = sp.Poly(sp.numer(sp.together(sp.diff(objective, a))), a).degree()
    evidence.exact(
        "the solution of the Procrustes problem for $W_Q$ is the best $A$",
        bool(procrustes <= identity),
        counterexample=r"$(W_Q,W_K) = (1,1)$ against $(2,2)$: Procrustes on $W_Q$ gives $A = \frac12$ and the pair "
        r"$(1,4)$, at "
        r"squared distance 9; $A = 1$ leaves 2. The minimum solves an equation of degree 4",
        figures={"squared distances": [str(procrustes), str(identity)], "degree": stationary},
    )
    rng = Random(3)
    same, cases = True, 0
    for width, rank in ((3, 1), (4, 2), (5, 3)):
        q1, k1, q2, k2 = (general_matrix(width, rank, rng) for _ in range(4))
        skew = general_matrix(rank, rank, rng)
        skew = skew - skew.T
        o = (sp.eye(rank) - skew).inv() * (sp.eye(rank) + skew)
        left = sum(((x - y * o).T * (x - y * o)).trace() for x, y in ((q1, q2), (k1, k2)))
        constant = sum((x.T * x).trace() for x in (q1, k1, q2, k2))
        same &= (
            is_zero(o.T * o - sp.eye(rank))
            and sp.simplify(left - constant + 2 * (o.T * (q2.T * q1 + k2.T * k1)).trace()) == 0
        )
        cases += 1
    evidence.exact(
        r"over orthogonal $O$ the squared distance is a constant less $2\mathrm{tr}\,O^\top(W_{Q,2}^\top W_{Q,1}+"
        r"W_{K,2}^\top W_{K,1})$, which polar factors maximise; rational $O$ by Cayley's formula",
        same,
        on="correction",
        cases=cases,
    )
    margin, found_again, kept, cases = 1.0, 0.0, 0.0, 0
    generator = torch.Generator().manual_seed(0)
    for layer, seed in drawn_layers("plain"):
        reference = canonicalize(layer).parameters
        other = random_attention(9, 3, 2, 4, seed=seed + 500)
        best = align(reference, other)
        kept = max(kept, relative_change_of_outputs(other, best.parameters, seed))
        for size in (1e-3, 1e-1, 10.0):
            skews = [size * torch.randn((3, n, n), generator=generator, dtype=torch.float64) for n in (2, 4)]
            turned = GaugeElement(*(torch.matrix_exp(x - x.mT) for x in skews), torch.arange(3))
            gain = reference.distance(apply(best.parameters, turned)) - best.after
            margin = min(margin, gain / size**2 if size < 1 else gain)
        planted = apply(layer, random_element(layer, seed, 100))
        found_again = max(found_again, align(layer, planted).after / layer.norm())
        cases += 1
    best_of_all = evidence.numeric(
        "random layers: no orthogonal element near or far does better, the function stays, planted elements are undone",
        margin > 0 and kept < 1e-9 and found_again < 1e-9,
        on="correction",
        figures={
            "least gain over others": at_least(margin, 1e-9),
            "change of outputs": at_most(kept, 1e-9),
            "left of planted elements": at_most(found_again, 1e-9),
        },
        cases=cases,
    )
    one, two = random_attention(9, 4, 2, 3, seed=1), random_attention(9, 4, 2, 3, seed=2)
    table = head_distances(one, two)
    rows = torch.arange(4)
    least = min(float(table[rows, torch.tensor(order)].sum()) for order in itertools.permutations(range(4)))
    chosen = float(table[rows, align(one, two).element.heads].sum())
    evidence.exact("the assignment is the best of all 24", abs(chosen - least) < 1e-12, on="correction", cases=24)
    planted = apply(one, random_element(one, 5, 30))
    left = algorithm_4(one, planted)
    evidence.control(
        "Algorithm 4 as published on two points of one orbit",
        figures={"relative distance left": at_least(left[0].distance(left[1]) / left[0].norm(), 1e-2)},
        of=best_of_all,
    )


@checks("prop-E.10a")
def test_function_distance(evidence: EvidenceLog) -> None:
    record_identity(evidence, "query_key")
    record_identity(evidence, "value_output")
    worst, weakest, cases = 0.0, 1.0, 0
    for layer, seed in drawn_layers():
        other = layer.combine(gaussian_like(layer, seed), lambda x, y: x + 0.01 * y)
        x = inputs_for(layer, seed)
        f = layer_outputs(layer, x)
        g = layer_outputs(apply(other, random_element(other, seed, 30)), x)
        before, after = ((f - y).norm() / f.norm() for y in (layer_outputs(other, x), g))
        worst = max(worst, abs(float(after - before)))
        stretched = layer_outputs(other.replace(output=1.5 * other.output), x)
        weakest = min(weakest, abs(float((f - stretched).norm() / f.norm() - before)))
        cases += 1
    evidence.numeric(
        r"random $g$, two layers near to each other: the distance of functions stays",
        figures={"largest difference": at_most(worst, 1e-10)},
        cases=cases,
    )
    evidence.control("a map outside the group", figures={"difference": at_least(weakest, 1e-3)})


@checks("prop-E.10b")
def test_average_near_orbit(evidence: EvidenceLog) -> None:
    # On the orbit (a e_1, e_2/a) distances are those of the scalars (a, 1/a); W_V and W_O are at their best already.
    s = sp.Symbol("s", real=True)  # s = a + 1/a, of size at least 2; both objectives are parabolas in s
    align_objective = sp.expand(
        squared_distance((1, 1), (10, 10)) - (2 - 20 * (a + 1 / a) + 100 * ((a + 1 / a) ** 2 - 2))
    )
    best = sp.Integer(2 - 20 * 2 + 100 * 2)  # increasing for s ≥ 2, larger for s ≤ −2
    middle = sp.Rational(11, 2)
    orbit = (middle - a) ** 2 + (middle - 1 / a) ** 2
    parabola = s**2 - 2 - 11 * s + 2 * middle**2
    as_parabola = sp.simplify(orbit - parabola.subs(s, a + 1 / a)) == 0 and sp.simplify(align_objective) == 0
    nearest = parabola.subs(s, middle)
    evidence.exact(
        "two layers whose functions differ by less than $2\\epsilon$ have their average near the orbit",
        not (as_parabola and bool(nearest > 25)),
        counterexample=r"$d = d_v = 2$, $h = d_k = 1$, $(W_Q,W_K,W_V,W_O) = (e_1,e_2,\epsilon I,I)$ and $(10e_1,10e_2,"
        r"\epsilon I,I)$: outputs differ by at most $\epsilon$ times the spread of the inputs; the best $g$ is 1, the "
        r"average $(\frac{11}2e_1,\frac{11}2e_2,\epsilon I,I)$ lies $\frac{\sqrt{113}}2\approx5.3$ from the orbit "
        r"$(ae_1,e_2/a)$, for every $\epsilon$",
        figures={"squared distance of the two": str(best), "of the average to the orbit": str(nearest)},
    )
    first, second = (matrix(name, d, d_k) for name in ("W", "V"))
    evidence.proof(
        r"for every size: the midpoint differs from $\theta_1$, a point of the orbit, by half of what "
        r"$g^*\theta_2$ does",
        proves(lambda: prove_equal((first + second) / 2 - first, (second - first) / 2)),
        on="condition",
    )
    zero, naive, cases = 0.0, 1.0, 0
    for layer, seed in drawn_layers("plain", "shared", "biases"):
        reference = canonicalize(layer).parameters
        moved = apply(reference, random_element(reference, seed, 30))
        aligned = average(reference, align(reference, moved).parameters)
        zero = max(zero, relative_change_of_outputs(reference, aligned, seed))
        naive = min(naive, relative_change_of_outputs(reference, average(reference, moved), seed))
        cases += 1
    evidence.numeric(
        "two random points of one orbit: the aligned average is the function itself",
        on="condition",
        figures={"change of outputs": at_most(zero, 1e-8)},
        cases=cases,
    )
    evidence.control("averages on one orbit without aligning", figures={"change": at_least(naive, 1e-2)})
