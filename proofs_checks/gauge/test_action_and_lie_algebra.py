"""The action and its Lie algebra (Lemmas B.1, B.3), and the curvature of a loss along it (Proposition 5.1)."""

from __future__ import annotations

from functools import partial
from itertools import permutations
from typing import Any

import sympy as sp
import torch
from hypothesis import strategies as st

from proofs_checks.gauge.algebra import projection
from proofs_checks.gauge.critical_points import hessian_nullity, kernel_residual, squared_loss
from proofs_checks.gauge.landscape_losses import quadratic_loss
from proofs_checks.support.algebra import linearised
from proofs_checks.support.attention_biases import record_more_with_biases
from proofs_checks.support.bare_attention import record_more_than_bare_attention
from proofs_checks.support.census import census
from proofs_checks.support.exact_function import ExactFunction, Roles
from proofs_checks.support.group_elements import head_element
from proofs_checks.support.small_architectures import ALONE
from proofs_checks.support.symbolic_evidence import is_zero, proves, record_identity
from symgauge import strategies as sg
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal, for_all
from symgauge.models.reference import ReferenceModel, random_parameters
from symgauge.numeric import (
    assert_changes,
    fibre_dimension_float,
    function_of,
    generators,
    measure_invariance,
    random_inputs,
)
from symgauge.parameter_vector import ParameterVector
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.identities import d, d_v, matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.tangent import Attention, random_attention
from symgauge.symmetries.catalogue.query_key import QueryKey
from symgauge.symmetries.catalogue.value_output import ValueOutput

NO_BIAS: dict[str, Any] = dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias"), False)


def permuted(roles: Roles, order: tuple[int, ...]) -> Roles:
    return {name: x.index_select(0, torch.tensor(order)) for name, x in roles.items()}


@checks("lem-B.1")
def test_invariance(evidence: EvidenceLog) -> None:
    for name in ("query_key", "scaled_softmax", "value_output"):
        record_identity(evidence, name)
    a = Architecture(5, 3, 2, 4, context=3, **ALONE)
    function = ExactFunction(a)
    orders = list(permutations(range(3)))
    evidence.exact(
        r"over GF(p): integer elements of determinant $-1$, then each permutation of the heads",
        all(function.keeps(permuted(head_element(a, function.roles, i), order)) for i, order in enumerate(orders)),
        cases=len(orders),
        figures={"primes": [2147483579], "seed": 0},
    )
    evidence.control(
        r"$A^{-1}$ in place of $A^{-\top}$",
        not function.keeps(partial(head_element, a, wrong_inverse=True)),
        kind="exact",
    )
    values = {k: x for k, x in permuted(function.roles, (1, 2, 0)).items() if "value" in k}
    evidence.control("values permuted alone", not function.keeps(values), kind="exact")
    worst, weakest = 0.0, 1.0

    def keeps(a: Architecture, seed: int) -> bool:
        nonlocal worst, weakest
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        order = tuple(torch.randperm(a.heads, generator=torch.Generator().manual_seed(seed)).tolist())
        found = measure_invariance(a, roles, lambda r, s: permuted(head_element(a, r, s), order), seed, x)
        worst = max(worst, found.ratio)
        wrong = head_element(a, roles, seed, wrong_inverse=True)
        weakest = min(weakest, assert_changes(a, roles, wrong, x, margin=1e-6))
        return found.holds

    fixed: dict[str, Any] = {"attention": "softmax", "rotary": None, "groups": 0, "residual": False}
    drawn = sg.architectures(kinds=["attention"], max_parameters=300, max_layers=1, **fixed, **NO_BIAS)
    run = for_all(keeps, a=drawn, seed=st.integers(0, 999))
    evidence.property(
        "drawn layers and elements in float64", run, figures={"largest observed / allowed": at_most(worst, 1.0)}
    )
    evidence.control(r"$A^{-1}$ for $A^{-\top}$ on drawn layers", figures={"smallest change": at_least(weakest, 1e-6)})


