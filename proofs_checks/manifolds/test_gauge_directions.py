"""Commutators and gradient steps beside gauge directions: pairing, conserved quantities, what discrete steps lose."""

from __future__ import annotations

from random import Random

import sympy as sp

from proofs_checks.manifolds.algebra import commutators as c
from proofs_checks.manifolds.exact_instances import instance
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.profiles import scale
from symgauge.symbolic.instances import general_matrix


@checks("pairing")
def test_pairing(evidence: EvidenceLog) -> None:
    evidence.proof(
        r"for every size, from $HM\theta = -M^\top g$ (differentiate $\langle g, M\theta\rangle = 0$)",
        proves(c.prove_pairing),
    )
    cases, along_rotation = [], []
    for seed in range(scale(4, 20)):
        a, b, at = instance(seed)
        x = general_matrix(2, 2, Random(seed + 100))
        skew, symmetric = x - x.T, x + x.T
        bracket, g_a, g_b = c.bracket(a, b, at), a.gradient(at), b.gradient(at)
        right = c.inner(g_a, c.combine(c.generator(x, g_b), c.generator(x.T, g_b), -1))
        cases.append(
            c.inner(bracket, c.generator(x, at)) == right
            and c.inner(bracket, c.generator(symmetric, at)) == 0
            and all(c.inner(g, c.generator(skew, at)) == 0 for g in (g_a, g_b))
        )
        along_rotation.append(abs(c.inner(bracket, c.generator(skew, at))))
    evidence.exact(
        r"losses of $W_QW_K^\top$, $2\times2$, rational, general $X$; symmetric and skew parts too; single gradients",
        all(cases),
        figures={"smallest component along a rotation": at_least(float(min(along_rotation)), 1e-6)},
        cases=len(cases),
    )
    evidence.control(
        r"with $M+M^\top$ there is no proof", not proves(lambda: c.prove_pairing(broken=True)), kind="proof"
    )
    a, b, at = instance(1, pull=1)
    x = general_matrix(2, 2, Random(7))
    right = c.inner(a.gradient(at), c.combine(c.generator(x, b.gradient(at)), c.generator(x.T, b.gradient(at)), -1))
    evidence.control(
        r"$\mathrm{tr}\,W_Q$ added to both losses breaks the symmetry, and the identity",
        c.inner(c.bracket(a, b, at), c.generator(x, at)) != right,
        kind="exact",
    )


@checks("level-set")
def test_tangent_to_level_set(evidence: EvidenceLog) -> None:
    evidence.proof(
        r"for every size, $E$ the slope of a loss in $W_QW_K^\top$: $g = (EW_K, E^\top W_Q)$; along the bracket the "
        "balance has derivative zero, whatever the slopes and their changes",
        proves(c.prove_bracket_tangent),
    )
    evidence.control(
        "along $H_Bg_A$ alone there is no proof", not proves(lambda: c.prove_bracket_tangent(broken=True)), kind="proof"
    )
    found = [instance(seed) for seed in range(scale(4, 20))]
    evidence.exact(
        "derivative of the balance along the bracket, $2\\times2$, rational: zero",
        all(c.balance_slope(at, c.bracket(a, b, at)).is_zero_matrix for a, b, at in found),
        cases=len(found),
    )
    a, b, at = found[0]
    step = sp.Rational(1, 1000)
    evidence.control(
        r"the whole $\theta_{AB}-\theta_{BA}$ is not: terms of order $\eta^3$ leave it",
        not c.balance_slope(at, c.commutator(a, b, at, step)).is_zero_matrix,
        kind="exact",
    )
    a, b, at = instance(1, pull=1)
    evidence.control(
        r"nor is the bracket where $\mathrm{tr}\,W_Q$ is added to both losses",
        not c.balance_slope(at, c.bracket(a, b, at)).is_zero_matrix,
        kind="exact",
    )
    a, b, at = found[0]
    evidence.control(
        "nor is half of the bracket",
        not c.balance_slope(at, b.hessian_times(at, a.gradient(at))).is_zero_matrix,
        kind="exact",
    )


