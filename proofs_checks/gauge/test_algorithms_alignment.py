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
    AttentionParameters,
    GaugeElement,
    align,
    apply,
    canonicalize,
    match_heads,
    random_attention,
    random_element,
)
from symgauge.algorithms.invariants import head_distances
from symgauge.algorithms.pairs import polar
from symgauge.claims import EvidenceLog, at_least, at_most, checks
from symgauge.symbolic.identities import d, d_k, matrix
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import prove_equal

a = sp.Symbol("a", real=True, nonzero=True)


def squared_distance(first: tuple[int, int], second: tuple[int, int]) -> sp.Expr:
    """|q₁ − q₂ a|² + |k₁ − k₂/a|² as a function of a, for scalar heads."""
    return (first[0] - second[0] * a) ** 2 + (first[1] - second[1] / a) ** 2


def faces(one: AttentionParameters, two: AttentionParameters) -> tuple[torch.Tensor, torch.Tensor]:
    """W_Q,2ᵀW_Q,1 + W_K,2ᵀW_K,1 and W_V,2ᵀW_V,1 + W_O,2W_O,1ᵀ for all heads i of one and j of two: (h, h, r, r)."""
    scores = two.query.mT @ one.query[:, None] + two.key.mT @ one.key[:, None]
    return scores, two.value.mT @ one.value[:, None] + two.output @ one.output.mT[:, None]


def squared_left_over(one: AttentionParameters, two: AttentionParameters) -> torch.Tensor:
    """(h, h): the squared distance of head i of one and head j of two after the best orthogonal A and C."""
    sizes = [sum(x.square().sum((-2, -1)) for x in p.tensors().values()) for p in (one, two)]
    gained = sum(torch.linalg.matrix_norm(x, ord="nuc") for x in faces(one, two))
    return sizes[0][:, None] + sizes[1] - 2 * gained


def next_to(one: AttentionParameters, two: AttentionParameters, heads: torch.Tensor) -> AttentionParameters:
    """Two with its heads in this order and the best orthogonal A and C for each."""
    a, c = (polar(x[torch.arange(one.heads), heads]) for x in faces(one, two))
    ordered = {name: x[heads] for name, x in two.tensors().items()}
    return two.replace(
        query=ordered["query"] @ a, key=ordered["key"] @ a, value=ordered["value"] @ c, output=c.mT @ ordered["output"]
    )


def faint_and_loud(sizes: tuple[tuple[float, float], ...]) -> AttentionParameters:
    """Balanced heads at d = 2, d_k = d_v = 1: M = m e_1e_2ᵀ and N = n e_1e_2ᵀ."""
    m, n = (torch.tensor(x, dtype=torch.float64).sqrt() for x in zip(*sizes, strict=True))
    first, second = torch.eye(2, dtype=torch.float64)
    left, right = first[:, None], second[:, None]
    m, n = m[:, None, None], n[:, None, None]
    like = random_attention(2, len(sizes), 1, 1)
    return like.replace(query=m * left, key=m * right, value=n * left, output=n * right.mT)


@checks("sec7.4-b")
def test_alignment_procedure(evidence: EvidenceLog) -> None:
    objective = squared_distance((1, 1), (1, 4))
    procrustes, better = objective.subs(a, 1), objective.subs(a, 2)
    stationary = sp.Poly(sp.numer(sp.together(sp.diff(objective, a))), a).degree()
    evidence.exact(
        "from any two points, the solution of a Procrustes problem is the best $A$",
        bool(procrustes <= better),
        counterexample=r"$d = 2$, $d_k = 1$: $(W_Q,W_K) = (e_1,e_2)$ against $(e_1,4e_2)$, which is not balanced. "
        r"Procrustes on $W_Q$, and on both over $O(1)$, gives $A = 1$ at squared distance 9; $A = 2$ leaves 2. The "
        r"minimum solves an equation of degree 4",
        figures={"squared distances": [str(procrustes), str(better)], "degree": stationary},
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
        on="condition",
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
        on="condition",
        figures={
            "least gain over others": at_least(margin, 1e-9),
            "change of outputs": at_most(kept, 1e-9),
            "left of planted elements": at_most(found_again, 1e-9),
        },
        cases=cases,
    )
    one, two = (canonicalize(random_attention(9, 4, 2, 3, seed=seed)).parameters for seed in (1, 2))
    table = squared_left_over(one, two)
    rows, totals = torch.arange(4), {}
    for order in itertools.permutations(range(4)):
        heads = torch.tensor(order)
        totals[order] = one.distance(next_to(one, two, heads)) ** 2
        same &= abs(totals[order] - float(table[rows, heads].sum())) < 1e-9
    chosen = tuple(match_heads(table, groups=4).tolist())
    assigned = evidence.numeric(
        "with every of the 24 permutations the squared distance is the sum of what the pairs leave, and the Hungarian "
        "method on these finds the least",
        same,
        on="condition",
        figures={"chosen less least": at_most(totals[chosen] - min(totals.values()), 1e-9)},
        cases=24,
    )
    first, second = ((0.01, 100.0), (1.0, 110.0)), ((0.01, 110.0), (1.0, 100.0))
    near, far = faint_and_loud(first), faint_and_loud(second)
    by_pairs = match_heads(squared_left_over(near, far), groups=2)
    by_products = match_heads(head_distances(near, far), groups=2)
    evidence.control(
        r"heads matched on $\|M_1-M_2\|+\|N_1-N_2\|$: $(\|M\|,\|N\|) = (0.01,100), (1,110)$ against $(0.01,110), "
        r"(1,100)$, balanced",
        figures={
            "further than by pairs": at_least(
                near.distance(next_to(near, far, by_products)) - near.distance(next_to(near, far, by_pairs)), 0.5
            )
        },
        of=assigned,
    )
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
