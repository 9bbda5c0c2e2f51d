"""Shared keys and values: Theorem 3.2, and how far the relabelings of heads and groups go."""

from __future__ import annotations

from functools import partial
from math import factorial

import sympy as sp
from hypothesis import strategies as st

from proofs_checks.gauge.reported import TEXT
from proofs_checks.gauge.shared_heads import (
    NO_BIAS,
    SIZES,
    group_element,
    record_resplitting,
    shared,
)
from proofs_checks.support.algebra import group
from proofs_checks.support.attention_biases import record_more_with_biases
from proofs_checks.support.census import census
from proofs_checks.support.exact_function import ExactFunction
from proofs_checks.support.poles import prove_factors, prove_poles
from proofs_checks.support.silent_head import nullity_with_a_silent_head
from proofs_checks.support.symbolic_evidence import proves, record_identity
from symgauge import strategies as sg
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal, for_all
from symgauge.models.reference import ReferenceModel, random_parameters
from symgauge.numeric import assert_changes, fibre_dimension_float, measure_invariance, random_inputs
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.dimensions import gqa
from symgauge.symbolic.identities import d, d_k, d_v, matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.tangent import random_attention
from symgauge.symbolic.words import Facts


@checks("thm-3.2a", "thm-3.2b")
def test_continuous_part(evidence: EvidenceLog) -> None:
    acts, exactly = "thm-3.2a", "thm-3.2b"
    record_identity(evidence, "shared_group", only=acts)
    record_identity(evidence, "shared_group", on="condition", only=exactly)
    a = shared(SIZES[0])
    function = ExactFunction(a)
    evidence.exact(
        r"integer elements of determinant $-1$ keep the function over GF(p)",
        all(function.keeps(partial(group_element, a, seed=100 * s)) for s in range(4)),
        cases=4,
        only=acts,
    )
    evidence.control(
        "a head that uses the element of another group",
        not function.keeps(partial(group_element, a, seed=0, of_group=lambda i: (i + 1) % 2)),
        kind="exact",
        only=acts,
    )
    record_drawn_elements(evidence, acts)
    record_resplitting(evidence, shared((5, 2, 1, 2, 3)), exactly)
    record_more_with_biases(
        evidence, shared((5, 4, 2, 2, 3)), lambda a: gqa().at(g=a.groups, d_k=a.d_k, d_v=a.d_v), exactly
    )
    found = census([shared(s) for s in SIZES], lambda a: gqa().at(g=a.groups, d_k=a.d_k, d_v=a.d_v))
    evidence.exact(
        r"exact nullity is $g(d_k^2+d_v^2)$, nothing unexplained",
        on="condition",
        figures=found.figures,
        cases=found.cases,
        only=exactly,
    )
    w_k, left, b = matrix("W_K", d, d_k), matrix("Λ", d_k, d), matrix("B", d_k, d_k)
    w_v, below, c = matrix("W_V", d, d_v), matrix("Λ_V", d_v, d), matrix("C", d_v, d_v)
    evidence.proof(
        r"for every size: poles give the multiset of $(M_i,N_i)$, whatever heads share; full-rank factors of one $M$ "
        r"(one "
        r"$N$) differ by one $A$ (one $C$); and $W_K^{(r)}$ and $W_V^{(r)}$ alone determine these ($\Lambda W_K = I$ "
        r"gives $\Lambda(W_KB) = B$), so they are the same for all heads of a group",
        prove_poles()
        and prove_factors()
        and proves(lambda: prove_equal(left * (w_k * b), b, Facts(equations=((left * w_k, sp.Identity(d_k)),))))
        and proves(lambda: prove_equal(below * (w_v * c), c, Facts(equations=((below * w_v, sp.Identity(d_v)),)))),
        on="condition",
        only=exactly,
    )
    point = random_attention(d=4, d_k=2, d_v=2, groups=(0, 0, 1))
    solved = lie.characterise(point, [lie.query_key_generators(point), lie.value_output_generators(point)])
    evidence.exact(
        "first-order conditions solved over the rationals, groups of unequal size: the generators and nothing else",
        solved.inside and solved.free,
        on="condition",
        figures={"unexplained": equal(solved.unexplained, 0)},
        only=exactly,
    )
    small = shared((5, 4, 2, 2, 3))
    measured = fibre_dimension_float(ReferenceModel(small, seed=2), random_inputs(small, 2, batch=40))
    evidence.numeric(
        "the same nullity from float64 singular values with a gap",
        on="condition",
        figures={"nullity": equal(measured.nullity, 2 * (4 + 9)), "gap": at_least(measured.singular.gap, 1e4)},
        only=exactly,
    )
    evidence.control(
        "a head that writes nothing: more is free",
        figures={"nullity": at_least(nullity_with_a_silent_head(small, 2, batch=40), measured.nullity + 1)},
        only=exactly,
    )


def record_drawn_elements(evidence: EvidenceLog, only: str) -> None:
    worst, weakest = 0.0, 1.0

    def keeps(a: Architecture, seed: int) -> bool:
        nonlocal worst, weakest
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        found = measure_invariance(a, roles, lambda r, s: group_element(a, r, s), seed, x)
        worst = max(worst, found.ratio)
        untied = group_element(a, roles, seed, lambda i: i)  # a head's own A and C in place of its group's
        weakest = min(weakest, assert_changes(a, roles, untied, x, what="elements not tied in a group"))
        return found.holds

    drawn = sg.architectures(
        kinds=["attention"], max_parameters=300, max_layers=1, attention="softmax", rotary=None, heads=4, groups=2,
        **NO_BIAS,
    )  # fmt: skip
    run = for_all(keeps, a=drawn, seed=st.integers(0, 999))
    evidence.property(
        "drawn layers and elements: the change stays below what rounding explains",
        run,
        figures={"largest observed / allowed": at_most(worst, 1.0)},
        only=only,
    )
    evidence.control(
        "elements that differ between the heads of a group",
        figures={"smallest change": at_least(weakest, 1e-3)},
        only=only,
    )


@checks("thm-3.2d")
def test_without_sharing(evidence: EvidenceLog) -> None:
    numbers = (2, 3, 4)
    orders = [factorial(h) * factorial(h) for h in numbers]
    evidence.audit(
        "order of the discrete part at $g = h = 2, 3, 4$: $S_h\\times S_g$ of Theorem 3.2, $S_h$ of Theorem 3.6",
        figures={"orders": equal(orders, [factorial(h) for h in numbers])},
    )
    evidence.control("for one head both have order 1", factorial(1) * factorial(1) == factorial(1), kind="audit")
    evidence.audit(
        "the theorem, whose groups share weights, replaces A1, which forbids it",
        figures={
            "times": at_least(TEXT.count("with (A1) replaced"), 1),
            "A1": TEXT.quote("no weight sharing"),
            "Theorem 3.2": TEXT.quote("with each group r sharing"),
        },
    )
    evidence.control(
        "its replacement of A2 is found by the same words", TEXT.count("with (A2) replaced") > 0, kind="audit"
    )
    counted = [sum(1 for _ in group.stabiliser(range(h))) for h in numbers]
    evidence.exact(
        "the stabiliser of $m = \\mathrm{id}$, enumerated",
        on="correction",
        figures={"orders": equal(counted, [factorial(h) for h in numbers])},
        cases=len(numbers),
    )
