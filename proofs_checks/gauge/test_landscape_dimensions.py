"""Hessian kernels (§1), degrees of freedom (§5.2) and manifolds of critical points (§5.3)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from random import Random

import sympy as sp
import torch

from proofs_checks.gauge.critical_points import gauge_path, hessian, hessian_nullity, squared_loss
from proofs_checks.gauge.degenerate_critical_points import record_kernel_off_the_stratum
from proofs_checks.gauge.dimension_counts import BASE, BASE_LAYERS, GPT_3, GPT_3_LAYERS, gauge_dimension
from proofs_checks.gauge.landscape_losses import quadratic_loss
from proofs_checks.gauge.reported import BASE_PARAMETERS, GPT_3_PARAMETERS, TEXT
from proofs_checks.support.small_architectures import ALONE, BIASED
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.model_graph import graph_of
from symgauge.models.reference import random_parameters
from symgauge.numeric import function_of, random_inputs, rank_with_gap
from symgauge.parameter_vector import ParameterVector
from symgauge.presets import preset
from symgauge.symbolic.dimensions import gpt2_model, mha_biased
from symgauge.symbolic.identities import d, d_k, d_v, matrix
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import prove_equal


@checks("intro-5")
def test_hessian_kernel(evidence: EvidenceLog) -> None:
    q, k = sp.symbols("q k", real=True)
    scalar = sp.hessian((q * k - 1) ** 2 / 2, (q, k))
    away, minimum = ({q: 1, k: 2}, {q: 2, k: sp.Rational(1, 2)})
    evidence.exact(
        "the Hessian has the zero eigenvalue that one head with $d = d_k = 1$ should give",
        scalar.subs(away).det() == 0,
        counterexample=r"$\tfrac12(qk-1)^2$ at $(1,2)$: $\begin{pmatrix}4&3\\3&1\end{pmatrix}$, determinant $-5$",
    )
    evidence.exact(
        r"at the critical point $(2,\tfrac12)$ it has, with eigenvector $(q,-k)$",
        is_zero(scalar.subs(minimum) * sp.Matrix([q, -k]).subs(minimum)) and scalar.subs(minimum).rank() == 1,
        on="condition",
    )
    record_kernel_off_the_stratum(evidence)
    record_float_hessians_on_condition(evidence)
    a = Architecture(4, 2, 1, 2, context=3, **ALONE, **BIASED)
    roles, x = random_parameters(a, 1), random_inputs(a, 1, batch=30)
    matrix = hessian(squared_loss(a, x, function_of(a, x)(roles)), ParameterVector.of(a).join(roles))
    found = len(matrix) - rank_with_gap(matrix, 1e3).rank
    evidence.numeric(
        "with biases the kernel is larger than the number named",
        on="condition",
        figures={
            "nullity": equal(found, mha_biased().at(h=2, d_k=1, d_v=2)),
            "at least": at_least(found, gauge_dimension(2, 1, 2)),
        },
    )
    elsewhere = ParameterVector.of(a).join(random_parameters(a, 8))
    away_from_it = hessian(squared_loss(a, x, function_of(a, x)(roles)), elsewhere)
    evidence.control(
        "with biases, at a random point of the same loss there are fewer",
        figures={"zero eigenvalues": at_most(len(matrix) - rank_with_gap(away_from_it, 1e3).rank, found - 1)},
    )


def record_float_hessians_on_condition(evidence: EvidenceLog) -> None:
    """Teacher = student for attention without biases: the number of zero eigenvalues, cut at a gap."""
    nullity, expected, away = [], [], []
    for seed, (w, h, k, v) in enumerate(((4, 2, 1, 2), (3, 1, 2, 2))):
        a = Architecture(w, h, k, v, context=3, **ALONE)
        roles, x, flat = random_parameters(a, seed), random_inputs(a, seed, batch=30), ParameterVector.of(a)
        loss = squared_loss(a, x, function_of(a, x)(roles))
        nullity.append(hessian_nullity(loss, flat.join(roles)).dimension)
        expected.append(gauge_dimension(h, k, v))
        sizes = torch.linalg.svdvals(hessian(loss, flat.join(random_parameters(a, seed + 7))))
        away.append(int((sizes < 1e-10 * sizes[0]).sum()))
    evidence.numeric(
        "attention layers, teacher = student: zero eigenvalues at a gap",
        on="condition",
        figures={"nullity": equal(nullity, expected)},
        cases=len(nullity),
    )
    evidence.control(
        "at random points of the same losses there are fewer",
        figures={"zero eigenvalues": equal([n < e for n, e in zip(away, expected, strict=True)], [True, True])},
    )
    a = Architecture(4, 2, 1, 2, context=3, **ALONE)
    few, outputs = [], []
    for batch in (1, 2):
        roles, x, flat = random_parameters(a, 0), random_inputs(a, 0, batch=batch), ParameterVector.of(a)
        loss = squared_loss(a, x, function_of(a, x)(roles))
        few.append(hessian_nullity(loss, flat.join(roles)).dimension)
        outputs.append(x.numel())  # the Hessian is JᵀJ there, with a row of J for each output
    evidence.control(
        "one training sequence or two, the same layer and an exact critical point: there are more",
        figures={
            "nullity": few,
            "fewest": at_least(min(few), gauge_dimension(2, 1, 2) + 1),
            "parameters less outputs": [len(flat.join(roles)) - n for n in outputs],
        },
    )


@checks("sec5-5")
def test_degrees_of_freedom(evidence: EvidenceLog) -> None:
    models = {
        "base": (BASE, BASE_LAYERS, BASE_PARAMETERS),
        "GPT-3": (GPT_3, GPT_3_LAYERS, GPT_3_PARAMETERS),
    }
    left = {
        name: float(1 - Fraction(layers * gauge_dimension(*sizes[:3]), total))
        for name, (sizes, layers, total) in models.items()
    }
    said = TEXT.quote("the true degrees of freedom are substantially fewer than the raw parameter count")
    elsewhere = TEXT.quote("representing 1.1% of total parameters. While modest as a percentage")
    evidence.audit(
        r"§7.1 gives the same reduction, $\dim_{eff}$ for the base model, and does not call it modest",
        f"{100 * (1 - left['base']):.1f}%" not in elsewhere or "modest" not in elsewhere,
        figures={"§5.2": f"… {said[9:]}", "§7.1": f"… {elsewhere}"},
    )
    evidence.control(
        "the same words of GPT-3, whose share is another",
        f"{100 * (1 - left['GPT-3']):.1f}%" not in elsewhere,
        kind="audit",
    )
    gpt2 = preset("gpt2")
    known = gpt2_model(tied=True).at(
        h=gpt2.heads, d=gpt2.d_model, d_k=gpt2.d_k, d_v=gpt2.d_v, d_ff=gpt2.d_ff, L=gpt2.layers, n_ctx=gpt2.context
    )
    whole = 1 - known / graph_of(gpt2).parameters
    evidence.audit(
        "the shares, and that of GPT-2 small with every known symmetry",
        on="correction",
        figures={
            "base": equal(round(100 * left["base"], 1), 98.9),
            "GPT-3": equal(round(100 * left["GPT-3"], 1), 99.8),
            "GPT-2 small, all symmetries": equal(round(100 * whole, 1), 98.9),
        },
    )


@checks("sec5-6")
def test_manifolds_of_critical_points(evidence: EvidenceLog) -> None:
    rng = Random(8)
    q, k = general_matrix(4, 2, rng), general_matrix(4, 2, rng)
    loss, *factors = quadratic_loss(q * k.T + sp.zeros(4), 2)
    symbols = [entry for factor in factors for entry in factor]
    gradient = sp.Matrix([loss.diff(s) for s in symbols])

    def at(left: sp.Matrix, right: sp.Matrix) -> sp.Matrix:
        return gradient.subs(dict(zip(symbols, [*left, *right], strict=True)))

    elements = [general_matrix(2, 2, rng) for _ in range(3)]
    evidence.exact(
        r"$\tfrac12\|W_QW_K^\top-M\|^2$ at a rational minimum: the gradient vanishes on the whole orbit, at general "
        r"$A$ of negative determinant",
        all(is_zero(at(q * a, k * a.inv().T)) for a in elements),
        cases=len(elements),
    )
    evidence.control("both factors moved by $A$", not is_zero(at(q * elements[0], k * elements[0])), kind="exact")
    w_q, w_k, w_v, w_o = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("W_V", d, d_v), matrix("W_O", d_v, d)
    a, m, e, f = matrix("A", d_k, d_k), matrix("C", d_v, d_v), matrix("E", d, d), matrix("F", d, d)
    evidence.proof(
        r"for every size: $E = \partial L/\partial M$ and $F = \partial L/\partial N$ are the same along an orbit, so "
        r"the "
        r"gradients there are $G_QA^{-\top}$, $G_KA$, $G_VC^{-\top}$ and $C^\top G_O$, which vanish where those at "
        r"$\theta$ do",
        all(
            proves(partial(prove_equal, *sides))
            for sides in (
                (e * (w_k * a.I.T), (e * w_k) * a.I.T),
                (e.T * (w_q * a), (e.T * w_q) * a),
                (f * (m.I * w_o).T, (f * w_o.T) * m.I.T),
                ((w_v * m).T * f, m.T * (w_v.T * f)),
            )
        ),
    )
    x, y, c = sp.symbols("x y c", positive=True)
    value = sp.Function("ℓ")(x * y)
    grad = sp.Matrix([value.diff(x), value.diff(y)])
    moved = grad.subs({x: c * x, y: y / c}, simultaneous=True).doit()
    evidence.proof(
        r"one head, $d = d_k = 1$, every loss $\ell(qk)$: $\nabla\ell(cq,k/c) = (\partial_q\ell/c,\ "
        r"c\,\partial_k\ell)$, so critical points "
        r"go to critical points",
        is_zero(moved - sp.Matrix([grad[0] / c, grad[1] * c])),
    )
    spread, gradients, off = [], [], []
    for seed in range(2):
        a = Architecture(4, 2, 2, 1, context=3, **ALONE)
        roles, inputs, flat = random_parameters(a, seed), random_inputs(a, seed, batch=20), ParameterVector.of(a)
        objective, path = squared_loss(a, inputs, function_of(a, inputs)(roles)), gauge_path(a, roles, seed)
        scale = float(slope(objective, flat.join(random_parameters(a, seed + 5))))
        points = [flat.join(path(t)) for t in (0.0, 0.5, 1.0)]
        gradients += [float(slope(objective, p)) / scale for p in points]
        spread.append(float((points[2] - points[0]).norm() / points[0].norm()))
        noise = torch.randn(points[0].shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        off.append(float(slope(objective, points[0] + spread[-1] * noise * points[0].norm() / noise.norm())) / scale)
    evidence.numeric(
        "attention with softmax, teacher = student: the gradient vanishes along $\\exp(tX)$ while parameters move",
        figures={
            "largest gradient, relative": at_most(max(gradients), 1e-10),
            "parameters moved by": at_least(min(spread), 0.1),
        },
        cases=len(gradients),
    )
    evidence.control("as far in a random direction", figures={"smallest gradient": at_least(min(off), 1e-3)})
    silent = Architecture(4, 2, 2, 1, context=3, **ALONE)
    base = random_parameters(silent, 9)
    zero = {n: torch.zeros_like(r) if n.endswith(("value.weight", "output.weight")) else r for n, r in base.items()}
    inputs = random_inputs(silent, 9)
    flat, objective = ParameterVector.of(silent), squared_loss(silent, inputs, torch.ones_like(inputs))
    other = {**zero, **{n: r + 1 for n, r in zero.items() if n.endswith(("query.weight", "key.weight"))}}
    found = [float(slope(objective, flat.join(r))) for r in (zero, other)]
    evidence.exact(
        r"where $W_V = W_O = 0$ in all heads the gradient is exactly zero for any $W_Q$, $W_K$",
        found == [0.0, 0.0],
        cases=2,
    )


def slope(loss: Callable[[torch.Tensor], torch.Tensor], theta: torch.Tensor) -> torch.Tensor:
    """Norm of the gradient."""
    point = theta.detach().clone().requires_grad_()
    return torch.autograd.grad(loss(point), point)[0].norm()
