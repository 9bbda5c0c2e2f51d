"""The costs of G.4: multiplications counted from the algorithms, against the orders of growth reported in Table 9.

"O(f)" is decided by the limit of cost/f along families of sizes with h heads, d = h d_v and d >= 2 d_k (A2, A6).
"""

from __future__ import annotations

import sympy
from sympy.core.logic import fuzzy_and

from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal

h, n, d, d_k, d_v = sympy.symbols("h n d d_k d_v", positive=True)
size = sympy.Symbol("N", positive=True)

# Applying A, A^-T, C, C^-1 to the four matrices of every head.
TRANSFORM = 2 * h * d * (d_k**2 + d_v**2)
INVERSES = h * (d_k**3 + d_v**3)
# Algorithm 2: the Gram matrices of W_Q, W_K, W_V, matrix functions of them, and the transformation itself.
GAUGE_FIXING = h * d * (2 * d_k**2 + d_v**2) + INVERSES + TRANSFORM
# Algorithm 3: W^+ G and W Z for each of the four matrices, with W^+ by way of the Gram matrix.
PROJECTION = 3 * TRANSFORM + INVERSES
# Algorithm 4: D_ij for all pairs of heads; the assignment; the Procrustes products.
DISTANCES = 2 * h**2 * d * d_k
PROCRUSTES = h * d * d_k**2
# Four projections; scores and values; a feed-forward network of width 4d. Per sequence of n tokens.
ATTENTION = 4 * n * d**2 + 2 * n**2 * d
FORWARD = ATTENTION + 8 * n * d**2

GPT_2_VOCABULARY = 50_257
TYPICAL = {n: 512, d: 768, h: 12, d_k: 64, d_v: 64}


def bounded_by(cost: sympy.Expr, order: sympy.Expr, constant: int) -> bool:
    """Whether cost <= constant * order for all positive sizes with d >= d_k and d >= d_v: by positive coefficients."""
    slack_k, slack_v = sympy.symbols("s_k s_v", positive=True)
    # With d_v <= d_k the width is d = d_k + s_k; with d_k <= d_v it is d = d_v + s_k: both orders, each a polynomial.
    for smaller, larger in ((d_v, d_k), (d_k, d_v)):
        gap = (constant * order - cost).subs(d, larger + slack_k).subs(larger, smaller + slack_v)
        if any(coefficient < 0 for coefficient in sympy.Poly(sympy.expand(gap), *gap.free_symbols).coeffs()):
            return False
    return True


def growth(cost: sympy.Expr, order: sympy.Expr, family: dict[sympy.Symbol, sympy.Expr]) -> sympy.Expr:
    """The limit of cost/order along a family of sizes in N."""
    return sympy.limit(sympy.simplify((cost / order).subs(family, simultaneous=True)), size, sympy.oo)


@checks("G.4-gt", "G.4-gp")
def test_transformation_and_projection(evidence: EvidenceLog) -> None:
    order = h * d * (d_k**2 + d_v**2)
    transform, projection = TRANSFORM + INVERSES, PROJECTION
    evidence.proof("cost $\\le 3 f$ for all sizes", bounded_by(transform, order, 3), only="G.4-gt")
    evidence.proof("cost $\\le 7 f$ for all sizes", bounded_by(projection, order, 7), only="G.4-gp")
    evidence.control("the method refuses a bound that is too small", not bounded_by(transform, order, 2), kind="proof")


@checks("G.4-gf", "sec7.2-b")
def test_gauge_fixing(evidence: EvidenceLog) -> None:
    family = {h: size, d_k: sympy.Integer(64), d_v: sympy.Integer(64), d: 64 * size}
    limit = growth(GAUGE_FIXING, INVERSES, family)
    evidence.proof(
        "cost over $f$ stays bounded as heads of fixed size are added",
        limit.is_finite,
        figures={"limit": str(limit)},
        counterexample=r"$d_k = d_v = 64$, $d = 64h$, $h \to \infty$: the cost is more than $h$ times the reported "
        r"order.",
    )
    evidence.control(
        "over the corrected order it does stay bounded along the same sizes",
        growth(GAUGE_FIXING, h * d * (d_k**2 + d_v**2), family).is_finite,
        kind="proof",
    )
    evidence.proof(
        "cost $\\le 5$ times the corrected order",
        bounded_by(GAUGE_FIXING, h * d * (d_k**2 + d_v**2), 5),
        on="correction",
    )


