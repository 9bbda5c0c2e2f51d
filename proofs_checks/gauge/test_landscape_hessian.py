"""The Hessian along gauge orbits: Proposition E.1 step by step, E.6, and Remark E.2."""

from __future__ import annotations

import sympy as sp
import torch

from proofs_checks.gauge.algebra import projection
from proofs_checks.gauge.critical_points import gradient_orthogonality, hessian, hessian_nullity, kernel_residual
from proofs_checks.gauge.landscape_losses import CriticalLayer, any_function_of_products, shared_key_loss
from proofs_checks.support.algebra import linearised
from proofs_checks.support.small_architectures import ALONE, BIASES
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.profiles import scale
from symgauge.symbolic.identities import matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts

SIZES = ((4, 2, 2, 1), (3, 2, 1, 2))
SADDLE = ((0, 2, 0, 0, 1, 0), sp.diag(3, 2, 1))
"""w = 2e_2, k = e_2 against T = diag(3, 2, 1): wkᵀ − T vanishes on e_2, so this is critical, and no minimum."""


def layers() -> list[CriticalLayer]:
    return [CriticalLayer.of(Architecture(*size, context=3, **ALONE), seed) for seed, size in enumerate(SIZES)]


@checks("prop-E.1a", "prop-E.1b")
def test_derivatives_along_the_orbit(evidence: EvidenceLog) -> None:
    first, second = "prop-E.1a", "prop-E.1b"
    general = any_function_of_products(2, 2)
    gradient, vertical = general.gradient(), general.vertical
    evidence.proof(
        r"for every twice differentiable $\ell(W_Q^{(1)}W_K^\top, W_Q^{(2)}W_K^\top)$, $d = 2$, $d_k = 1$, with all "
        r"derivatives of $\ell$ as letters: $\langle\nabla L, v\rangle = 0$ identically",
        sp.expand((gradient.T * vertical)[0]) == 0,
        only=first,
    )
    evidence.proof(
        r"for every size: $G_Q = EW_K$, $G_K = E^\top W_Q$ give $W_Q^\top G_Q-G_K^\top W_K = 0$, the inner products "
        r"with all generators",
        proves(projection.prove_gradient_is_horizontal),
        only=first,
    )
    curvature = (vertical.T * general.hessian() * vertical + gradient.T * general.generator**2 * sp.Matrix(
        general.parameters
    ))[0]  # fmt: skip
    evidence.proof(
        r"for every twice differentiable loss of the products of two heads, $d = 2$, $d_k = 1$ (derivatives of $\ell$ "
        r"as letters): $v^\top\nabla^2L\,v = -\langle\nabla L, X^2\theta\rangle$ identically, so zero where "
        r"$\nabla L = 0$",
        sp.expand(curvature) == 0,
        only=second,
    )
    point, target = SADDLE
    loss = shared_key_loss([target])
    slope, bend, v = (loss.at(x, point) for x in (loss.gradient(), loss.hessian(), loss.vertical))
    moved = [loss.at(sp.Matrix([loss.value]), [*(a * w for w in point[:3]), *(k / a for k in point[3:])]) for a in (
        sp.Integer(1), sp.Integer(-2), sp.Rational(3, 7))]  # fmt: skip
    elsewhere = (1, 2, 0, 3, 1, 1)
    slope_there, v_there = (loss.at(x, elsewhere) for x in (loss.gradient(), loss.vertical))
    evidence.exact(
        r"$\frac12\|W_QW_K^\top-T\|^2$ over ℚ: the same loss at $a = 1, -2, \frac37$, and $\langle\nabla L, v\rangle = "
        r"0$ also where $\nabla L\ne0$",
        moved[0] == moved[1] == moved[2] and (slope_there.T * v_there)[0] == 0 and not is_zero(slope_there),
        cases=4,
        only=first,
    )
    evidence.exact(
        r"at a rational saddle, where $\nabla^2L$ has eigenvalues of both signs, $v^\top\nabla^2Lv = 0$",
        is_zero(slope, v.T * bend * v) and _indefinite(bend),
        only=second,
    )
    away = (v_there.T * loss.at(loss.hessian(), elsewhere) * v_there)[0]
    evidence.control("at a point that is not critical", away != 0, kind="exact", only=second)
    found = layers()
    slopes = [gradient_orthogonality(c.loss, c.away, c.away_vectors) for c in found]
    evidence.numeric(
        r"softmax layers in float64: $|\langle\nabla L, v\rangle|/\|\nabla L\|\|v\|$, the largest over all generators",
        figures={"largest": at_most(max(s.worst for s in slopes), 1e-13)},
        cases=len(slopes),
        only=first,
    )
    evidence.control(
        "random directions", figures={"typical": at_least(min(s.random for s in slopes), 1e-3)}, only=first
    )
    bent = [_curvatures(c, c.theta, c.vectors) for c in found]
    away_bent = [_curvatures(c, c.away, c.away_vectors) for c in found]
    evidence.numeric(
        r"softmax layers at exact critical points: $|v^\top\nabla^2Lv|/\|\nabla^2L\|\|v\|^2$",
        figures={"largest": at_most(max(bent), 1e-13)},
        cases=len(found),
        only=second,
    )
    evidence.control(
        "the same away from critical points", figures={"largest": at_least(min(away_bent), 1e-4)}, only=second
    )


