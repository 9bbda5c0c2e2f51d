"""LayerNorm and linear maps (§4, C.3), GELU and the feed-forward network (C.2)."""

from __future__ import annotations

from random import Random

import sympy as sp

from proofs_checks.gauge.algebra import activations, norms
from proofs_checks.support.symbolic_evidence import is_zero, proves, record_identity
from symgauge.claims import EvidenceLog, at_least, checks
from symgauge.symbolic.functions import Entrywise, layer_norm
from symgauge.symbolic.identities import d, d_ff, matrix, n, ones
from symgauge.symbolic.instances import general_matrix, rotation_fixing_ones
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts

ROWS = (sp.Matrix([[0, 1, 5]]), sp.Matrix([[2, -3, 7]]))


@checks("eq-64", "sec4-sk2", "C.3-concl")
def test_maps_that_commute_with_layer_norm(evidence: EvidenceLog) -> None:
    examples = norms.commuting_examples()
    evidence.exact(
        "no map other than the identity commutes with LayerNorm, on explicit rows",
        any(not is_zero(*(norms.commutator_at(m, row) for row in ROWS)) for m in examples.values()),
        counterexample=r"$M = -I$; the swap of two coordinates; "
        r"$M = \frac13\begin{pmatrix}2&2&-1\\-1&2&2\\2&-1&2\end{pmatrix}$, an orthogonal map with rows summing to 1",
        cases=len(examples) * len(ROWS),
    )
    a, x, m, one = sp.Symbol("a", real=True), matrix("X", n, d), matrix("M", d, d), ones(d)
    spreads = sp.Identity(d) + (a**2 - 1) / d * one * one.T
    facts = Facts(equations=((m * one, a * one), (one.T * m, a * one.T), (m * m.T, spreads)))
    left, right = layer_norm(x * m), layer_norm(x) * m
    evidence.proof(
        r"sufficient, for every size: $M\mathbf 1 = a\mathbf 1$, $\mathbf 1^\top M = a\mathbf 1^\top$, "
        r"$MM^\top = I + \frac{a^2-1}d\mathbf 1\mathbf 1^\top$ give $\mathrm{LN}(XM) = \mathrm{LN}(X)M$",
        proves(lambda: prove_equal(left, right, facts)),
        on="correction",
    )
    orthogonal = Facts(orthogonal=(m,))
    evidence.control(
        "no proof for a general orthogonal $M$", not proves(lambda: prove_equal(left, right, orthogonal)), kind="proof"
    )
    rng = Random(1)
    inside = [rotation_fixing_ones(3, rng) + c * sp.ones(3) / 3 for c in (0, 1, -3)] + list(examples.values())
    outside = [general_matrix(3, 3, rng) for _ in range(4)] + [2 * sp.eye(3), sp.diag(2, 1, 1), sp.diag(1, -1, 1)]
    agree = [
        norms.commutes_with_layer_norm(m) == is_zero(*(norms.commutator_at(m, row) for row in ROWS))
        for m in inside + outside
    ]
    evidence.exact(
        "the characterisation against LayerNorm itself, maps inside and outside",
        all(agree)
        and all(map(norms.commutes_with_layer_norm, inside))
        and not any(map(norms.commutes_with_layer_norm, outside)),
        on="correction",
        cases=len(agree),
    )


@checks("eq-62")
def test_acting_on_both_terms(evidence: EvidenceLog) -> None:
    h, w_2, w, m = matrix("H", n, d), matrix("W_2", d_ff, d), matrix("W", d, d_ff), matrix("M", d, d)
    hidden = matrix("Z", n, d_ff)
    both = proves(lambda: prove_equal((h * m + hidden * (w_2 * m)) * (m.I * w), (h + hidden * w_2) * w))
    evidence.proof(
        "no $M\\ne I$ can act on the stream and on what is written to it",
        not both,
        counterexample=r"for every size and every invertible $M$: stream $HM$, writer $W_2M$, reader $M^{-1}W$ "
        r"give the same readings",
    )
    block = matrix("B", n, d)
    difference = prove_equal((h + block * m) - (h + block) * m, h - h * m)
    evidence.proof("for every size the sides differ by $H - HM$", difference.normal_form != "0", on="correction")
    evidence.proof("with writers and readers transformed, every reading is kept", both, on="correction")
    one_sided = proves(lambda: prove_equal((h * m + hidden * w_2) * (m.I * w), (h + hidden * w_2) * w))
    evidence.control("with the writer left as it is", not one_sided, kind="proof")


def that_moves_nothing(first: sp.Matrix, w_2: sp.Matrix) -> sp.Matrix:
    """M = I + 2uvᵀ with (W_1; b_1)u = 0 and vᵀW_2 = 0, signed so that vᵀu ≥ 0: it leaves W_1, b_1 and W_2 alone."""
    u, v = first.nullspace()[0], w_2.T.nullspace()[0]
    return sp.eye(w_2.rows) + 2 * (u if u.dot(v) >= 0 else -u) * v.T


