"""Connectivity and curvature: §5.1, §5.3, Theorem E.5 and (78)."""

from __future__ import annotations

import sympy as sp

from proofs_checks.gauge.algebra import logarithm
from proofs_checks.gauge.algebra import scalar_model as model
from proofs_checks.gauge.degenerate_critical_points import record_kernel_off_the_stratum
from proofs_checks.gauge.fibre_components import component, record_components
from proofs_checks.support.algebra.group import GaugeElement, act
from proofs_checks.support.attention_points import layer, on_theta_0
from proofs_checks.support.explicit_attention import same
from proofs_checks.support.poles import prove_poles
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.claims import EvidenceLog, checks, equal
from symgauge.symbolic import linear
from symgauge.symbolic.identities import d_k, matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts

q, k, t = model.q, model.k, sp.Symbol("t", real=True)


@checks("thm-E.5", "sec5-8")
def test_paths_of_constant_loss(evidence: EvidenceLog) -> None:
    record_two_branches(evidence)
    element, product, w_q, w_k = two_exponential_path()
    inside = [model.at(model.LOSS, 2**power, sp.Rational(1, 2) ** power) for power in (0, sp.Rational(1, 2), 1)]
    for claim_id, on in (("thm-E.5", "correction"), ("sec5-8", "condition")):
        evidence.proof(
            r"the path $e^{t\Omega}e^{tP}$ to $A = \mathrm{diag}(-1,-2)$, $\Omega = \pi J$, $P = "
            r"\mathrm{diag}(0,\ln2)$, keeps $W_QW_K^\top$ for symbolic $t$",
            is_zero(product - w_q * w_k.T),
            on=on,
            only=claim_id,
        )
        evidence.exact("it ends at $A$", is_zero(element.subs(t, 1) - sp.diag(-1, -2)), on=on, only=claim_id)
        evidence.proof(
            r"sequences of three tokens: the poles of $\lambda\mapsto\mathrm{MHA}(\lambda X)$ give $W_QW_K^\top$ "
            "of each head, so where the loss of a teacher is zero it is the teacher's",
            prove_poles(),
            on=on,
            only=claim_id,
        )
        record_components(evidence, on=on, only=claim_id)
    evidence.control(
        "inside one branch of $qk = 1$ there is a path of zero loss: $(2^t,2^{-t})$ from $(1,1)$ to $(2,\\frac12)$",
        inside == [0, 0, 0],
        kind="exact",
    )


def record_two_branches(evidence: EvidenceLog) -> None:
    """One head on Θ_0 and its image under A = −1 lie in two components of the set of zero loss of a teacher."""
    start = layer((sp.Matrix([1, 0]), sp.Matrix([1, 2]), sp.eye(2), sp.Matrix([[1, 1], [0, 1]])))
    ends = [
        act(start, GaugeElement((sp.ImmutableMatrix([[c]]),), (sp.ImmutableMatrix(sp.eye(2)),), (0,))) for c in (-1, 2)
    ]
    one_function = all(on_theta_0(end) and same(start, end, tokens=3, cases=4) for end in (start, *ends))
    evidence.exact(
        "points of $\\Theta_0$ that differ by a gauge transformation lie in one component of the set where the "
        "loss is zero",
        not one_function or component(start, ends[0]) == component(start, start),
        counterexample=r"one head, $d = d_v = 2$, $d_k = 1$, $L(\theta) = "
        r"E\|\mathrm{MHA}_\theta-\mathrm{MHA}_{\theta_1}\|^2$ over all sequences of three tokens, $\theta_2 = "
        r"\theta_1\cdot(A = -1)$: where $L = 0$, $W_QW_K^\top$ is that of $\theta_1$ (its poles), so $W_Q = "
        r"cW_Q^{(\theta_1)}$, and $c$ would pass through 0 from 1 to $-1$",
        cases=8,
    )
    evidence.control(
        "the image under $A = 2$ has the label of the start",
        one_function and component(start, ends[1]) == component(start, start),
        kind="exact",
    )
    evidence.proof(
        "the same in numbers: a path of zero loss from $(1,1)$ to $(-1,-1)$ exists; it would meet $q = 0$ inside "
        "$\\{qk = 1\\}$",
        model.orbit_crosses_zero(),
        counterexample=r"$L = \frac12(qk-1)^2$: $\{qk = 1\}$ is two branches",
    )


