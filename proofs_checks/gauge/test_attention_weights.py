"""B.1 and B.2: softmax row by row, and whether the function determines the attention weights (Lemma B.2)."""

from __future__ import annotations

from random import Random

import sympy as sp
import torch

from proofs_checks.support.algebra.group import act, random_element
from proofs_checks.support.attention_points import general_layer, head, layer, on_theta_0
from proofs_checks.support.exact_function import ExactFunction
from proofs_checks.support.explicit_attention import FIELD, same
from proofs_checks.support.head_identifiability import MERGED, is_one_function
from proofs_checks.support.poles import (
    ComplexLayer,
    measure_poles,
    prove_disjoint,
    prove_reduction,
    prove_residue,
    recovered_score_maps,
    weakest_pole,
)
from proofs_checks.support.small_architectures import ALONE
from proofs_checks.support.symbolic_evidence import record_identity
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.models.reference import random_parameters
from symgauge.profiles import scale
from symgauge.symbolic.tangent import Attention

E1, E2 = [1, 0], [0, 1]


def weights(point: Attention, x: sp.Matrix) -> list[sp.ImmutableMatrix]:
    """e^(scores) of every head on tokens x (n, d), as rational functions of e, rows summing to one; no scale 1/√d_k."""
    e, result = FIELD.to_sympy(FIELD.gens[0]), []
    for q, k in zip(point.w_q, point.w_k, strict=True):
        powers = (x * q * (x * k).T).applyfunc(lambda s: e**s)
        result.append(sp.ImmutableMatrix(*powers.shape, lambda i, j, p=powers: sp.cancel(p[i, j] / sum(p.row(i)))))
    return result


def same_weights(one: Attention, two: Attention, tokens: int, cases: int = 4) -> bool:
    """Whether the multisets of attention weights agree on random integer sequences, exactly."""
    rng, width = Random(0), one.w_q[0].rows
    sequences = [sp.Matrix(tokens, width, lambda i, j: rng.randint(-2, 2)) for _ in range(cases)]
    return all(sorted(map(str, weights(one, x))) == sorted(map(str, weights(two, x))) for x in sequences)


@checks("B.1-softmax")
def test_softmax_is_no_entrywise_map(evidence: EvidenceLog) -> None:
    s, t = sp.symbols("s t", real=True)
    weight = sp.exp(s) / (sp.exp(s) + sp.exp(t))
    influence = sp.simplify(sp.diff(weight, t) * (sp.exp(s) + sp.exp(t)) ** 2 / sp.exp(s + t))
    evidence.audit(
        "derivative of a weight by the other score of its row, over $e^{s+t}/(e^s+e^t)^2$: zero if element-wise",
        figures={"derivative": equal(str(influence), "0")},
        counterexample=r"the entry 0 becomes $\frac12$ in the row $(0,0)$ and $1/(1+e)$ in the row $(0,1)$",
    )
    evidence.control(
        "of the exponentials alone, which are taken element by element, the derivative is zero",
        sp.diff(sp.exp(s), t) == 0,
        kind="audit",
    )
    evidence.proof("the derivative is not zero", influence == -1, on="correction")
    record_identity(evidence, "scaled_softmax", on="correction")


@checks("lem-B.2", "B.2-cases")
def test_attention_weights(evidence: EvidenceLog) -> None:
    lemma, cases = "lem-B.2", "B.2-cases"
    record_counterexamples(evidence, lemma)
    record_density(evidence, cases)
    for claim_id, on in ((lemma, "condition"), (cases, "correction")):
        evidence.proof(
            r"query $\lambda x$, other tokens $\lambda x-\delta$: the row is $\sum_i(\lambda x-w_i\delta)N_i$; $w_i$ "
            r"has simple poles exactly at $\lambda t_i = \ln(n-1)+i\pi(2k+1)$; for $n\ge3$ no two heads with different "
            r"$t_i = xM_i\delta^\top/\sqrt{d_k}$ share one; "
            r"$h$ families with $N_i\ne0$ need $h$ heads, so other parameters of the function have distinct $M_i$ too",
            prove_reduction() and prove_residue() and prove_disjoint(),
            on=on,
            only=claim_id,
        )
    point = general_layer(3, 3, 2, 2, seed=3)
    maps = [q * k.T for q, k in zip(point.w_q, point.w_k, strict=True)]
    evidence.exact(
        r"the $M_i$ are read off $\prod_i(T-t_i)$ as a polynomial in $x$, $\delta$, $T$ by factoring it",
        sorted(map(str, recovered_score_maps(maps))) == sorted(map(str, maps)),
        on="condition",
        only=lemma,
    )
    record_orbits(evidence, lemma)
    count = scale(3, 15)
    layers = [ComplexLayer.random(5, 3, 2, 3, s) for s in range(count)]
    measured = [measure_poles(x, ComplexLayer.random(5, 3, 2, 3, s + count), seed=s) for s, x in enumerate(layers)]
    for claim_id, on in ((lemma, "condition"), (cases, "correction")):
        evidence.numeric(
            "contour integrals of the layer at complex inputs find the predicted residues at the predicted poles, also "
            "after a gauge transformation, and none for other parameters",
            on=on,
            only=claim_id,
            figures={
                "relative error": at_most(max(max(m.own, m.moved) for m in measured), 1e-9),
                "other parameters": at_most(max(m.other for m in measured), 1e-9),
            },
            cases=sum(m.cases for m in measured),
        )
    evidence.control(
        "around a layer's own poles the integral does not vanish",
        figures={"integral": at_least(weakest_pole(layers), 1e-3)},
    )