@checks("eq-57")
def test_what_invariance_requires(evidence: EvidenceLog) -> None:
    first, last = sp.Matrix([[1, 2, 3], [1, 0, -1]]), sp.Matrix([1, 1, 2])  # (W_1; b_1) and W_2
    m = sp.eye(3) + sp.Matrix([1, -2, 1]) * sp.Matrix([[1, 1, -1]])
    hidden = (sp.Matrix([[activations.x, 1]]) * first).applyfunc(activations.gelu)  # GELU(HM) is the same
    evidence.proof(
        "an invariant network satisfies (57)",
        first * m != first or m.inv() * last != last or is_zero((hidden * m.inv() - hidden).subs(activations.x, 0)),
        counterexample=r"$W_1 = (1,2,3)$, $b_1 = (1,0,-1)$, $W_2 = (1,1,2)^\top$, $M = I+(1,-2,1)^\top(1,1,-1)$ of "
        r"determinant $-1$: $W_1M = W_1$, $b_1M = b_1$, $M^{-1}W_2 = W_2$, so not even a parameter changes; yet at "
        r"$z = 0$ $\mathrm{GELU}(H)M^{-1}\ne\mathrm{GELU}(H)$",
    )
    rng, kept, missed = Random(5), [], []
    for width, units in ((1, 4), (2, 4), (2, 8)):
        first, last = general_matrix(width + 1, units, rng), general_matrix(units, width, rng)
        m = that_moves_nothing(first, last)
        hidden = (sp.Matrix([[1] * (width + 1)]) * first).applyfunc(activations.gelu)
        kept.append(first * m == first and m * last == last and m.det() > 0)
        missed.append(float((hidden * m.inv() - hidden).norm().evalf()))
    evidence.exact(
        r"general rational weights, $d_{ff}\ge d+2$ ($4d$ among them): $M = I+2uv^\top$ with $W_1u = 0$, $b_1u = 0$, "
        r"$v^\top W_2 = 0$ keeps every parameter; (57) at $z = (1,\dots,1)$ is missed by",
        all(kept),
        on="correction",
        figures={"difference": at_least(round(min(missed), 4), 1e-3)},
        cases=len(kept),
    )
    narrow = [general_matrix(width + 1, width + 1, rng) for width in (1, 2, 3)]
    evidence.control(
        r"at $d_{ff} = d+1$ general $W_1$, $b_1$ have no such $u$",
        not any(weights.nullspace() for weights in narrow),
        kind="exact",
    )
    h, m, w_2 = matrix("H", n, d_ff), matrix("M", d_ff, d_ff), matrix("W_2", d_ff, d)
    b_2 = matrix("b_2", 1, d)
    network = lambda act, w: act * w + ones(n) * b_2  # noqa: E731
    gelu = lambda z: Entrywise("gelu", z)  # noqa: E731
    gap = network(gelu(h * m), m.I * w_2) - network(gelu(h), w_2)
    target = gelu(h * m) * m.I * w_2 - gelu(h) * w_2
    evidence.proof(
        "for every size the outputs differ by exactly that", proves(lambda: prove_equal(gap, target)), on="correction"
    )
    undone = gelu(h * m) * m.I - gelu(h)
    evidence.control(
        "that difference is not zero for a general $M$",
        not proves(lambda: prove_equal(undone, sp.ZeroMatrix(n, d_ff))),
        kind="proof",
    )


@checks("eq-58")
def test_homogeneity(evidence: EvidenceLog) -> None:
    z = activations.x
    zero = sp.simplify(activations.gelu(0 * z) - 0 * activations.gelu(z))
    evidence.proof(
        "$\\lambda = 0$ is excluded too", zero != 0, counterexample=r"$\lambda = 0$: both sides are 0 for every $x$"
    )
    evidence.proof(
        r"$\lambda^2\,\mathrm{GELU}''(0) = \lambda\,\mathrm{GELU}''(0)$ with $\mathrm{GELU}''(0)\ne0$ leaves "
        r"$\lambda\in\{0,1\}$",
        activations.homogeneous_scales("gelu") == {0, 1},
        on="condition",
        figures={"second derivative at 0": str(sp.simplify(sp.diff(activations.gelu(z), z, 2).subs(z, 0)))},
    )
    distribution = (1 + sp.erf(z / sp.sqrt(2))) / 2
    density = sp.exp(-(z**2) / 2) / sp.sqrt(2 * sp.pi)
    evidence.proof(
        r"the formula is $x\,\Phi(x)$: $\Phi' $ is the Gaussian density and $\Phi(-\infty) = 0$",
        sp.simplify(sp.diff(distribution, z) - density) == 0 and sp.limit(distribution, z, -sp.oo) == 0,
        on="condition",
    )
    relu = sp.Max(2 * z, 0) - 2 * sp.Max(z, 0)
    evidence.control("ReLU is homogeneous", relu.subs(z, 3) == 0 and relu.subs(z, -3) == 0, kind="exact")


@checks("eq-59..60")
def test_feed_forward(evidence: EvidenceLog) -> None:
    record_identity(evidence, "hidden_permutation")