def two_exponential_path() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix, sp.Matrix]:
    """A(t) = exp(tΩ)exp(tP) towards diag(−1, −2), W_Q A(t)(W_K A(t)⁻ᵀ)ᵀ, and the 3×2 W_Q, W_K it starts from."""
    rotation = sp.Matrix([[sp.cos(sp.pi * t), -sp.sin(sp.pi * t)], [sp.sin(sp.pi * t), sp.cos(sp.pi * t)]])
    a = rotation * sp.diag(1, sp.Integer(2) ** t)
    inverse = sp.diag(1, sp.Integer(2) ** (-t)) * rotation.T
    w_q, w_k = sp.Matrix([[1, 2], [3, 5], [0, 1]]), sp.Matrix([[2, 1], [1, 1], [4, 0]])
    return a, (w_q * a * (w_k * inverse.T).T).applyfunc(sp.simplify), w_q, w_k


@checks("eq-78")
def test_exponentials(evidence: EvidenceLog) -> None:
    m = sp.diag(-1, -2)
    x = sp.Matrix(2, 2, sp.symbols("x0:4", real=True))
    commuting = sp.solve(list(x * m - m * x), list(x), dict=True)[0]
    diagonal = x.subs(commuting)
    only_diagonal = diagonal[0, 1] == diagonal[1, 0] == 0
    positive = all(sp.exp(diagonal[i, i]).is_positive for i in range(2))
    evidence.proof(
        r"$e^X = \mathrm{diag}(-1,-2)$ has a real solution: $X$ commutes with $e^X$, so it is diagonal, and "
        r"$e^{x_{ii}}>0$",
        not (only_diagonal and positive and m.det() > 0),
        counterexample=r"$\mathrm{diag}(-1,-2)$ has determinant 2 and no real logarithm",
    )
    shear = sp.Matrix([[-1, 1], [0, -1]])
    evidence.exact(
        "Jordan blocks of negative eigenvalues come in pairs (Culver), for two matrices of positive determinant",
        logarithm.has_real_logarithm(m) and logarithm.has_real_logarithm(shear),
        counterexample=r"$\mathrm{diag}(-1,-2)$ and $\begin{pmatrix}-1&1\\0&-1\end{pmatrix}$",
        cases=2,
    )
    turn, stretch = (sp.pi * sp.Matrix([[0, -1], [1, 0]])).exp(), sp.diag(0, sp.log(2)).exp()
    evidence.exact(
        r"$e^{\pi J}e^{\mathrm{diag}(0,\ln2)} = \mathrm{diag}(-1,-2)$",
        is_zero(turn * stretch - m),
        on="correction",
    )
    s, o = matrix("S", d_k, d_k), matrix("O", d_k, d_k)
    a = o * s
    evidence.proof(
        r"for every size: $A = OS$ has $A^\top A = S^2$, so $S = (A^\top A)^{1/2}$ is positive and $O = AS^{-1}$ "
        r"orthogonal",
        proves(lambda: prove_equal(a.T * a, s * s, Facts(orthogonal=(o,), symmetric=(s,)))),
        on="correction",
    )
    half_turn = sp.Matrix([[-1, 0], [0, -1]])
    evidence.control("the criterion accepts $-I_2 = e^{\\pi J}$", logarithm.has_real_logarithm(half_turn), kind="exact")


