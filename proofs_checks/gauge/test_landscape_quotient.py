"""The quotient by the group: its dimension (§5.2, (77)), and head permutations as paths (end of the proof of E.5)."""

from __future__ import annotations

import sympy as sp

from proofs_checks.gauge.fibre_components import component, record_components
from proofs_checks.support.algebra import linearised
from proofs_checks.support.algebra.group import GaugeElement, act
from proofs_checks.support.attention_points import general_layer
from proofs_checks.support.census import census, describe
from proofs_checks.support.explicit_attention import same
from proofs_checks.support.small_architectures import ALONE
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.accounting import account
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.models.reference import ReferenceModel
from symgauge.numeric import fibre_dimension_float, random_inputs

LAYERS = tuple(Architecture(*size, context=3, **ALONE) for size in ((4, 2, 1, 2), (5, 2, 3, 2), (5, 3, 2, 4)))
STACKS = (
    Architecture(4, 2, 1, 2, layers=2, context=3, causal=False),
    Architecture(3, 2, 2, 1, layers=2, context=3),
    Architecture(3, 1, 2, 1, layers=3, context=3),
)


def claimed(a: Architecture) -> int:
    """L·h(d_k² + d_v²)."""
    return a.layers * a.heads * (a.d_k**2 + a.d_v**2)


@checks("sec5-4", "eq-77")
def test_effective_dimension(evidence: EvidenceLog) -> None:
    biased = Architecture(2, 1, 1, 1, context=3, key_bias=True, **ALONE)
    rank = account(biased).fibre
    evidence.exact(
        "effective dimension (exact rank of the Jacobian) of one head with a key bias, $d = 2$, $d_k = d_v = 1$",
        figures={"rank": equal(rank.parameters - rank.nullity, rank.parameters - claimed(biased))},
        counterexample=r"$d = 2$, $h = d_k = d_v = 1$ with a key bias: 9 parameters, and the rank is 6, not 7: $b_K$ "
        r"is free",
    )
    heads, d_k, d_v, layers = (sp.Symbol(letter, positive=True) for letter in ("h", "d_k", "d_v", "L"))
    group = heads * (d_k**2 + d_v**2)
    evidence.audit(
        r"the two right sides of (77), with $\dim G_{\max}$ as in Definition 3.1 and Corollary 3.7, as functions of "
        r"$L$",
        figures={"difference": equal(str(sp.factor(layers * group - group)), "0")},
        only="eq-77",
    )
    evidence.proof(
        r"for every size: the action is free where $W_Q$ and $W_V$ have full rank, so an orbit has the dimension of "
        r"the group, $h(d_k^2+d_v^2)$ per layer",
        proves(linearised.prove_freeness),
        on="condition",
    )
    wide = Architecture(2, 1, 3, 1, context=3, **ALONE)
    evidence.control(
        r"queries and keys wider than the stream, $d = 2$, $d_k = 3$, $d_v = 1$: the count is another",
        kind="exact",
        figures={"nullity": at_most(account(wide).fibre.require_decided().nullity, claimed(wide) - 1)},
    )
    alone, stacked = census(LAYERS, claimed), census(STACKS, claimed)
    evidence.exact(
        "exact rank of single layers: $P-h(d_k^2+d_v^2)$, nothing unexplained",
        on="condition",
        figures=alone.figures,
        cases=alone.cases,
    )
    evidence.exact(
        "exact rank of stacks of two and three layers with residual connections: $P-L\\,h(d_k^2+d_v^2)$",
        on="condition",
        figures=stacked.figures,
        cases=stacked.cases,
    )
    a = STACKS[1]
    measured = fibre_dimension_float(ReferenceModel(a, seed=1), random_inputs(a, 1, batch=60))
    evidence.numeric(
        f"the same rank in float64, with its gap ({describe(a)})",
        on="condition",
        figures={"nullity": equal(measured.nullity, claimed(a)), "gap": at_least(measured.singular.gap, 1e4)},
    )
    open_stack = account(STACKS[0].replace(residual=False)).fibre.nullity
    evidence.control(
        r"a stack without residual connections has $d^2$ more: $GL(d)$ between its layers",
        kind="exact",
        figures={"nullity": equal(open_stack, claimed(STACKS[0]) + 16)},
    )


@checks("E.5-disc")
def test_permutations_are_no_paths(evidence: EvidenceLog) -> None:
    point = general_layer(3, 2, 1, 1, seed=3)
    one = sp.ImmutableMatrix([[1]])
    swapped = act(point, GaugeElement((one, one), (one, one), (1, 0)))
    t = sp.Symbol("t", real=True)
    start, end = (sp.Matrix([entry for w in (*p.w_q, *p.w_k) for entry in w]) for p in (point, swapped))
    jump = start + sp.Heaviside(t - 1, 1) * (end - start)
    gap = (jump.subs(t, 1) - jump.applyfunc(lambda entry: sp.limit(entry, t, 1, "-"))).norm()
    evidence.audit(
        "distance between the end of the path and its limit from the left, for a swap of two heads of an integer layer",
        figures={"jump": equal(str(gap), "0")},
        counterexample=r"the path stays at $\theta$ for $t<1$ and is $\theta\cdot\sigma\ne\theta$ at $t = 1$",
    )
    straight = start + t * (end - start)
    evidence.control(
        "the straight segment has no jump, by the same measure",
        is_zero(straight.subs(t, 1) - straight.applyfunc(lambda entry: sp.limit(entry, t, 1, "-"))),
        kind="audit",
    )
    m_1, m_2 = sp.symbols("m_1 m_2", real=True)
    discriminant = (m_1 + m_2) ** 2 - 4 * m_1 * m_2
    evidence.proof(
        r"the fibre fixes $m_1+m_2$ and $m_1m_2$ (an entry of $M_1$, $M_2$ in which they differ), hence "
        r"$(m_1-m_2)^2\ne0$: $m_1-m_2$ keeps its sign along every path, and a swap changes it",
        sp.expand(discriminant - (m_1 - m_2) ** 2) == 0,
        on="correction",
    )
    evidence.exact(
        "the swapped layer is the same function and has another component label",
        same(point, swapped, tokens=3, cases=2) and component(point, swapped) != component(point, point),
        on="correction",
    )
    record_components(evidence, on="correction")