def _indefinite(matrix: sp.Matrix) -> bool:
    signs = {sp.sign(sp.re(sp.N(value))) for value in matrix.eigenvals(rational=True)}
    return {1, -1} <= {int(s) for s in signs}


def _curvatures(c: CriticalLayer, theta: torch.Tensor, vectors: torch.Tensor) -> float:
    matrix = hessian(c.loss, theta)
    values = torch.einsum("mi,ij,mj->m", vectors, matrix, vectors).abs()
    return float((values / vectors.square().sum(-1)).max() / torch.linalg.matrix_norm(matrix, 2))


@checks("prop-E.1c", "App-E.6")
def test_from_curvature_to_kernel(evidence: EvidenceLog) -> None:
    step, proof = "prop-E.1c", "App-E.6"
    x, y, t = sp.symbols("x y t", real=True)
    saddle = x**2 - y**2
    bend, v = sp.hessian(saddle, (x, y)), sp.Matrix([1, 1])
    constant = saddle.subs({x: t, y: t}, simultaneous=True)
    evidence.exact(
        "$v^\\top\\nabla^2Lv = 0$ on a line through a critical point, along which $L$ is even constant, puts the line "
        "in the kernel",
        not (constant == 0 and is_zero(v.T * bend * v)) or is_zero(bend * v),
        counterexample=r"$L = x^2-y^2$ along $(t,t)$: $L = 0$, $\nabla L(0) = 0$, $v^\top\nabla^2Lv = 0$ for $v = "
        r"(1,1)$, and $\nabla^2Lv = (2,-2)$",
        only=step,
    )
    general = any_function_of_products(2, 2)
    identity = (general.hessian() * general.vertical + general.generator.T * general.gradient()).expand()
    point, target = SADDLE
    loss = shared_key_loss([target])
    slope, matrix, tangent = (loss.at(e, point) for e in (loss.gradient(), loss.hessian(), loss.vertical))
    for claim_id, on in ((step, "correction"), (proof, "statement")):
        evidence.proof(
            r"$\nabla^2L\,v = -X^\top\nabla L$ identically, for every twice differentiable $\ell$ of the products "
            r"($d = 2$, $d_k = 1$, two heads, derivatives of $\ell$ as letters)",
            identity.is_zero_matrix,
            on=on,
            only=claim_id,
        )
        evidence.exact(
            r"at a rational saddle with an indefinite Hessian $\nabla^2L\,v = 0$",
            is_zero(slope, matrix * tangent) and _indefinite(matrix),
            on=on,
            only=claim_id,
        )
    evidence.proof(
        r"for every size: $W_QX = 0$ only for $X = 0$, $W_VY = 0$ only for $Y = 0$, so the tangent space has the "
        r"dimension of the group",
        proves(linearised.prove_freeness),
        only=proof,
    )
    stack = CriticalLayer.of(Architecture(3, 2, 2, 1, layers=2, context=3))
    found = [*layers(), stack]
    nullity = [hessian_nullity(c.loss, c.theta) for c in found]
    expected = [c.architecture.layers * c.architecture.heads * (c.architecture.d_k**2 + c.architecture.d_v**2)
                for c in found]  # fmt: skip
    evidence.numeric(
        "softmax layers and a stack of two, at exact critical points: generators in the kernel, independent, and "
        "$L\\,h(d_k^2+d_v^2)$ in number",
        figures={
            "residual": at_most(max(kernel_residual(c.loss, c.theta, c.vectors) for c in found), 1e-12),
            "generators": equal([int(torch.linalg.matrix_rank(c.vectors)) for c in found], expected),
            "nullity": equal([x.dimension for x in nullity], expected),
            "smallest gap": at_least(min(x.singular.gap for x in nullity), 1e3),
        },
        cases=len(found),
        only=proof,
    )
    evidence.numeric(
        "softmax layers and a stack of two, at exact critical points: generators are in the kernel",
        on="correction",
        figures={"residual": at_most(max(kernel_residual(c.loss, c.theta, c.vectors) for c in found), 1e-12)},
        cases=len(found),
        only=step,
    )
    evidence.control(
        "random directions, and generators away from critical points",
        figures={
            "random": at_least(min(kernel_residual(c.loss, c.theta, c.random_vectors()) for c in found), 1e-3),
            "away": at_least(min(kernel_residual(c.loss, c.away, c.away_vectors) for c in found), 1e-4),
        },
    )
    origin = torch.zeros_like(found[0].theta)
    still = found[0].generators_at(origin)
    evidence.control(
        r"at $\theta = 0$, a critical point outside of $\Theta_0$, the orbit is a point and generators span nothing",
        figures={
            "gradient": equal(float(torch.func.grad(found[0].loss)(origin).abs().max()), 0.0),
            "dimensions missing": at_least(expected[0] - int(torch.linalg.matrix_rank(still)), 1),
        },
        only=proof,
    )