@checks("sec5-9", "sec5-1")
def test_hessian_of_gauge_directions(evidence: EvidenceLog) -> None:
    everywhere, flat = "sec5-9", "sec5-1"
    hessian = model.at(model.HESSIAN, 1, 2)
    evidence.exact(
        "zero eigenvalues of the Hessian at $(q,k) = (1,2)$, one expected",
        figures={"nullity": equal(2 - hessian.rank(), 1)},
        counterexample=r"$L = \frac12(qk-1)^2$ at $(1,2)$: $H = \begin{pmatrix}4&3\\3&1\end{pmatrix}$, $\det H = -5$",
        only=everywhere,
    )
    evidence.control(
        "at the critical point $(1,1)$ the same count finds the zero eigenvalue",
        2 - model.at(model.HESSIAN, 1, 1).rank() == 1,
        kind="exact",
        only=everywhere,
    )
    record_kernel_off_the_stratum(evidence, only=everywhere)
    direction = model.at(model.VERTICAL, 1, 2)
    evidence.exact(
        "$v^\\top Hv$ along the gauge direction at $(1,2)$",
        figures={"curvature": equal(str((direction.T * hessian * direction)[0]), "0")},
        counterexample=r"$v = (1,-2)$ at $(1,2)$: $v^\top Hv = -4$",
        only=flat,
    )
    along = model.at(model.VERTICAL, 1, 1)
    evidence.control(
        "along the gauge direction at the critical point $(1,1)$ the same number is zero",
        (along.T * model.at(model.HESSIAN, 1, 1) * along)[0] == 0,
        kind="exact",
        only=flat,
    )
    at_minimum = model.at(model.HESSIAN * model.VERTICAL, 1, 1)
    evidence.exact("$Hv = 0$ at the critical point $(1,1)$", is_zero(at_minimum), on="condition")
    evidence.proof(
        r"$Hv = -(Dv)^\top\nabla L$ identically, by differentiating $\langle\nabla L, v\rangle = 0$: scalar model, and "
        r"$L = \frac12\|W_QW_K^\top-T\|^2$ with symbolic entries, $d = 2$, $d_k = 1$",
        hessian_identity(),
        on="condition",
    )


def hessian_identity() -> bool:
    """Hv + (Dv)ᵀ∇L = 0 for the scalar model and for a matrix model with symbolic entries."""
    a, b = sp.symbols("a0:2", real=True), sp.symbols("b0:2", real=True)
    target = sp.Matrix(2, 2, sp.symbols("T0:4", real=True))
    error = sp.Matrix(a) * sp.Matrix(b).T - target
    matrix_loss = sum(entry**2 for entry in error) / 2
    cases = [((q, k), model.LOSS, model.VERTICAL), ((*a, *b), matrix_loss, sp.Matrix([*a, *(-x for x in b)]))]
    for variables, loss, vertical in cases:
        gradient = sp.Matrix([sp.diff(loss, x) for x in variables])
        residual = sp.hessian(loss, variables) * vertical + vertical.jacobian(sp.Matrix(variables)).T * gradient
        if not all(sp.expand(entry) == 0 for entry in residual):
            return False
    return True


@checks("sec5-7")
def test_straight_segments(evidence: EvidenceLog) -> None:
    start, end = sp.Matrix([1, 1]), sp.Matrix([2, sp.Rational(1, 2)])
    middle = (start + end) / 2
    evidence.exact(
        "loss at the midpoint of two gauge-equivalent minima in one component",
        figures={"loss": equal(str(model.at(model.LOSS, *middle)), "0")},
        counterexample=r"$(1,1)$ and $(2,\frac12)$, both $qk = 1$: at the midpoint $qk = \frac98$",
    )
    evidence.control(
        "the midpoint along the orbit, $(\\sqrt2,1/\\sqrt2)$, has loss 0",
        model.at(model.LOSS, sp.sqrt(2), 1 / sp.sqrt(2)) == 0,
        kind="exact",
    )
    curve = sp.Matrix([sp.exp(t * sp.log(2)), sp.exp(-t * sp.log(2))])
    evidence.proof(
        "the gauge path $(2^t, 2^{-t})$ joins them at zero loss for symbolic $t$",
        sp.simplify(model.LOSS.subs({q: curve[0], k: curve[1]}, simultaneous=True)) == 0
        and is_zero(curve.subs(t, 1) - end, curve.subs(t, 0) - start),
        on="correction",
    )
    steps = sp.Matrix.hstack(end - start, sp.Matrix([4, sp.Rational(1, 4)]) - start)
    evidence.exact(
        "three points of the orbit are not on a line", linear.rank(linear.rational(steps)) == 2, on="correction"
    )
