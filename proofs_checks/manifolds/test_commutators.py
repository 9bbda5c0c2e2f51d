"""What θ_AB − θ_BA is: Lie bracket, quadratic losses, the normalised defect (3.3.2, 4.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import sympy as sp

from proofs_checks.manifolds.algebra import commutators as c
from proofs_checks.manifolds.exact_instances import instance
from proofs_checks.manifolds.reported import DEFECT
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.profiles import scale


@checks("bracket")
def test_bracket(evidence: EvidenceLog) -> None:
    coefficients = c.taylor_coefficients()
    evidence.proof(
        r"all cubic losses on $R^2$ with letters as Taylor coefficients: $\eta^0$, $\eta^1$ and, less the bracket, "
        r"$\eta^2$ vanish; the $\eta^2$ term of a smooth loss depends on $g$ and $H$ only",
        all(part.is_zero_matrix for part in coefficients[:3]),
    )
    ratios = []
    for seed in range(scale(2, 8)):
        a, b, at = instance(seed)
        ratios.append([_error(a, b, at, power) for power in (6, 7, 8)])
    slopes = [sp.log(first / second, 10).evalf() for each in ratios for first, second in pairwise(each)]
    evidence.exact(
        r"losses of $W_QW_K^\top$, rational, $2\times2$: the relative error falls tenfold with $\eta$",
        figures={
            "smallest slope": at_least(round(float(min(slopes)), 4), 0.99),
            "largest slope": at_most(round(float(max(slopes)), 4), 1.01),
        },
        cases=len(ratios),
    )
    a, b, at = instance(0)
    step = sp.Rational(1, 10**8)
    wrong = c.combine(c.commutator(a, b, at, step), c.bracket(b, a, at), -(step**2))
    size = c.inner(*[c.commutator(a, b, at, step)] * 2)
    evidence.control(
        r"with the bracket of the other sign the error is 2",
        figures={"relative error": at_least(round(math.sqrt(c.inner(wrong, wrong) / size), 3), 1.9)},
        kind="exact",
    )
    evidence.control(r"the $\eta^3$ term is there", not coefficients[3].is_zero_matrix, kind="proof")


def _error(a: c.ScoreLoss, b: c.ScoreLoss, at: c.Pair, power: int) -> sp.Expr:
    step = sp.Rational(1, 10**power)
    delta = c.commutator(a, b, at, step)
    gap = c.combine(delta, c.bracket(a, b, at), -(step**2))
    return sp.sqrt(c.inner(gap, gap) / c.inner(delta, delta)).evalf(20)


@checks("quadratic")
def test_quadratic(evidence: EvidenceLog) -> None:
    evidence.proof("for every size: one order of the two steps less the other, expanded", proves(c.prove_quadratic))
    h_a, h_b = sp.diag(1, 2), sp.Matrix([[2, 1], [1, 2]])
    at, step = sp.Matrix([3, 1]), sp.Rational(7, 3)  # a large step: the formula is exact
    delta = _quadratic(h_a, h_b, at, step)
    evidence.exact(
        r"$H_A = \mathrm{diag}(1,2)$, $H_B = \binom{2\ 1}{1\ 2}$, $a=b=0$, $\eta = \frac73$",
        delta == step**2 * (h_b * h_a - h_a * h_b) * at,
        cases=1,
    )
    evidence.control(
        "commuting Hessians give zero", _quadratic(h_a, sp.diag(3, 1), at, step).is_zero_matrix, kind="exact"
    )


def _quadratic(h_a: sp.Matrix, h_b: sp.Matrix, at: sp.Matrix, step: sp.Rational) -> sp.Matrix:
    """θ_AB − θ_BA of two quadratic losses with their minima at 0, step by step."""

    def after(first: sp.Matrix, second: sp.Matrix) -> sp.Matrix:
        once = at - step * first * at
        return once - step * second * once

    return after(h_a, h_b) - after(h_b, h_a)


HESSIANS = (sp.diag(1, 2), sp.Matrix([[2, 1], [1, 2]]))
SWAP = sp.Matrix([[0, 1], [1, 0]])


def _defect_squared(at: sp.Matrix, stretch: int = 1, hessians: Sequence[sp.Matrix] = HESSIANS) -> sp.Rational:
    """D² of two losses with these Hessians at θ, in coordinates stretched by s (Hessians over s²)."""
    h_a, h_b = (hessian / stretch**2 for hessian in hessians)
    at, step = stretch * at, sp.Rational(1, 1000)
    delta = _quadratic(h_a, h_b, at, step)
    return delta.dot(delta) / ((step * h_a * at).dot(step * h_a * at) * (step * h_b * at).dot(step * h_b * at))


@checks("defect-unit")
def test_defect_has_a_unit(evidence: EvidenceLog) -> None:
    at = sp.Matrix([3, 1])
    first, second = _defect_squared(at), _defect_squared(at, 10)
    evidence.exact(
        "a ratio to a step is the same in any unit of the parameters",
        figures={"D² in units 1 and 10": equal(str(first), str(second))},
        counterexample=r"$H_A=\mathrm{diag}(1,2)$, $H_B=\binom{2\ 1}{1\ 2}$ at $(3,1)$: with parameters ten times "
        r"larger "
        r"and the same losses $D$ is ten times smaller",
    )
    spun = _defect_squared(SWAP * at, hessians=[SWAP * h * SWAP for h in HESSIANS])
    evidence.control("in coordinates that are only renumbered the same ratio is the same", spun == first, kind="exact")
    evidence.exact("$D^2$ falls by $s^2 = 100$", first == 100 * second, on="correction")
    a, b, point = instance(3)
    evidence.exact(
        r"to leading order unchanged by $L\to cL$: $|H_Bg_A-H_Ag_B|/(|g_A||g_B|)$ has $c^2$ above and below",
        _leading(a, b, point, 1) == _leading(a, b, point, 3),
        on="correction",
    )
    spike = DEFECT[1]
    lengths = [sp.Rational(1, 1000) * value for value in (1, sp.Rational(1, 10))]
    evidence.exact(
        r"$D = 175$ with $\eta = 10^{-3}$ and gradients of length 1 or 0.1: $\|\delta\|$ over a step is 0.175 or "
        r"0.0175",
        figures={
            "largest": at_most(float(spike * max(lengths)), 1),
            "smallest": at_most(float(spike * min(lengths)), 1),
        },
        on="correction",
    )


def _leading(a: c.ScoreLoss, b: c.ScoreLoss, at: c.Pair, factor: int) -> sp.Rational:
    """D² to leading order with both losses times `factor`, by way of gradients and Hessians."""

    def scaled(pair: c.Pair) -> c.Pair:
        return factor * pair[0], factor * pair[1]

    g_a, g_b = scaled(a.gradient(at)), scaled(b.gradient(at))
    delta = c.combine(scaled(b.hessian_times(at, g_a)), scaled(a.hessian_times(at, g_b)), -1)
    return c.inner(delta, delta) / (c.inner(g_a, g_a) * c.inner(g_b, g_b))


@checks("defect-grows")
def test_defect_grows_by_convergence(evidence: EvidenceLog) -> None:
    far, near = sp.Matrix([3, 1]), sp.Matrix([3, 1]) / 1000
    sizes = [
        _quadratic(sp.diag(1, 2), sp.Matrix([[2, 1], [1, 2]]), at, sp.Rational(1, 1000)).norm() for at in (far, near)
    ]
    evidence.exact(
        "where $D$ grows, the commutator grows",
        bool(sizes[1] > sizes[0]),
        figures={"D² near over far": str(_defect_squared(near) / _defect_squared(far))},
        counterexample=r"$H_A=\mathrm{diag}(1,2)$, $H_B=\binom{2\ 1}{1\ 2}$, both minima at 0: from $(3,1)$ to "
        r"$(3,1)/1000$ $D$ grows by 1000 and $\delta$ shrinks by 1000",
    )
    more = _quadratic(10 * HESSIANS[0], HESSIANS[1], far, sp.Rational(1, 1000)).norm()
    evidence.control(
        "with ten times the first Hessian at the same place the commutator does grow",
        kind="exact",
        figures={"over that before": at_least(float(more / sizes[0]), 1.0)},
    )
    t = sp.Symbol("t", positive=True)
    evidence.proof(
        r"$D^2(t\theta) = D^2(\theta)/t^2$ and $\delta(t\theta) = t\,\delta(\theta)$",
        sp.simplify(_defect_squared(t * far) * t**2 - _defect_squared(far)) == 0,
        on="correction",
    )
    evidence.exact("by a factor $10^3$ each", _defect_squared(near) == 10**6 * _defect_squared(far), on="correction")
    h_a, h_b = sp.diag(1, 2, 3), sp.Matrix([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    (blind,) = (h_a * h_b - h_b * h_a).nullspace()
    evidence.control(
        "in three dimensions a commutator of Hessians has a kernel, on which $D$ is 0 all along",
        _quadratic(h_a, h_b, blind, sp.Rational(1, 1000)).is_zero_matrix and h_a * h_b != h_b * h_a,
        kind="exact",
    )


X, Y = sp.symbols("x y")
LOSSES = {
    "both graphs flat": (X**2 / 2, (X + Y) ** 2 / 2),
    "the graph of the sum flat": ((X**2 + Y**2) / 2, X - (X**2 + Y**2) / 2),
    "nothing flat but parameter space": ((X**2 + 2 * Y**2) / 2, (3 * X**2 + Y**2) / 2),
}
"""Pairs of losses on the plane."""


@checks("curvature")
def test_defect_is_no_curvature(evidence: EvidenceLog) -> None:
    flat = {
        name: [_graph_is_flat(loss) for loss in (first, second, first + second)]
        for name, (first, second) in LOSSES.items()
    }
    squared = {name: _leading_defect_squared(*losses) for name, losses in LOSSES.items()}
    space = _riemann_vanishes(sp.eye(2), (X, Y))
    both, total, curved = LOSSES
    readings = {
        "of parameter space": space and squared[both] == 0,
        "of the graphs of both losses": all(flat[both][:2]) and squared[both] == 0,
        "of the graph of the sum": flat[total][2] and squared[total] == 0,
    }
    evidence.exact(
        "where the Riemann tensor vanishes, $D$ does: " + ", ".join(readings),
        any(readings.values()),
        figures={f"D², {name}": str(value) for name, value in squared.items()},
        counterexample=r"$x^2/2$ and $(x+y)^2/2$ at $(3,1)$: parameter space and both graphs are flat, $D^2 = "
        rf"{squared[both]}$; $L_A = (x^2+y^2)/2$ and $x - L_A$, the sum's graph a plane: ${squared[total]}$",
        cases=len(readings),
    )
    evidence.exact(
        "the graphs of both losses and of the sum: flat or not, by the Riemann tensor of their metric in space",
        figures={
            both: equal(flat[both], [True, True, False]),
            total: equal(flat[total], [False, False, True]),
            curved: equal(flat[curved], [False, False, False]),
            "D² where all are curved": equal(str(squared[curved]), "0"),
        },
        on="correction",
        cases=3 * len(flat),
    )
    evidence.control(
        r"the same measure sees no bracket of a loss with itself, and one of $H_A=\mathrm{diag}(1,2)$, "
        r"$H_B=\binom{2\ 1}{1\ 2}$",
        _leading_defect_squared(LOSSES[both][0], LOSSES[both][0]) == 0 and _defect_squared(sp.Matrix([3, 1])) != 0,
        kind="exact",
    )


def _leading_defect_squared(first: sp.Expr, second: sp.Expr) -> sp.Rational:
    """|H_B g_A − H_A g_B|² / (|g_A| |g_B|)² at (3, 1)."""
    (g_a, h_a), (g_b, h_b) = (
        (sp.Matrix([f.diff(X), f.diff(Y)]).subs({X: 3, Y: 1}), sp.hessian(f, (X, Y)).subs({X: 3, Y: 1}))
        for f in (first, second)
    )
    bracket = h_b * g_a - h_a * g_b
    return bracket.dot(bracket) / (g_a.dot(g_a) * g_b.dot(g_b))


def _graph_is_flat(loss: sp.Expr) -> bool:
    slope = sp.Matrix([loss.diff(X), loss.diff(Y)])
    return _riemann_vanishes(sp.eye(2) + slope * slope.T, (X, Y))


def _riemann_vanishes(g: sp.Matrix, x: tuple[sp.Symbol, ...]) -> bool:
    n, inverse = len(x), g.inv()
    symbol = [
        [
            [
                sum(
                    inverse[i, m] * (g[m, j].diff(x[k]) + g[m, k].diff(x[j]) - g[j, k].diff(x[m])) / 2 for m in range(n)
                )
                for k in range(n)
            ]
            for j in range(n)
        ]
        for i in range(n)
    ]

    def entry(i: int, j: int, k: int, l: int) -> sp.Expr:
        first = symbol[i][j][l].diff(x[k]) - symbol[i][j][k].diff(x[l])
        return sp.simplify(
            first + sum(symbol[i][k][m] * symbol[m][j][l] - symbol[i][l][m] * symbol[m][j][k] for m in range(n))
        )

    return all(entry(i, j, 0, 1) == 0 for i in range(n) for j in range(n))
