"""Shared keys and values with rotary positions: Corollaries 3.3 and 3.4."""

from __future__ import annotations

from fractions import Fraction

from proofs_checks.gauge.shared_heads import (
    KEY,
    QUERY,
    ROTARY,
    SIZES,
    group_element,
    record_resplitting,
    shared,
)
from proofs_checks.support.attention_biases import record_more_with_biases
from proofs_checks.support.census import census
from proofs_checks.support.integer_matrices import unimodular
from proofs_checks.support.symbolic_evidence import record_identity
from symgauge.architecture import Architecture, Rotary
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.models.reference import random_parameters
from symgauge.numeric import assert_changes, measure_invariance, random_inputs

FULL = [shared(s, Rotary.standard(s[3])) for s in ROTARY]
ODD = [
    shared((7, 4, 2, 4, 3), Rotary.standard(2, unrotated=2)),
    shared((7, 4, 2, 4, 3), Rotary((Fraction(1, 10), Fraction(1, 10)))),
    shared((7, 4, 2, 4, 3), Rotary((Fraction(1, 10), Fraction(9, 10)))),
]


def commutant(a: Architecture) -> int:
    return a.rotary.commutant_dimension if a.rotary is not None else a.d_k**2


def group_dimension(a: Architecture) -> int:
    return a.groups * (commutant(a) + a.d_v**2)


@checks("cor-3.3a")
def test_rotary_sharing(evidence: EvidenceLog) -> None:
    record_identity(evidence, "rotary_commutant", on="condition")
    record_resplitting(evidence, shared((5, 2, 1, 2, 3), Rotary.standard(2)), "cor-3.3a")
    record_more_with_biases(evidence, shared((5, 4, 2, 2, 3), Rotary.standard(2)), group_dimension)
    found = census(FULL, lambda a: a.groups * (a.d_k + a.d_v**2))
    evidence.exact(
        "exact nullity with standard frequencies is $g(d_k+d_v^2)$, nothing unexplained",
        on="condition",
        figures=found.figures,
        cases=found.cases,
    )
    special = census(ODD, group_dimension)
    evidence.exact(
        r"partial rotary, equal and opposite frequencies: $g(\dim\mathcal C+d_v^2)$ still, with $\dim\mathcal C > d_k$",
        on="condition",
        figures=special.figures | {"dim C": equal([commutant(a) for a in ODD], [6, 8, 8])},
        cases=special.cases,
    )
    worst, weakest = elements_of_the_commutant()
    evidence.numeric(
        "elements of the commutant, of determinant of either sign, keep the function in float64",
        on="condition",
        figures={"largest observed / allowed": at_most(worst, 1.0)},
        cases=len(FULL),
    )
    evidence.control("a general $A$ that commutes with no rotation", figures={"change": at_least(weakest, 1e-3)})


def elements_of_the_commutant() -> tuple[float, float]:
    """The largest change by elements of the group, of what rounding allows, and the least by a general A."""
    worst, weakest = 0.0, 1.0
    for seed, a in enumerate(FULL):
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        invariance = measure_invariance(a, roles, lambda r, s, a=a: group_element(a, r, s), seed, x)
        worst = max(worst, invariance.ratio)
        general = {
            QUERY: roles[QUERY] @ unimodular(a.d_k, seed)[0],
            KEY: roles[KEY] @ unimodular(a.d_k, seed)[1].mT,
        }
        weakest = min(weakest, assert_changes(a, roles, general, x))
    return worst, weakest


@checks("cor-3.4")
def test_dimension(evidence: EvidenceLog) -> None:
    record_identity(evidence, "rotary_commutant")
    found = census(FULL, lambda a: a.groups * (a.d_k + a.d_v**2))
    evidence.exact(
        "exact nullity of single layers with the standard frequencies is $g(d_k+d_v^2)$, nothing unexplained",
        figures=found.figures,
        cases=found.cases,
    )
    plain = census([shared(SIZES[1]), shared(SIZES[4])], group_dimension)
    evidence.exact("without rotary positions $g(d_k^2+d_v^2)$", figures=plain.figures, cases=plain.cases)
    widths = (2, 4, 64, 96, 128)
    evidence.exact(
        r"the commutant of $d_k/2$ planes with standard frequencies has dimension $d_k$",
        figures={"dim C": equal([Rotary.standard(n).commutant_dimension for n in widths], list(widths))},
        cases=len(widths),
    )
    special = census(ODD, group_dimension)
    evidence.control(
        "two channels unrotated, equal and opposite frequencies: no standard constructions, and the same engine finds "
        "more",
        kind="exact",
        figures={
            "dim C": equal([commutant(a) for a in ODD], [6, 8, 8]),
            "least nullity": at_least(min(a.fibre.nullity for a in special.accounts), 2 * (4 + 9) + 1),
        },
    )
