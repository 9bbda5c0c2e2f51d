"""The gradient and the orbits: Proposition E.3 and §5.2; paths exp(tX), (79)–(81)."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import sympy as sp
from hypothesis import strategies as st

from proofs_checks.gauge.algebra import projection
from proofs_checks.gauge.algebra import scalar_model as model
from proofs_checks.gauge.critical_points import Loss, gauge_path, gradient_orthogonality, loss_along, squared_loss
from proofs_checks.gauge.landscape_losses import CriticalLayer, any_function_of_products
from proofs_checks.support.algebra.group import GaugeElement, act
from proofs_checks.support.attention_points import general_layer, one_orbit
from proofs_checks.support.explicit_attention import same
from proofs_checks.support.small_architectures import ALONE
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, for_all
from symgauge.models.reference import random_parameters
from symgauge.numeric import measure_invariance, random_inputs
from symgauge.numeric.invariance import function_of
from symgauge.parameter_vector import ParameterVector
from symgauge.profiles import scale
from symgauge.symbolic.identities import d, d_k, d_v, matrix
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import prove_equal


@checks("prop-E.3", "sec5-2")
def test_gradient_is_orthogonal(evidence: EvidenceLog) -> None:
    general = any_function_of_products(2, 2)
    evidence.proof(
        r"every differentiable loss of the products, derivatives as letters (two heads, $d = 2$, $d_k = 1$)",
        sp.expand((general.gradient().T * general.vertical)[0]) == 0,
    )
    decay = sp.Symbol("λ", positive=True)
    regularised = model.LOSS + decay / 2 * (model.q**2 + model.k**2)
    along = sp.expand(sum(regularised.diff(p) * v for p, v in zip((model.q, model.k), model.VERTICAL, strict=True)))
    evidence.control(
        r"with weight decay: $\frac12(qk-1)^2+\frac\lambda2(q^2+k^2)$ has $\langle\nabla L,(q,-k)\rangle = "
        r"\lambda(q^2-k^2)$, $-3$ at $(1,2)$ with $\lambda = 1$",
        model.at(along, 1, 2).subs(decay, 1) == -3,
        kind="exact",
    )
    w_v, w_o, e = matrix("W_V", d, d_v), matrix("W_O", d_v, d), matrix("E", d, d)
    evidence.proof(
        r"for every size: with $E = \partial L/\partial M$, $F = \partial L/\partial N$, $W_Q^\top(EW_K)-(E^\top "
        r"W_Q)^\top W_K = 0$ and $W_V^\top(FW_O^\top)-(W_V^\top F)W_O^\top = 0$, the inner products with all "
        r"generators",
        proves(projection.prove_gradient_is_horizontal)
        and proves(lambda: prove_equal(w_v.T * (e * w_o.T) - (w_v.T * e) * w_o.T, sp.ZeroMatrix(d_v, d_v))),
    )
    rng = Random(2)
    weights, slope = (general_matrix(4, 2, rng), general_matrix(4, 2, rng)), general_matrix(4, 4, rng)
    pairing = projection.pairing(weights, (slope * weights[1], slope.T * weights[0]))
    evidence.exact("the same at general rational matrices, $d = 4$, $d_k = 2$", is_zero(pairing))
    found = [CriticalLayer.of(Architecture(*size, context=3, **ALONE), seed) for seed in range(scale(3, 10))
             for size in ((4, 2, 2, 1), (5, 2, 1, 3))]  # fmt: skip
    cosines = [gradient_orthogonality(c.loss, c.away, c.away_vectors) for c in found]
    decayed = [gradient_orthogonality(_with_decay(c), c.away, c.away_vectors) for c in found]
    evidence.numeric(
        r"softmax layers in float64, $|\langle\nabla L, v\rangle|/\|\nabla L\|\|v\|$, the largest over all generators",
        figures={"largest": at_most(max(c.worst for c in cosines), 1e-13)},
        cases=len(cosines),
    )
    evidence.control(
        "the same layers with weight decay, and random directions",
        figures={
            "with decay": at_least(min(c.worst for c in decayed), 1e-3),
            "random": at_least(min(c.random for c in cosines), 1e-3),
        },
    )


def _with_decay(c: CriticalLayer) -> Loss:
    return lambda theta: c.loss(theta) + 0.05 * theta.square().sum()


@checks("eq-79..81")
def test_paths_of_exponentials(evidence: EvidenceLog) -> None:
    w_q, w_k, w_v, w_o = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("W_V", d, d_v), matrix("W_O", d_v, d)
    a, c = matrix("e^{tX}", d_k, d_k), matrix("e^{tY}", d_v, d_v)
    evidence.proof(
        r"for every size and $t$, with $(e^{tX})^{-1} = e^{-tX}$: $M$ and $N$ stay",
        proves(lambda: prove_equal(w_q * a * (w_k * a.I.T).T, w_q * w_k.T))
        and proves(lambda: prove_equal(w_v * c * (c.I * w_o), w_v * w_o)),
    )
    t = sp.Symbol("t", real=True)
    shear, turn = sp.Matrix([[0, t], [0, 0]]), sp.Matrix([[0, -t], [t, 0]])
    inverse = all(is_zero((x.exp() * (-x).exp() - sp.eye(2)).applyfunc(sp.simplify)) for x in (shear, turn))
    evidence.proof(r"$e^{tX}e^{-tX} = I$ for a nilpotent and a skew $X$, symbolic $t$", inverse)
    point = general_layer(2, 2, 2, 2, seed=6)
    x, y = sp.Matrix([[1, -1], [1, -1]]), sp.Matrix([[2, -4], [1, -2]])  # both square to zero: e^{tX} = I + tX
    steps = [act(point, _both(sp.eye(2) + s * x, sp.eye(2) + s * y)) for s in (-3, 7)]
    evidence.exact(
        r"nilpotent $X$, $Y$, at $t = -3, 7$: equal functions over $\mathbb Q(e)$",
        all(same(point, s, tokens=3, cases=1) and one_orbit(point, s) and s != point for s in steps),
        cases=2,
    )
    half = replace(point, w_q=act(point, _both(sp.eye(2) + x, sp.eye(2))).w_q)
    evidence.control("$W_Q$ moved alone", not same(point, half, tokens=3, cases=1), kind="exact")
    record_float_paths(evidence)


def _both(a: sp.Matrix, c: sp.Matrix) -> GaugeElement:
    """The same A and the same C in both of two heads."""
    return GaugeElement((sp.ImmutableMatrix(a),) * 2, (sp.ImmutableMatrix(c),) * 2, (0, 1))


def record_float_paths(evidence: EvidenceLog) -> None:
    """Random X, Y in every head, in float64: the function, and the loss against another layer's outputs."""
    sizes = Architecture(5, 2, 3, 2, context=3, **ALONE)
    flat, moved = ParameterVector.of(sizes), []

    def keeps(seed: int, time: float) -> bool:
        roles, x = random_parameters(sizes, seed), random_inputs(sizes, seed)
        path = gauge_path(sizes, roles, seed)
        moved.append(float((flat.join(path(time)) - flat.join(roles)).norm() / flat.join(roles).norm()))
        return measure_invariance(sizes, roles, lambda _r, e: e, path(time), x).holds

    paths = evidence.property(
        "drawn layers, directions and times: the function changes by no more than rounding explains",
        for_all(keeps, seed=st.integers(0, 999), time=st.floats(0.5, 2.0)),
        figures={"smallest relative distance": at_least(min(moved), 1e-2)},
    )
    spreads, slopes = [], []
    for seed in range(scale(3, 12)):
        roles, x = random_parameters(sizes, seed), random_inputs(sizes, seed)
        loss = squared_loss(sizes, x, function_of(sizes, x)(random_parameters(sizes, seed + 50)))
        path = gauge_path(sizes, roles, seed)
        spreads.append(loss_along(loss, flat, path, [0.0, 0.5, 1.0, 1.5]))
        end = path(1.0)
        chord = lambda t, start=roles, end=end: {k: start[k] + t * (end[k] - start[k]) for k in start}  # noqa: E731
        slopes.append(loss_along(loss, flat, chord, [0.0, 0.5, 1.0]))
    losses = evidence.numeric(
        "relative spread of the loss along the paths, $t = 0, \\frac12, 1, \\frac32$",
        figures={"spread": at_most(max(spreads), 1e-12)},
        cases=len(spreads),
    )
    evidence.control(
        "along the straight segment between the same ends",
        figures={"spread": at_least(min(slopes), 1e-3)},
        of=[paths, losses],
    )
