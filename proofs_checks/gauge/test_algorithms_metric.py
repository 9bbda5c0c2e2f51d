"""Gradients and metrics up to the gauge: what of them is invariant (Definition E.7, Proposition E.8)."""

from __future__ import annotations

import sympy as sp
import torch

from proofs_checks.gauge.algebra import projection
from proofs_checks.gauge.algebra import scalar_model as scalar
from proofs_checks.gauge.layer_algebra import gradient_of
from proofs_checks.support.attention_layers import drawn_layers, relative_change_of_outputs
from proofs_checks.support.small_architectures import ALONE
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.accounting import account
from symgauge.algorithms import (
    GaugeElement,
    apply,
    project_gradient,
    random_attention,
    random_element,
)
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.models.reference import random_parameters
from symgauge.numeric import random_inputs
from symgauge.numeric.gaps import rank_with_gap
from symgauge.numeric.jacobian import reference_jacobian


@checks("def-E.7")
def test_gauge_invariant_gradient(evidence: EvidenceLog) -> None:
    points = [(sp.Integer(1), sp.Integer(2)), (sp.Integer(4), sp.Rational(1, 2))]
    lengths = [scalar.at(scalar.GRADIENT, *point).dot(scalar.at(scalar.GRADIENT, *point)) for point in points]
    evidence.exact(
        r"$\|\nabla_{\mathrm{inv}}L\|^2$ at two points of one orbit",
        lengths[0] == lengths[1],
        counterexample=r"$L = \frac12(qk-1)^2$ at $(1,2)$ and $(4,\frac12)$, where $qk = 2$: $5$ and $\frac{65}4$",
        figures={"squared lengths": [str(x) for x in lengths]},
    )
    evidence.proof(
        "for every size: subtracting Sylvester's vertical vector leaves nothing along the orbit",
        proves(projection.prove_sylvester),
        on="condition",
    )
    worst, weakest, cases = 0.0, 1.0, 0
    for layer, seed in drawn_layers("plain", "shared"):
        general = random_element(layer, seed, 30)
        order = torch.arange(layer.heads)
        a, c = (torch.linalg.qr(x).Q for x in (general.query_key, general.value_output))
        for element, orthogonal in ((GaugeElement(a, c, order), True), (general, False)):
            moved = apply(layer, element)
            carried = apply(gradient_of(layer, seed), element)
            there = project_gradient(moved, gradient_of(moved, seed)).horizontal
            apart = there.distance(carried) / there.norm()
            worst, weakest = (max(worst, apart), weakest) if orthogonal else (worst, min(weakest, apart))
        cases += 1
    evidence.numeric(
        "under orthogonal elements the projected gradient is carried along, on random layers",
        on="condition",
        figures={"difference": at_most(worst, 1e-11)},
        cases=cases,
    )
    evidence.control("under general elements", figures={"difference": at_least(weakest, 1e-2)})


@checks("prop-E.8")
def test_natural_gradient(evidence: EvidenceLog) -> None:
    biased = Architecture(d_model=3, heads=1, d_k=2, d_v=2, context=3, query_bias=True, key_bias=True, **ALONE)
    found = account(biased)
    gauge = biased.heads * (biased.d_k**2 + biased.d_v**2)
    evidence.exact(
        r"the metric on $\Theta/G_{\max}$ is definite: the exact nullity of the map $\theta\mapsto f$ is "
        r"$\dim G_{\max}$",
        found.fibre.nullity == gauge,
        counterexample=r"one head with $d = 3$, $d_k = d_v = 2$ and query and key biases: nullity 10, not 8. Along "
        r"$b_K$ the "
        r"function does not change, so $F$ vanishes there, and no element of $G_{\max}$ moves $b_K$ alone",
        figures={"nullity": found.fibre.nullity, "gauge": gauge, "primes": list(found.fibre.primes)},
    )
    slope = sp.Matrix([scalar.k, scalar.q])
    fisher = slope * slope.T
    evidence.proof("$Fv = 0$ on the scalar model", is_zero(fisher * scalar.VERTICAL), on="condition")
    evidence.proof("$F$ has no inverse there", sp.expand(fisher.det()) == 0, on="condition")
    natural = sp.simplify(scalar.natural_product_velocity() + scalar.PRODUCT - 1)
    evidence.proof(r"with $F^\dagger$: $\dot m = -(m-1)$, a function of $m = qk$", natural == 0, on="condition")
    damping = sp.Symbol("lambda", positive=True)
    damped = -(slope.T * (fisher + damping * sp.eye(2)).inv() * scalar.GRADIENT)[0]
    values = [sp.simplify(damped.subs({scalar.q: x, scalar.k: 2 / x})) for x in (1, 4)]
    evidence.control(
        r"damping, $F+\lambda I$: the velocity at $(1,2)$ and $(4,\frac12)$ differs",
        sp.simplify(values[0] - values[1]) != 0,
        kind="exact",
    )
    sizes = ((4, 2, 2, 3), (5, 2, 3, 2), (5, 3, 1, 2))
    dimensions, gaps, seen_by_softmax = [], [], []
    for seed, (d, h, d_k, d_v) in enumerate(sizes):
        a = Architecture(d_model=d, heads=h, d_k=d_k, d_v=d_v, context=4, **ALONE)
        roles = random_parameters(a, seed)
        jacobian = reference_jacobian(a, roles, random_inputs(a, seed, batch=30, length=4))
        found = rank_with_gap(jacobian)
        dimensions.append(jacobian.shape[1] - found.rank)
        gaps.append(found.gap)
        outputs = jacobian.unflatten(0, (-1, d))
        centred = (outputs - outputs.mean(1, keepdim=True)).flatten(0, 1)
        seen_by_softmax.append(jacobian.shape[1] - rank_with_gap(centred).rank)
    evidence.numeric(
        r"nullity of $F = J^\top J$ (normal law around the outputs, random inputs of four tokens) for bias-free "
        r"attention, from the singular values of $J$: $h(d_k^2+d_v^2)$, so $F$ is definite across the orbits",
        on="condition",
        figures={
            "nullities": equal(dimensions, [h * (d_k**2 + d_v**2) for _, h, d_k, d_v in sizes]),
            "least gap": at_least(min(gaps), 1e4),
        },
        cases=len(sizes),
    )
    more = [soft - whole for soft, whole in zip(seen_by_softmax, dimensions, strict=True)]
    single = Architecture(d_model=4, heads=2, d_k=2, d_v=3, context=1, **ALONE)
    short = reference_jacobian(single, random_parameters(single, 0), random_inputs(single, 0, batch=30, length=1))
    evidence.control(
        r"softmax of the outputs as $p(\cdot|x,\theta)$, which does not see what it adds to all outputs alike, "
        r"$W_O+c\mathbf 1^\top$; and inputs of one token: more is degenerate than the gauge",
        figures={
            "more with softmax": at_least(min(more), 1),
            "more with one token": at_least(short.shape[1] - rank_with_gap(short).rank - dimensions[0], 1),
        },
    )
    layer = random_attention(5, 2, 2, 3, seed=2)
    broken = layer.replace(key=layer.key * 1.1)
    evidence.control(
        "a direction outside the gauge", figures={"change": at_least(relative_change_of_outputs(layer, broken), 1e-3)}
    )