@checks("rem-E.2")
def test_horizontal_hessian(evidence: EvidenceLog) -> None:
    size, vertical, horizontal = sp.symbols("P m r", integer=True, positive=True)
    full, v, u = matrix("H", size, size), matrix("V", size, vertical), matrix("U", size, horizontal)
    a, b, inverse = matrix("a", vertical, 1), matrix("b", horizontal, 1), matrix("K", horizontal, horizontal)
    facts = Facts(
        equations=((full * v, sp.ZeroMatrix(size, vertical)), (inverse * u.T * full * u, sp.Identity(horizontal)))
    )
    evidence.proof(
        r"for every size: with $HV = 0$ on vertical directions and $K(U^\top HU) = I$ on horizontal ones, "
        r"$KU^\top H(Va+Ub) = b$, so $H(Va+Ub) = 0$ only for $b = 0$: the kernel is the vertical space",
        proves(lambda: prove_equal(inverse * u.T * full * (v * a + u * b), b, facts)),
    )
    minimum = ((1, 2, 0, 3, 1, 1), sp.Matrix([1, 2, 0]) * sp.Matrix([[3, 1, 1]]))
    degenerate = (SADDLE[0], sp.diag(2, 2, 1))  # equal singular values: a critical plane turns
    ranks = {}
    for name, (point, target) in {"minimum": minimum, "saddle": SADDLE, "degenerate": degenerate}.items():
        loss = shared_key_loss([target])
        slope, bend, v = (loss.at(e, point) for e in (loss.gradient(), loss.hessian(), loss.vertical))
        basis = sp.Matrix.hstack(*v.T.nullspace())
        ranks[name] = (is_zero(slope, bend * v), (basis.T * bend * basis).rank(), 6 - bend.rank())
    evidence.exact(
        r"$\frac12\|W_QW_K^\top-T\|^2$, $d = 3$, $d_k = 1$, at a rational minimum: horizontal rank $5 = P-1$ and "
        r"nullity 1; at a saddle likewise, or neither",
        all(flat and (horizontal == 5) == (nullity == 1) for flat, horizontal, nullity in ranks.values()),
        figures={"minimum": equal(list(ranks["minimum"][1:]), [5, 1]), "saddle": list(ranks["saddle"][1:])},
        cases=3,
    )
    evidence.control(
        "where the horizontal Hessian is singular, the nullity is larger",
        figures={"nullity": at_least(ranks["degenerate"][2], 2)},
        kind="exact",
    )
    smallest, nullities, expected = [], [], []
    for c in [CriticalLayer.of(Architecture(*size, context=3, **ALONE), seed) for seed in range(scale(2, 8))
              for size in SIZES]:  # fmt: skip
        smallest.append(_horizontal(c))
        nullities.append(hessian_nullity(c.loss, c.theta).dimension)
        expected.append(c.architecture.heads * (c.architecture.d_k**2 + c.architecture.d_v**2))
    biased = CriticalLayer.of(Architecture(4, 2, 2, 1, context=3, **ALONE, **{k: v for k, v in BIASES.items() if k !=
                                                                              "ff_bias"}))  # fmt: skip
    evidence.numeric(
        "softmax layers at exact minima: smallest over largest eigenvalue on the horizontal space, and the nullity",
        figures={"smallest": at_least(min(smallest), 1e-9), "nullity": equal(nullities, expected)},
        cases=len(smallest),
    )
    evidence.control(
        "with biases the horizontal Hessian is singular: smallest over largest eigenvalue, below rounding",
        figures={"smallest": at_most(_horizontal(biased), 1e-13)},
    )


def _horizontal(c: CriticalLayer) -> float:
    """Smallest over largest absolute eigenvalue of the Hessian on the complement of the generators."""
    complement = torch.linalg.svd(c.vectors, full_matrices=True)[2][len(c.vectors) :]
    values = torch.linalg.eigvalsh(complement @ hessian(c.loss, c.theta) @ complement.mT).abs()
    return float(values.min() / values.max())