def record_counterexamples(evidence: EvidenceLog, only: str) -> None:
    """On Θ_0: equal score maps with every rank full, a silent head, two heads that cancel, two tokens."""
    one, two = MERGED
    evidence.exact(
        r"$M_1 = M_2$, on $\Theta_0$ with $W_O$ invertible, for any number of tokens: the function determines "
        "the weights",
        not (is_one_function(MERGED) and same(one, two, tokens=4, cases=3)) or same_weights(one, two, 4),
        counterexample=r"$d = h = 3$, $d_k = d_v = 1$: heads 1 and 2 joined, as $(M_1, N_1+N_2)$, and head 3 split, as "
        r"$(M_3, N_3')$ and $(M_3, N_3-N_3')$: one function, with weights $\alpha_1, \alpha_1, \alpha_3$ and "
        r"$\alpha_1, \alpha_3, \alpha_3$",
        cases=3,
        only=only,
    )
    quiet = [layer(head(q, E2, E1, [0, 0]), head([1, 1], E2, E2, [1, 2])) for q in (E1, [2, 3])]
    cancelling = [layer(head(q, E2, E1, E1), head(q, E2, E1, [-1, 0])) for q in (E1, [2, 3])]
    few = [
        layer(head(E1, E2, [1, 2], [1, 1]), head(E1, [0, -1], [1, 2], [1, 1])),
        layer(head([2, 1], [1, 1], [1, 2], [1, 1]), head([2, 1], [-1, -1], [1, 2], [1, 1])),
    ]
    examples = (
        ("$W_{O,1} = 0$", quiet, 3, r"$d = h = 2$, $d_k = d_v = 1$, $W_{O,1} = 0$: $W_Q^{(1)} = (1,0)^\top$ and "
         r"$(2,3)^\top$ give one function and different $\alpha_1$"),
        ("$M_1 = M_2$, $N_1 = -N_2$", cancelling, 3, r"$d = h = 2$, $d_k = d_v = 1$, $M_1 = M_2 = M$, $N_1 = -N_2$: "
         r"the heads cancel for every $M$"),
        ("two tokens, $M_2 = -M_1$, $N_1 = N_2$", few, 2, r"$n = 2$, $M_2 = -M_1$, $N_1 = N_2$: as "
         r"$\sigma(t)+\sigma(-t) = 1$, $M_1$ may be anything"),
    )  # fmt: skip
    for what, (one, two), tokens, text in examples:
        evidence.exact(
            f"{what}, on $\\Theta_0$: the function determines the weights",
            not (on_theta_0(one) and on_theta_0(two) and same(one, two, tokens=tokens, cases=6))
            or same_weights(one, two, tokens),
            counterexample=text,
            cases=6,
            only=only,
        )


def record_density(evidence: EvidenceLog, only: str) -> None:
    """The inputs of Proposition A.1 fill a proper subspace; uniform attention keeps every other head away from 0."""
    point = general_layer(5, 2, 2, 2, seed=4)
    constraints = point.w_q[0] - point.w_k[0]
    evidence.exact(
        r"dimension of the inputs $X$ with $XW_Q^{(1)} = XW_K^{(1)}$, those of Proposition A.1, per token, at a "
        r"general point with $d = 5$, $d_k = 2$; dense if 5",
        figures={"dimension": equal(5 - constraints.rank(), 5)},
        counterexample=r"$d = 2$, $d_k = 1$, $W_Q = e_1$, $W_K = e_2$: the inputs $(a,a)$ form a line, and $(1,0)$ has "
        r"a neighbourhood without any",
        only=only,
    )
    evidence.exact(
        r"its codimension is $nd_k$",
        figures={"rank": equal(constraints.rank(), 2)},
        on="correction",
        only=only,
    )


def record_orbits(evidence: EvidenceLog, only: str) -> None:
    """α_i(θ·g) = α_σ(i)(θ), exactly and in float64; and different weights for another point."""
    point = general_layer(3, 3, 1, 2, seed=8)
    moved = [act(point, random_element(3, 1, 2, seed=s)) for s in range(3)]
    other = general_layer(3, 3, 1, 2, seed=9)
    evidence.exact(
        r"over $\mathbb Q(e)$: along an orbit the weights are permuted, and another point has another function",
        all(same_weights(point, m, 3, cases=2) for m in moved) and not same(point, other, tokens=3, cases=2),
        on="condition",
        cases=3,
        only=only,
    )
    evidence.control(
        "the other point's weights are not a permutation of these",
        not same_weights(point, other, 3, cases=2),
        kind="exact",
        only=only,
    )
    a = Architecture(5, 2, 3, 2, context=3, **ALONE)
    roles = random_parameters(a, 1)
    query, output = "layers.0.attention.query.weight", "layers.0.attention.output.weight"
    silent = {**roles, output: roles[output].clone()}
    silent[output][0] = 0.0
    function = ExactFunction(a, silent)
    turned = {query: silent[query] + torch.tensor([1.0, 0.0], dtype=torch.float64)[:, None, None]}
    evidence.control(
        "over GF(p): the query map of a head with $W_O = 0$ is not seen, that of the same head with $W_O\\ne0$ is",
        function.keeps(turned) and not ExactFunction(a, roles).keeps(turned),
        kind="exact",
        only=only,
    )