@checks("lem-B.3", "abs-5")
def test_lie_algebra(evidence: EvidenceLog) -> None:
    general = random_attention(d=4, d_k=2, d_v=2, groups=range(2), seed=3)
    silent = Attention(general.w_q, general.w_k, general.w_v, (sp.zeros(2, 4), general.w_o[1]), general.groups)
    equal_heads = Attention(
        (general.w_q[0],) * 2, (general.w_k[0],) * 2, general.w_v, general.w_o, general.groups
    )  # fmt: skip
    extra = [
        lie.characterise(p, [lie.query_key_generators(p), lie.value_output_generators(p)]).unexplained
        for p in (silent, equal_heads)
    ]
    stacked = [sp.Matrix.hstack(general.w_q[i], general.w_k[i]).rank() == 4 for i in range(2)]
    evidence.exact(
        r"at every point of $\Theta_0$ the kernel of the derivative is $\mathfrak g_{\max}$",
        not all(stacked) or extra == [0, 0],
        counterexample=r"$d = 4$, $h = 2$, $d_k = d_v = 2$, general rational weights but $W_{O,1} = 0$: then $\delta "
        r"W_V^{(1)}$, "
        r"$\delta W_Q^{(1)}$, $\delta W_K^{(1)}$ are free; likewise with $M_1 = M_2$, where $N_1+N_2$ alone is seen",
        figures={"directions outside": extra},
        cases=2,
    )
    canonical = Architecture(4, 2, 1, 2, context=3, **ALONE)
    record_more_with_biases(evidence, canonical, lambda a: a.heads * (a.d_k**2 + a.d_v**2))
    record_more_than_bare_attention(evidence, only="abs-5")
    steps = (
        linearised.prove_score_derivative,
        linearised.prove_perpendicular_part_vanishes,
        linearised.prove_key_follows_query,
        linearised.prove_value_output,
        lie.prove_tangency,
        lie.prove_bracket_closure,
    )
    evidence.proof(
        r"for every size: $\delta(W_QW_K^\top) = 0$ and $\delta(W_VW_O) = 0$ with full ranks give $\delta W_Q = "
        r"W_QX$, $\delta "
        r"W_K = -W_KX^\top$, $\delta W_V = W_VY$, $\delta W_O = -YW_O$; these are tangent and closed under the bracket",
        all(proves(step) for step in steps),
        on="condition",
    )
    points = [general, random_attention(d=5, d_k=3, d_v=1, groups=range(3), seed=4)]
    results = [lie.characterise(p, [lie.query_key_generators(p), lie.value_output_generators(p)]) for p in points]
    evidence.exact(
        "the linear conditions solved over the rationals at general points",
        all(r.inside and r.free for r in results),
        on="condition",
        figures={"unexplained": equal([r.unexplained for r in results], [0, 0])},
        cases=2,
    )
    layers = [Architecture(w, h, k, v, context=3, **ALONE) for w, h, k, v in ((4, 2, 3, 1), (6, 2, 1, 4), (5, 3, 2, 4))]
    found = census(layers, lambda a: a.heads * (a.d_k**2 + a.d_v**2))
    evidence.exact(
        "the exact kernel of the softmax layer's own Jacobian, nothing unexplained",
        on="condition",
        figures=found.figures,
        cases=found.cases,
    )
    measured = fibre_dimension_float(ReferenceModel(layers[0], seed=1), random_inputs(layers[0], 1, batch=30))
    evidence.numeric(
        "float64 singular values with a gap",
        on="condition",
        figures={"nullity": equal(measured.nullity, 20), "gap": at_least(measured.singular.gap, 1e4)},
    )
    evidence.control("with $W_{O,1} = 0$ there is more", kind="exact", figures={"outside": at_least(extra[0], 1)})


@checks("prop-5.1")
def test_hessian(evidence: EvidenceLog) -> None:
    q, k = sp.symbols("q k", real=True)
    value, vertical = sp.Function("ℓ")(q * k), sp.Matrix([q, -k])
    gradient = sp.Matrix([value.diff(q), value.diff(k)])
    turned = sp.Matrix([-gradient[0], gradient[1]])  # minus the generator's own derivative, applied to the gradient
    image = sp.hessian(value, (q, k)) * vertical
    w_v, w_o, f = matrix("W_V", d, d_v), matrix("W_O", d_v, d), matrix("F", d, d)
    evidence.proof(
        r"for every size and at every point $\langle\nabla L, v\rangle = 0$ for all generators $v = X\theta$ (with $E "
        r"= "
        r"\partial L/\partial M$, $F = \partial L/\partial N$: $W_Q^\top(EW_K) = (E^\top W_Q)^\top W_K$, "
        r"$W_V^\top(FW_O^\top) = (W_V^\top F)W_O^\top$); its derivative is $Hv+X^\top\nabla L = 0$, so $Hv = 0$ where "
        r"$\nabla L = 0$",
        proves(projection.prove_gradient_is_horizontal)
        and proves(lambda: prove_equal(w_v.T * (f * w_o.T), (w_v.T * f) * w_o.T)),
    )
    evidence.proof(
        r"one head, $d = d_k = 1$, every loss $\ell(qk)$: $H\,(q,-k)^\top = (-\partial_q\ell, \partial_k\ell)^\top$, "
        r"zero exactly at "
        r"critical "
        r"points",
        is_zero((image - turned).doit()),
    )
    record_rational_hessians(evidence)
    record_float_hessians(evidence)