@checks("conserved")
def test_conserved_by_flow(evidence: EvidenceLog) -> None:
    evidence.proof(
        "both balances of a head, for every size, with biases and without",
        proves(c.prove_biased_balance_kept) and proves(c.prove_balance_kept),
    )
    evidence.control(
        "the balances of the matrices alone, in a head with biases",
        not proves(lambda: c.prove_biased_balance_kept(forgotten=True)),
        kind="proof",
    )
    w, b, v, a, x = sp.symbols("w b v a x", positive=True)
    loss = sp.Function("L")
    neuron = loss(a * (w * x + b))  # where the neuron is on; where it is off all gradients vanish
    weights = w * neuron.diff(w) - a * neuron.diff(a)
    evidence.proof(
        r"a ReLU neuron with a bias: $w\,\partial_wL + b\,\partial_bL - a\,\partial_aL = 0$",
        sp.simplify((weights + b * neuron.diff(b)).doit()) == 0,
    )
    evidence.control("the same without its bias", sp.simplify(weights.doit()) != 0, kind="proof")
    length = sp.sqrt((w * x + b) ** 2 + (v * x + a) ** 2)
    normed = loss((w * x + b) / length, (v * x + a) / length)
    weight_slope = (w * normed.diff(w) + v * normed.diff(v)).doit()
    evidence.proof(
        r"scale invariance of $\mathrm{Norm}(wx+b)$: $\langle w, \nabla_wL\rangle + \langle b, \nabla_bL\rangle = 0$",
        sp.simplify((weight_slope + b * normed.diff(b) + a * normed.diff(a)).doit()) == 0,
    )
    evidence.control("the same without its bias", sp.simplify(weight_slope) != 0, kind="proof")
    u = sp.symbols("u0:3")
    shift = loss(u[0] - u[1], u[1] - u[2])
    evidence.proof(
        r"a common shift of logits is invisible: the gradient over tokens adds up to zero",
        sp.simplify(sum(shift.diff(each) for each in u).doit()) == 0,
    )
    omega, theta = sp.Matrix([[0, 1], [-1, 0]]), sp.Matrix([w, v])
    evidence.proof(
        r"a rotation: $\langle\theta,\Omega\theta\rangle$ is identically 0",
        sp.expand((theta.T * omega * theta)[0]) == 0,
    )
    evidence.control(
        "the sum in place of the difference, for the neuron",
        sp.simplify((w * neuron.diff(w) + b * neuron.diff(b) + a * neuron.diff(a)).doit()) != 0,
        kind="proof",
    )
    tied = loss(u[0] * u[1] - u[1] ** 2, u[1] ** 2 - u[1] * u[2])  # logits u·h where h is the embedding of the second
    evidence.control(
        "the sum over tokens, where the head is tied to the embeddings",
        sp.simplify(sum(tied.diff(each) for each in u).doit()) != 0,
        kind="proof",
    )
    epsilon = loss(w / sp.sqrt(w**2 + v**2 + 1), v / sp.sqrt(w**2 + v**2 + 1))
    evidence.control(
        r"$|w|^2$ with $\epsilon > 0$",
        sp.simplify((w * epsilon.diff(w) + v * epsilon.diff(v)).doit()) != 0,
        kind="proof",
    )


@checks("discrete-steps")
def test_discrete_steps(evidence: EvidenceLog) -> None:
    evidence.proof(
        r"a gradient step: exactly $\eta^2(g_Q^\top g_Q - g_K^\top g_K)$, every size", proves(c.prove_one_step)
    )
    evidence.proof("implicit midpoint: exactly kept, every size", proves(c.prove_midpoint))
    drifts = {name: c.drift(name) for name in c.SCHEMES}
    evidence.exact(
        r"lowest power of $\eta$ in the change of $q^2-k^2$ from $(2,3)$, $L=\frac12(qk-1)^2$",
        figures={name: equal(c.order_of(drift), c.ORDERS[name]) for name, drift in drifts.items()},
        cases=len(drifts),
    )
    q, k = sp.symbols("q k")
    start = sp.Matrix([q, k])
    heun = c.SCHEMES["Heun"](start, c.eta)
    change = c.slope(start) - c.slope(start - c.eta * c.slope(start))
    right = q**2 - k**2 + c.eta**2 / 4 * (change[0] ** 2 - change[1] ** 2)
    evidence.proof(
        r"Heun, every $(q,k)$: the change is $\frac{\eta^2}4\langle\Delta, M\Delta\rangle$ with the difference "
        r"$\Delta$ of "
        r"its two gradients, which is of order $\eta$",
        _low(sp.expand(heun[0] ** 2 - heun[1] ** 2 - right)) == 0,
    )
    evidence.control(
        "at a balanced point $q = k$ a gradient step keeps it, so the point matters",
        c.drift("gradient step", 2, 2).is_zero,
        kind="exact",
    )


def _low(expression: sp.Expr) -> sp.Expr:
    """Up to the power of η that the schemes keep."""
    return sp.expand(sum(expression.coeff(c.eta, i) * c.eta**i for i in range(c.KEPT_POWERS + 1)))
