"""Gradient flow and the quotient by the gauge group: Theorem E.4, §5.2."""

from __future__ import annotations

from random import Random

import sympy as sp

from proofs_checks.gauge.algebra import scalar_model as model
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, checks, equal
from symgauge.symbolic.identities import d, d_k, matrix
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts

q, k, t = model.q, model.k, sp.Symbol("t", real=True)


def gradient_flow_of_product(w_q: sp.MatrixSymbol, w_k: sp.MatrixSymbol) -> sp.MatrixExpr:
    """−dM/dt of M = W_Q W_Kᵀ under gradient flow, with E = ∂L/∂M: E W_K W_Kᵀ + W_Q W_Qᵀ E."""
    e = matrix("E", d, d)
    return e * w_k * w_k.T + w_q * w_q.T * e


@checks("thm-E.4a", "sec5-3")
def test_no_flow_on_the_quotient(evidence: EvidenceLog) -> None:
    half = sp.Rational(1, 2)
    speeds = [model.at(model.product_velocity(), *point) for point in ((1, 2), (half, 4))]
    evidence.exact(
        "equal functions move equally fast: $dm/dt$ of $m = qk$ at two points of one orbit",
        figures={"velocity": equal(str(speeds[0]), str(speeds[1]))},
        counterexample=r"$L = \frac12(qk-1)^2$: $(1,2)\sim(\frac12,4)$, both $m = 2$, yet $\dot m = -5$ and "
        r"$-\frac{65}4$",
    )
    w_q, w_k, o, a = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("O", d_k, d_k), matrix("A", d_k, d_k)
    here = gradient_flow_of_product(w_q, w_k)
    evidence.proof(
        r"for every size: $\dot M$ is the same at $(W_QO, W_KO)$ for orthogonal $O$",
        proves(lambda: prove_equal(gradient_flow_of_product(w_q * o, w_k * o), here, Facts(orthogonal=(o,)))),
        on="correction",
    )
    evidence.control(
        r"$\dot M$ at $(W_QA, W_KA^{-\top})$ for general $A$",
        not proves(lambda: prove_equal(gradient_flow_of_product(w_q * a, w_k * a.I.T), here)),
        kind="proof",
    )
    natural = sp.expand(model.natural_product_velocity() + model.PRODUCT - 1)
    evidence.proof(
        r"natural gradient on the scalar model: $\dot m = -(m-1)$, a function of $m$ alone",
        natural == 0,
        on="correction",
    )
    rng = Random(2)
    weights, element = (general_matrix(3, 2, rng), general_matrix(3, 2, rng)), general_matrix(2, 2, rng)
    moved = weights[0] * element, weights[1] * element.inv().T
    first, second = (jacobian_of_product(*pair) for pair in (weights, moved))
    evidence.exact(
        r"natural gradient moves $M$ by $-JF^+J^\top E$ with $F = J^\top J$, and $JF^+J^\top$, the projector on "
        r"the image of "
        r"$J = dM/d\theta$, is the same at $\theta$ and $\theta\cdot A$ ($d = 3$, $d_k = 2$, general rational $A$)",
        projector(first) == projector(second),
        on="correction",
    )
    evidence.control(
        r"$JJ^\top$, which moves $M$ under the plain gradient", first * first.T != second * second.T, kind="exact"
    )


def jacobian_of_product(w_q: sp.Matrix, w_k: sp.Matrix) -> sp.Matrix:
    """J of (W_Q, W_K) ↦ W_Q W_Kᵀ, d² × 2·d·d_k."""
    units = [
        sp.Matrix(*w_q.shape, lambda i, j, a=a, b=b: int((i, j) == (a, b)))
        for a in range(w_q.rows)
        for b in range(w_q.cols)
    ]
    return sp.Matrix([list(u * w_k.T) for u in units] + [list(w_q * u.T) for u in units]).T


def projector(j: sp.Matrix) -> sp.Matrix:
    """The orthogonal projector on the column space."""
    basis = sp.Matrix.hstack(*j.columnspace())
    return basis * (basis.T * basis).inv() * basis.T


@checks("thm-E.4b")
def test_flow_leaves_the_orbit(evidence: EvidenceLog) -> None:
    speed = model.at(model.product_velocity(), 1, 2)
    evidence.exact(
        "the invariant $qk$ stays constant along the flow",
        figures={"velocity": equal(str(speed), "0")},
        counterexample=r"$(q,k) = (1,2)$: $\frac d{dt}(qk) = -(qk-1)(q^2+k^2) = -5$",
    )
    evidence.proof(
        r"$\langle\nabla L, v\rangle = 0$ everywhere (scalar model)", model.orthogonality() == 0, on="correction"
    )
    w_q, w_k, e = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("E", d, d)
    dq, dk = -e * w_k, -e.T * w_q
    drift = dq.T * w_q + w_q.T * dq - dk.T * w_k - w_k.T * dk
    evidence.proof(
        r"for every size: $\frac d{dt}(W_Q^\top W_Q-W_K^\top W_K) = 0$ under gradient flow of a function of "
        r"$W_QW_K^\top$",
        proves(lambda: prove_equal(drift, sp.ZeroMatrix(d_k, d_k))),
        on="correction",
    )
    other = dq.T * w_q + w_q.T * dq + dk.T * w_k + w_k.T * dk
    evidence.control(
        "the sum in place of the difference",
        not proves(lambda: prove_equal(other, sp.ZeroMatrix(d_k, d_k))),
        kind="proof",
    )
