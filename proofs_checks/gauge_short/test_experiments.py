"""Counts, errors and algorithms of the short version: what its last sentences promise."""

from __future__ import annotations

from fractions import Fraction

from proofs_checks.gauge.algorithms_support import drawn_layers, gaussian_like, relative_change_of_outputs
from proofs_checks.gauge.experiments.elements import act, sample
from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.subject import Subject, subject
from proofs_checks.gauge.experiments.trials import Form
from proofs_checks.gauge.experiments_support import generator
from proofs_checks.gauge.maximality_from_errors import record_maximality_from_errors
from proofs_checks.gauge.symbolic_support import record_identity
from proofs_checks.gauge_short.reported import EPSILON, LARGEST_ERRORS
from symgauge.algorithms import (
    AttentionParameters,
    align,
    apply,
    canonicalize,
    compress,
    expand,
    group_dimension,
    project_gradient,
    random_element,
)
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal


@checks("s9")
def test_redundancy_of_the_base_model(evidence: EvidenceLog) -> None:
    layers, heads, width = 12, 12, 64
    total = layers * heads * (width**2 + width**2)
    evidence.audit(
        "twelve layers of 98,304",
        on="reproduction",
        figures={"redundant dimensions": equal(total, 1_179_648), "against the claim": at_least(total, 1_100_000)},
    )


@checks("s10")
def test_gpt2_layers(evidence: EvidenceLog) -> None:
    worst, cases, weakest = 0.0, 0, 1.0
    for sizes in (Sizes(12, 64, 64, 768), Sizes(25, 64, 64, 1600)):
        s: Subject = subject(sizes, 2, generator(), tokens=16, form=Form(causal=True), biased=True)
        some = sample(sizes, 2, generator(1))
        errors = s.under(some)
        worst, cases = max(worst, float(errors.max())), cases + errors.numel()
        weakest = min(weakest, float(s.errors(act(s.layer, element) for element in some.each()).min()))
    evidence.numeric(
        "attention layers of GPT-2 and GPT-2 XL, random weights and biases, causal, float64: largest error",
        on="reproduction",
        figures={"error": at_most(float(f"{worst:.0e}"), 1e-14)},
        cases=cases,
    )
    evidence.control("biases left as they were", figures={"change": at_least(round(weakest, 2), 0.01)})
    record_identity(evidence, "covariant_biases", on="reproduction")
    evidence.missing(
        "number of trials, elements and precision", "which outputs", "what is done with biases", "the numbers"
    )


@checks("s11")
def test_maximality_from_errors(evidence: EvidenceLog) -> None:
    record_maximality_from_errors(evidence)


@checks("s12")
def test_error_band(evidence: EvidenceLog) -> None:
    errors = [error / EPSILON for error in LARGEST_ERRORS.values()]
    smallest, largest = min(errors), max(errors)
    figures = {"smallest maximum, ε": at_least(round(smallest, 2), 10), "largest, ε": at_most(round(largest, 2), 25)}
    evidence.audit("maxima of Tables 2, 3 and 6 of the long version", figures=figures, cases=len(errors))
    ends = {"from": equal(f"{smallest:.1f}", "2.5"), "to": equal(f"{largest:.0f}", "33")}
    evidence.audit("their range", on="correction", figures=ends)


@checks("s13")
def test_enabled_algorithms(evidence: EvidenceLog) -> None:
    query, key, on_query, on_key = map(Fraction, (1, 2, 2, 1))
    z = (on_query / query - on_key / key) / 2
    projected = on_query - query * z, on_key + key * z
    evidence.exact(
        "the printed projection leaves a true gradient free of gauge directions",
        query * projected[0] == key * projected[1],
        counterexample=r"$q = 1$, $k = 2$, $L = \frac12(qk-1)^2$: $(2,1)$, orthogonal to the orbit, becomes "
        r"$(\frac54,\frac52)$, which is not",
    )
    left, apart, stored, cases, power = 0.0, 0.0, 0, 0, 1.0
    for layer, seed in drawn_layers():
        update = gaussian_like(layer, seed)
        horizontal = project_gradient(layer, update).horizontal
        left = max(left, project_gradient(layer, horizontal).vertical.norm() / update.norm())
        power = min(power, project_gradient(layer, update).vertical.norm() / update.norm())
        moved = apply(layer, random_element(layer, seed, 30))
        apart = max(apart, align(layer, moved).after / layer.norm())
        power = min(power, layer.distance(moved) / layer.norm())
        stored += _stored_less(layer)
        cases += 1
    evidence.numeric(
        "random layers: projected, aligned, compressed",
        left < 1e-12 and apart < 1e-9 and stored == cases,
        on="condition",
        figures={
            "vertical part left": at_most(left, 1e-12),
            "distance left after aligning": at_most(apart, 1e-9),
            "layers stored with dim G numbers less": equal(stored, cases),
        },
        cases=cases,
    )
    evidence.control("vertical part and distance before", figures={"least": at_least(power, 1e-2)})


def _stored_less(p: AttentionParameters) -> bool:
    packed = compress(canonicalize(p, "minor"))
    kept = relative_change_of_outputs(p, expand(packed)) < 1e-9
    return kept and packed.values.numel() == p.size - group_dimension(p)
