"""Maps of parameters against fibres (Theorem B.8, Corollary B.9), head permutations (27)–(28), Algorithm 4."""

from __future__ import annotations

import sympy as sp

from proofs_checks.support.algebra import linearised
from proofs_checks.support.algebra.group import GaugeElement, act, invariants, inverse, random_element
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, checks, equal
from symgauge.symbolic.tangent import Attention, random_attention


def scaled_by_its_own_function(point: Attention, undo: bool = False) -> tuple[Attention, sp.Rational]:
    """θ ↦ θ·(A(θ), I), A(θ) = (1 + ‖M‖²)I, where M = W_Q W_Kᵀ of the one head is itself invariant; and the scale."""
    m = point.w_q[0] * point.w_k[0].T
    scale = 1 + sum(entry**2 for entry in m)
    size, values = point.w_q[0].cols, point.w_v[0].cols
    a = sp.ImmutableMatrix(sp.eye(size) * scale)
    element = GaugeElement((a,), (sp.ImmutableMatrix(sp.eye(values)),), (0,))
    return act(point, inverse(element) if undo else element), scale


@checks("thm-B.8", "cor-B.9")
def test_maps_that_depend_on_the_point(evidence: EvidenceLog) -> None:
    points = [random_attention(d=4, d_k=2, d_v=4, groups=(0,), seed=seed) for seed in range(4)]
    moved = [scaled_by_its_own_function(point) for point in points]
    keeps = all(invariants(after) == invariants(before) for before, (after, _) in zip(points, moved, strict=True))
    bijective = all(
        scaled_by_its_own_function(after, undo=True)[0] == before
        for before, (after, _) in zip(points, moved, strict=True)
    )
    scales = {scale for _, scale in moved}
    evidence.exact(
        "a bijection of $\\Theta_0$ that preserves the function acts by one and the same $A$ everywhere",
        not (keeps and bijective and len(scales) > 1),
        counterexample=r"$h = 1$, $d = d_v = 4$, $d_k = 2$, $\varphi(\theta) = \theta\cdot(1+\|W_QW_K^\top\|_F^2)I$: "
        r"it preserves $M$ and $N$, is undone by the same "
        "formula with the inverse, and its factor changes from point to point",
        cases=len(points),
    )
    evidence.proof(
        r"points, not maps: full-rank factors of one $M$ differ by one $A\in GL(d_k)$, for every size (and of one "
        r"$N$ by one $C$)",
        proves(linearised.prove_factors_of_one_product),
        on="correction",
    )
    evidence.exact(
        "the images keep the invariants, so they stay on the orbits", keeps, on="correction", cases=len(points)
    )
    other = random_attention(d=4, d_k=2, d_v=4, groups=(0,), seed=9)
    evidence.control("another point has other invariants", invariants(other) != invariants(points[0]), kind="exact")


@checks("eq-27..28")
def test_head_permutations(evidence: EvidenceLog) -> None:
    point = random_attention(d=4, d_k=2, d_v=3, groups=(0, 1, 2))
    heads = sp.symbols("f0:3")  # the summands A_i(X) W_O,i; the output is their sum, whatever they are
    total = sum(heads)
    orders = [(0, 1, 2), (1, 0, 2), (2, 0, 1), (1, 2, 0), (0, 2, 1), (2, 1, 0)]
    evidence.proof(
        "the sum of three heads in every order",
        all(sp.expand(sum(heads[i] for i in o) - total) == 0 for o in orders),
        cases=6,
    )
    unit = random_element(3, 2, 3, 0)
    same = GaugeElement(
        tuple(sp.ImmutableMatrix(sp.eye(2)) for _ in unit.a),
        tuple(sp.ImmutableMatrix(sp.eye(3)) for _ in unit.c),
        (1, 2, 0),
    )
    evidence.exact(
        "the heads of a point, permuted together, are the same heads", invariants(act(point, same)) == invariants(point)
    )
    q = (point.w_q[1], point.w_q[0], point.w_q[2])
    broken = Attention(q, point.w_k, point.w_v, point.w_o, point.groups)
    evidence.control("queries permuted alone", invariants(broken) != invariants(point), kind="exact")