@checks("G.4-al")
def test_alignment(evidence: EvidenceLog) -> None:
    order = h**3 + INVERSES
    family = {h: size, d_k: size, d_v: size, d: size**2}
    limits = [growth(part, order, family) for part in (DISTANCES, PROCRUSTES)]
    evidence.proof(
        "distances and Procrustes products over $f$ stay bounded",
        fuzzy_and(limit.is_finite for limit in limits),
        figures={"limits": list(map(str, limits))},
        counterexample=r"$d_k = d_v = h$, $d = h^2$, $h \to \infty$: the distances alone cost $2h^5$, against an "
        r"order of $2h^4 + h^3$.",
    )
    evidence.control(
        "the assignment itself does stay bounded along the same sizes",
        growth(h**3, order, family).is_finite,
        kind="proof",
    )
    total = h**3 + DISTANCES + PROCRUSTES + GAUGE_FIXING
    corrected = h**3 + h**2 * d * d_k + h * d * (d_k**2 + d_v**2)
    evidence.proof("cost $\\le 6$ times the corrected order", bounded_by(total, corrected, 6), on="correction")


@checks("G.4-fw")
def test_forward_pass(evidence: EvidenceLog) -> None:
    # Queries and keys, values and outputs; scores, and what they weigh; the network.
    forward = 2 * n * d * h * (d_k + d_v) + n**2 * h * (d_k + d_v) + 8 * n * d**2
    order = n**2 * d + n * d**2
    family = {h: size, d: size, n: size, d_k: size / 2, d_v: sympy.Integer(1)}
    limit = growth(forward, order, family)
    evidence.proof(
        "cost over $f$ stays bounded as there are more heads",
        limit.is_finite,
        figures={"limit": str(limit)},
        counterexample=r"$d_v = 1$, $h = d = n$, $d_k = d/2$, $n\to\infty$ (A2, A4 and A6 are met): queries, keys and "
        r"scores alone cost $\frac32n^4$, against an order of $2n^3$",
    )
    evidence.control(
        "along the same sizes with $d_k = d_v$ it does stay bounded",
        growth(forward, order, family | {d_k: sympy.Integer(1)}).is_finite,
        kind="proof",
    )
    ratio = sympy.Symbol("c", positive=True)
    gap = sympy.expand((2 * ratio + 10) * order - forward.subs({d_k: ratio * d / h, d_v: d / h}))
    evidence.proof(
        "with $h\\,d_k = c\\,d$ and $h\\,d_v = d$ the cost is at most $(2c+10)f$ for all sizes",
        all(term.is_nonnegative for term in sympy.Add.make_args(gap)),
        on="condition",
    )


@checks("G.4-pct")
def test_share_of_a_forward_pass(evidence: EvidenceLog) -> None:
    transform, forward, inverses = (int(cost.subs(TYPICAL)) for cost in (TRANSFORM, FORWARD, INVERSES))
    reported = int((n**2 * d + n * d**2).subs(TYPICAL))
    shares = {
        "gauge transformation, percent": 100 * transform / forward,
        "by the orders of Table 9, percent": 100 * (transform // 2) / reported,
        "the cubic terms alone, percent": 100 * inverses / reported,
    }
    evidence.exact(
        "three ways to count, per layer and sequence",
        figures={name: at_most(round(share, 3), 0.1) for name, share in shares.items()},
        counterexample=f"{transform:,} of {forward:,} multiplications.",
    )
    evidence.exact(
        "the shares, and the number of sequences",
        on="correction",
        figures={
            "gauge transformation, percent": equal(100 * transform, 3.75 * forward),
            "by the orders of Table 9, percent": equal(100 * (transform // 2), 15 * reported),
            "38 sequences": at_least(38 * forward, 1000 * transform),
            "37 sequences": at_most(37 * forward, 1000 * transform),
        },
    )
    output = int((n * d).subs(TYPICAL)) * GPT_2_VOCABULARY
    whole, moved = 12 * forward + output, 12 * transform
    evidence.exact(
        "of twelve such layers and an output layer over the 50,257 tokens of GPT-2",
        on="correction",
        figures={
            "gauge transformation, percent": equal(round(100 * moved / whole, 1), 2.7),
            "27 sequences": at_least(27 * whole, 1000 * moved),
            "26 sequences": at_most(26 * whole, 1000 * moved),
        },
    )
    long = {**TYPICAL, n: 64 * TYPICAL[n]}
    share = 100 * TRANSFORM.subs(TYPICAL) / FORWARD.subs(long)
    evidence.control(
        "against a sequence of 32,768 tokens it is below 0.1 %, by the same count",
        kind="exact",
        figures={"percent": at_most(round(float(share), 3), 0.1)},
    )
