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
from symgauge.architecture import Rotary
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.models.reference import random_parameters
from symgauge.numeric import assert_changes, measure_invariance, random_inputs


@checks("cor-3.3a", "cor-3.4")
def test_rotary_sharing(evidence: EvidenceLog) -> None:
    exactly, counted = "cor-3.3a", "cor-3.4"
    record_identity(evidence, "rotary_commutant", on="condition")
    record_resplitting(evidence, shared((5, 2, 1, 2, 3), Rotary.standard(2)), exactly)
    turned = shared((5, 4, 2, 2, 3), Rotary.standard(2))
    record_more_with_biases(evidence, turned, lambda a: a.groups * (a.d_k + a.d_v**2), exactly)
    full = [shared(s, Rotary.standard(s[3])) for s in ROTARY]
    found = census(full, lambda a: a.groups * (a.d_k + a.d_v**2))
    evidence.exact(
        "exact nullity with standard frequencies is $g(d_k+d_v^2)$, nothing unexplained",
        on="condition",
        figures=found.figures,
        cases=found.cases,
    )
    plain = census([shared(SIZES[1]), shared(SIZES[4])], lambda a: a.groups * (a.d_k**2 + a.d_v**2))
    evidence.exact(
        "without rotary positions $g(d_k^2+d_v^2)$", on="condition", figures=plain.figures, cases=2, only=counted
    )
    odd = [
        shared((7, 4, 2, 4, 3), Rotary.standard(2, unrotated=2)),
        shared((7, 4, 2, 4, 3), Rotary((Fraction(1, 10), Fraction(1, 10)))),
        shared((7, 4, 2, 4, 3), Rotary((Fraction(1, 10), Fraction(9, 10)))),
    ]
    dims = [a.rotary.commutant_dimension for a in odd if a.rotary is not None]
    special = census(odd, lambda a: a.groups * ((a.rotary.commutant_dimension if a.rotary else 0) + a.d_v**2))
    evidence.exact(
        r"partial rotary, equal and opposite frequencies: $g(\dim\mathcal C+d_v^2)$ still, with $\dim\mathcal C > d_k$",
        on="condition",
        figures=special.figures | {"dim C": equal(dims, [6, 8, 8])},
        cases=special.cases,
        only=exactly,
    )
    evidence.exact(
        r"$\dim\mathcal C_{RoPE} = d_k$",
        special.accounts[0].fibre.nullity == 2 * (4 + 9),
        counterexample=r"$d_k = 4$ with two channels rotated (as in GPT-NeoX): $\dim\mathcal C = 2+4 = 6$; with two "
        r"equal or "
        r"opposite frequencies, 8",
        figures={"nullity": [a.fibre.nullity for a in special.accounts]},
        only=counted,
    )
    worst, weakest = 0.0, 1.0
    for seed, a in enumerate(full):
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        invariance = measure_invariance(a, roles, lambda r, s, a=a: group_element(a, r, s), seed, x)
        worst = max(worst, invariance.ratio)
        general = {
            QUERY: roles[QUERY] @ unimodular(a.d_k, seed)[0],
            KEY: roles[KEY] @ unimodular(a.d_k, seed)[1].mT,
        }
        weakest = min(weakest, assert_changes(a, roles, general, x))
    evidence.numeric(
        "elements of the commutant, of determinant of either sign, keep the function in float64",
        on="condition",
        figures={"largest observed / allowed": at_most(worst, 1.0)},
        cases=len(full),
    )
    evidence.control("a general $A$ that commutes with no rotation", figures={"change": at_least(weakest, 1e-3)})