def record_rational_hessians(evidence: EvidenceLog) -> None:
    """The Hessian of ½‖W_Q W_Kᵀ − M*‖² at rational critical points (a minimum, a saddle), and elsewhere."""
    general = random_attention(d=3, d_k=2, d_v=1, groups=(0,), seed=6)
    minimum = (general.w_q[0], general.w_k[0], general.w_q[0] * general.w_k[0].T)
    second = sp.Matrix([0, 1, 0])
    saddle = (2 * second, second, sp.diag(3, 2, 1))  # a critical point with a lower one beside it
    elsewhere = (second, second, sp.diag(3, 2, 1))
    ranks, inside, negative = [], [], []
    for left, right, target in (minimum, saddle, elsewhere):
        loss, w_q, w_k = quadratic_loss(target, left.cols)
        symbols = [*w_q, *w_k]
        at = dict(zip(symbols, [*left, *right], strict=True))
        hessian = sp.hessian(loss, symbols).subs(at)
        units = lie.matrix_units(left.cols)
        directions = [sp.Matrix([*(left * unit), *(-right * unit.T)]) for unit in units]
        inside.append(all(is_zero(hessian * v) for v in directions))
        critical = is_zero(sp.Matrix([loss.diff(symbol) for symbol in symbols]).subs(at))
        ranks.append((critical, hessian.rows - hessian.rank()))
        negative.append(any(float(sp.re(sp.N(e))) < -1e-9 for e in hessian.eigenvals(rational=False)))
    evidence.exact(
        r"$\frac12\|W_QW_K^\top-M^*\|^2$ at rational critical points, a minimum ($d = 3$, $d_k = 2$) and a saddle "
        r"($d_k = "
        r"1$): every generator is in the kernel of the Hessian",
        inside[:2] == [True, True] and ranks[0][0] and ranks[1][0] and negative[1],
        figures={
            "kernel at the minimum": equal(ranks[0][1], 4),
            "kernel at the saddle": at_least(ranks[1][1], 1),
        },
        cases=2,
    )
    evidence.control(
        "at a point that is not critical the generator is not in the kernel",
        not inside[2] and not ranks[2][0],
        kind="exact",
    )


def record_float_hessians(evidence: EvidenceLog) -> None:
    """Softmax attention with teacher = student: an exact critical point in float64."""
    residuals, others, away, nullity, expected = [], [], [], [], []
    for seed, (w, h, k, v) in enumerate(((4, 2, 2, 1), (3, 2, 1, 2))):
        a = Architecture(w, h, k, v, context=3, **ALONE)
        roles, x, flat = random_parameters(a, seed), random_inputs(a, seed, batch=30), ParameterVector.of(a)
        loss, theta = squared_loss(a, x, function_of(a, x)(roles)), flat.join(roles)
        vectors = torch.cat([generators(family, a, roles) for family in (QueryKey(), ValueOutput())])
        noise = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        residuals.append(kernel_residual(loss, theta, vectors))
        others.append(kernel_residual(loss, theta, noise))
        nullity.append(hessian_nullity(loss, theta).dimension)
        expected.append(a.heads * (a.d_k**2 + a.d_v**2))
        other = random_parameters(a, seed + 10)
        moved = torch.cat([generators(family, a, other) for family in (QueryKey(), ValueOutput())])
        away.append(kernel_residual(loss, flat.join(other), moved))
    evidence.numeric(
        "attention layers, teacher = student: the generators are in the kernel, and the kernel has just that dimension",
        figures={
            "largest residual": at_most(max(residuals), 1e-12),
            "nullity": equal(nullity, expected),
            "random directions": min(others),
        },
        cases=2,
    )
    evidence.control("random directions", figures={"residual": at_least(min(others), 1e-3)})
    evidence.control("the generators away from critical points", figures={"residual": at_least(min(away), 1e-6)})
