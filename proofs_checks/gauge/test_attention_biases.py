"""Biases of attention: what they add to the fibre, and so what the abstract misses."""

from __future__ import annotations

import dataclasses

import torch
from hypothesis import strategies as st
from sympy import Matrix

from proofs_checks.support.census import census
from proofs_checks.support.explicit_attention import same, scalar
from proofs_checks.support.small_architectures import ALONE, BIASED
from proofs_checks.support.symbolic_evidence import record_identity
from symgauge import strategies as sg
from symgauge.architecture import Architecture, Rotary
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal, for_all
from symgauge.model_graph import graph_of
from symgauge.models.reference import random_parameters
from symgauge.numeric import action, assert_changes, measure_invariance, random_inputs
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.dimensions import mha_biased
from symgauge.symbolic.tangent import random_attention
from symgauge.symmetries.catalogue.key_bias import KeyBias
from symgauge.symmetries.catalogue.value_bias import ValueBias

QUERY_BIAS, KEY_BIAS = "layers.0.attention.query.bias", "layers.0.attention.key.bias"
# (d, h, d_k, d_v)
SIZES = ((4, 2, 3, 1), (5, 2, 3, 4), (5, 3, 2, 4), (7, 2, 2, 3))


def plain(w: int, h: int, k: int, v: int) -> Architecture:
    return Architecture(w, h, k, v, context=3, **ALONE, **BIASED)


@checks("abs-12")
def test_biases(evidence: EvidenceLog) -> None:
    evidence.exact(
        "a shift of the key bias, which is outside $G_{\\max}$, changes the layer",
        not same(scalar(0), scalar(1), tokens=3, cases=8),
        counterexample=r"$d = d_k = 1$, $W_Q = W_K = 1$, $b_Q = 0$: $b_K = 0$ gives the scores $x_ix_j$ and $b_K = "
        r"1$ gives "
        r"$x_ix_j+x_i$, equal after softmax over $j$",
        cases=8,
    )
    evidence.control(
        "the query bias moved in the same way",
        not same(scalar(0), dataclasses.replace(scalar(0), b_q=(Matrix([[1]]),)), tokens=3, cases=8),
        kind="exact",
    )
    evidence.exact(
        "value bias against output bias, over ℚ(e)",
        same(scalar(0), scalar(0, 3, -3), tokens=3, cases=8),
        on="correction",
        cases=8,
    )
    record_identity(evidence, "key_bias", on="correction")
    record_identity(evidence, "value_bias", on="correction")
    found = census([plain(*s) for s in SIZES], lambda a: mha_biased().at(h=a.heads, d_k=a.d_k, d_v=a.d_v))
    evidence.exact(
        r"exact nullity with all four biases is $h(d_k^2+d_v^2+d_k+d_v)$, nothing unexplained",
        on="correction",
        figures=found.figures,
        cases=found.cases,
    )
    turning = [plain(*s).replace(rotary=Rotary.standard(s[2])) for s in ((7, 2, 4, 3), (5, 3, 2, 4))]
    rotary = census(turning, lambda a: a.heads * (a.d_k + a.d_v**2 + a.d_v))
    evidence.exact(
        "with rotary positions $h(d_k+d_v^2+d_v)$: $b_K$ is not free there",
        on="correction",
        figures=rotary.figures,
        cases=rotary.cases,
    )
    record_first_order(evidence)
    record_sampled(evidence)
    record_small_change(evidence)


def record_first_order(evidence: EvidenceLog) -> None:
    sizes = ((3, 1, 2), (4, 2, 1))
    points = [random_attention(d=w, d_k=k, d_v=v, groups=range(2), biases="qkvo", seed=w) for w, k, v in sizes]
    parts = (
        lie.query_key_generators, lie.value_output_generators, lie.key_bias_generators, lie.value_bias_generators
    )  # fmt: skip
    results = [lie.characterise(p, [part(p) for part in parts]) for p in points]
    evidence.exact(
        "first-order conditions solved over the rationals: factors, key bias and value bias, and nothing else",
        all(r.inside and r.free for r in results),
        on="correction",
        figures={"unexplained": equal([r.unexplained for r in results], [0, 0])},
        cases=len(results),
    )
    without = lie.characterise(points[0], [part(points[0]) for part in parts[:2]]).unexplained
    evidence.control(
        r"the generators of $G_{\max}$ alone do not span the kernel",
        kind="exact",
        figures={"unexplained": at_least(without, 1)},
    )


def record_sampled(evidence: EvidenceLog) -> None:
    worst, weakest = 0.0, 1.0

    def keeps(a: Architecture, seed: int) -> bool:
        nonlocal worst, weakest
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        generator = torch.Generator().manual_seed(seed)
        holds = True
        for family in (KeyBias(), ValueBias()):
            coordinates = torch.randn(family.coordinates(a, graph_of(a)), generator=generator, dtype=torch.float64)
            found = measure_invariance(a, roles, action(family, a), coordinates, x)
            worst, holds = max(worst, found.ratio), holds and found.holds
        moved = {QUERY_BIAS: roles[QUERY_BIAS] + torch.randn(roles[QUERY_BIAS].shape, generator=generator)}
        weakest = min(weakest, assert_changes(a, roles, moved, x, margin=1e-6, what="the query bias"))
        return holds

    drawn = sg.architectures(
        kinds=["attention"], max_parameters=300, max_layers=1, attention="softmax", rotary=None, residual=False,
        **BIASED,
    )  # fmt: skip
    run = for_all(keeps, a=drawn, seed=st.integers(0, 999))
    evidence.property(
        "drawn layers: random shifts of $b_K$, and of $b_V$ against $b_O$, change nothing that rounding does not "
        "explain",
        run,
        on="correction",
        figures={"largest observed / allowed": at_most(worst, 1.0)},
    )
    evidence.control("the query bias shifted instead", figures={"smallest change": at_least(weakest, 1e-6)})
    a = plain(5, 2, 2, 3).replace(rotary=Rotary.standard(2))
    roles, x = random_parameters(a, 1), random_inputs(a, 1)
    change = assert_changes(a, roles, {KEY_BIAS: roles[KEY_BIAS] + 1.0}, x)
    evidence.control("the key bias shifted under rotary positions", figures={"change": at_least(change, 1e-3)})


def record_small_change(evidence: EvidenceLog) -> None:
    a = Architecture(5, 2, 2, 3, context=3, **ALONE)
    roles, x, query = random_parameters(a, 2), random_inputs(a, 2), "layers.0.attention.query.weight"
    changes = [assert_changes(a, roles, {query: roles[query] * (1 + t)}, x, margin=0.0) for t in (1e-3, 1e-6)]
    evidence.numeric(
        r"$W_Q\mapsto(1+t)W_Q$ alone is outside $G_{\max}$, and the change is proportional to $t$",
        on="correction",
        figures={
            "change at 1e-6": at_most(changes[1], 1e-5),
            "not rounding": at_least(changes[1], 1e-9),
            "proportional": at_most(abs(changes[0] / changes[1] / 1e3 - 1), 0.01),
        },
    )
    key = "layers.0.attention.key.weight"

    def along(r: dict[str, torch.Tensor], t: float) -> dict[str, torch.Tensor]:
        return {query: r[query] * (1 + t), key: r[key] / (1 + t)}

    inside = measure_invariance(a, roles, along, 1e-2, x)
    evidence.control(
        "with $W_K$ divided by $1+t$ it is inside, and the change is rounding",
        figures={"observed / allowed": at_most(inside.ratio, 1.0)},
    )