@checks("alg-4")
def test_alignment(evidence: EvidenceLog) -> None:
    root = sp.sqrt(2)
    one, flipped, larger = (1, 1, 1, 1), (1, 1, -1, -1), (root, root, 1, 1)
    evidence.exact(
        "what is left between two points of one orbit is 0",
        figures={"distance": equal(str(distance(one, algorithm_4(one, flipped))), "0")},
        counterexample=r"$W_V = W_O = 1$ and $W_V = W_O = -1$: related by $C = -1$, left at distance $2\sqrt2$, "
        r"since only $W_Q$ is aligned",
    )
    evidence.exact(
        "the result is no further from $\\theta_1$ than $\\theta_2$ was",
        bool(distance(one, algorithm_4(one, larger)) <= distance(one, larger)),
        counterexample=r"$\theta_1 = (1,1)$, $\theta_2 = (\sqrt2,\sqrt2)$, both balanced: Procrustes on $W_Q$ "
        r"gives $(1,2)$, at distance 1 "
        r"instead of $2-\sqrt2$",
    )
    heads = [sp.Matrix([1, 0]), sp.Matrix([0, 1])]  # W_Q = W_K = w in each head; those of θ_2 are −w, by A = −1
    cost = [[2 * (w + v).norm() for v in heads] for w in heads]
    evidence.exact(
        "the matching keeps heads that compute the same function together",
        bool(cost[0][0] + cost[1][1] <= cost[0][1] + cost[1][0]),
        counterexample=r"$W_Q = W_K = (1,0), (0,1)$ against $-(1,0), -(0,1)$: the right matching costs 8, the "
        r"wrong one $4\sqrt2$",
    )
    evidence.control(
        "a point that differs by $A = -1$, which Procrustes on $W_Q$ does undo, is brought back",
        distance(one, algorithm_4(one, (-1, -1, 1, 1))) == 0,
        kind="exact",
    )
    products = [[(w * w.T - v * v.T).norm() for v in heads] for w in heads]
    evidence.exact(
        "on one orbit the right matching costs 0 on the invariants $M_i$, the wrong one $2\\sqrt2$",
        figures={
            "right": equal(str(products[0][0] + products[1][1]), "0"),
            "wrong": equal(str(products[0][1] + products[1][0]), "2*sqrt(2)"),
        },
        on="correction",
    )
    ours, theirs = [(1, 10), (2, sp.Rational(21, 2))], [(2, 10), (1, sp.Rational(21, 2))]
    nearest = [[sum(map(squared_distance_of_orbits, one, two)) for two in theirs] for one in ours]
    by_products = [[sum(abs(p**2 - q**2) for p, q in zip(one, two, strict=True)) for two in theirs] for one in ours]
    evidence.exact(
        r"on two orbits, balanced scalar heads $W_Q = W_K = m$, $W_V = W_O = n$ with $(m,n) = (1,10), (2,\frac{21}2)$ "
        r"and $(2,10), (1,\frac{21}2)$: the smallest squared distances of pairs add up to 4 or 1, and the invariants "
        r"prefer the 4",
        figures={
            "in this order": equal(str(nearest[0][0] + nearest[1][1]), "4"),
            "exchanged": equal(str(nearest[0][1] + nearest[1][0]), "1"),
            "invariants in this order": equal(str(by_products[0][0] + by_products[1][1]), "6"),
            "invariants exchanged": equal(str(by_products[0][1] + by_products[1][0]), "41/2"),
        },
        on="correction",
    )
    evidence.exact("$C = -1$ aligns the first example", distance(one, (1, 1, -1 * -1, -1 * -1)) == 0, on="correction")


def squared_distance_of_orbits(p: sp.Expr, q: sp.Expr) -> sp.Expr:
    """The least (p − qa)² + (p − q/a)² for p, q > 0: a parabola in s = a + 1/a, and |s| ≥ 2."""
    s = max(sp.Integer(2), sp.sympify(p) / q)
    return 2 * p**2 - 2 * p * q * s + q**2 * (s**2 - 2)


Head = tuple[sp.Expr, ...]  # (W_Q, W_K, W_V, W_O) of one head with d = d_k = d_v = 1


def gauge_fix(head: Head) -> Head:
    """Algorithm 2 for scalars: A = |W_K / W_Q|, the geometric mean of 1/W_Q² and W_K²; C = 1/|W_V|."""
    w_q, w_k, w_v, w_o = map(sp.sympify, head)
    a, c = abs(w_k / w_q), 1 / abs(w_v)
    return w_q * a, w_k / a, w_v * c, w_o / c


def algorithm_4(first: Head, second: Head) -> Head:
    """Algorithm 4 for one scalar head: fix both, then A = argmin |W_Q,1 − W_Q,2 A|, applied to the second."""
    target, (w_q, w_k, w_v, w_o) = gauge_fix(first), gauge_fix(second)
    a = target[0] / w_q
    return w_q * a, w_k / a, w_v, w_o


def distance(first: Head, second: Head) -> sp.Expr:
    return sp.sqrt(sum(sp.expand((sp.sympify(x) - y) ** 2) for x, y in zip(first, second, strict=True)))
