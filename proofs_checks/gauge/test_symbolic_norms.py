"""LayerNorm and linear maps (§4, C.3), GELU and the feed-forward network (C.2)."""

from __future__ import annotations

from random import Random

import sympy as sp

from proofs_checks.gauge.algebra import activations, norms
from proofs_checks.support.symbolic_evidence import is_zero, proves, record_identity
from symgauge.claims import EvidenceLog, checks
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


@checks("eq-57")
def test_what_invariance_requires(evidence: EvidenceLog) -> None:
    before, after, hidden = activations.doubled_pair()
    evidence.proof(
        "an invariant network satisfies (57)",
        sp.simplify(before - after) != 0 or hidden == 0,
        counterexample=r"$W_1 = (1,-1)$, $b_1 = 0$, $W_2 = (1,-1)^\top$, $M = 2I$: both networks are $z\mapsto z$, yet "
        r"$\frac12\mathrm{GELU}(2z)\ne\mathrm{GELU}(z)$",
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


@checks("eq-59..60", "lem-C.3b")
def test_feed_forward(evidence: EvidenceLog) -> None:
    record_identity(evidence, "hidden_permutation", only="eq-59..60")
    more = "lem-C.3b"
    z = activations.x
    doubled = activations.silu(z) * (2 * z) * sp.Rational(1, 2) - activations.silu(z) * z
    evidence.exact(
        "one gated unit, $w_u$ doubled and $w_d$ halved, is another function",
        sp.simplify(doubled) != 0,
        counterexample=r"$\mathrm{SiLU}(z)\cdot2z\cdot\frac12 = \mathrm{SiLU}(z)\cdot z$, no permutation",
        only=more,
    )
    for name in ("gated_rescaling", "relu_rescaling", "tanh_signs"):
        record_identity(evidence, name, on="correction", only=more)
