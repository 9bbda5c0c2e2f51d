"""Counts, errors and algorithms of the short version: what its last sentences promise."""

from __future__ import annotations

from statistics import median

from proofs_checks.gauge_short.reported import EPSILON, LARGEST_ERRORS, TEXT
from proofs_checks.gauge_short.transformations import heads_mixed, stream_rotated, well_conditioned_element
from proofs_checks.support.attention_biases import record_symmetries_of_biases
from proofs_checks.support.attention_layers import ALL_BIASES, drawn_layers, gaussian_like, relative_change_of_outputs
from proofs_checks.support.silence import record_silence
from proofs_checks.support.symbolic_evidence import record_identity
from symgauge.algorithms import (
    AttentionParameters,
    align,
    apply,
    canonicalize,
    compress,
    expand,
    group_dimension,
    project_gradient,
    random_attention,
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
    fewer = total * (layers - 1) // layers
    evidence.control(
        "eleven layers do not reach the claim", kind="audit", figures={"dimensions": at_most(fewer, 1_100_000)}
    )


@checks("s10")
def test_gpt2_layers(evidence: EvidenceLog) -> None:
    errors, changes = [], []
    for heads, width in ((12, 768), (25, 1600)):
        layer = random_attention(width, heads, 64, 64, biases=ALL_BIASES)
        for seed in range(2):
            moved = apply(layer, well_conditioned_element(layer, seed))
            left = moved.replace(**{name: layer.tensors()[name] for name in ALL_BIASES})
            errors.append(relative_change_of_outputs(layer, moved, seed, causal=True))
            changes.append(relative_change_of_outputs(layer, left, seed, causal=True))
    evidence.numeric(
        "attention layers of GPT-2 and GPT-2 XL, random weights and biases, causal, float64: largest error",
        on="reproduction",
        figures={"error": at_most(float(f"{max(errors):.0e}"), 1e-14)},
        cases=len(errors),
    )
    evidence.control("biases left as they were", figures={"change": at_least(round(min(changes), 2), 0.01)})
    record_identity(evidence, "covariant_biases", on="reproduction")
    searched = ("trials", "random inputs", "samples", "float64", "float32", "bias", "logits", "checkpoint")
    why = (
        "the pretrained models were not run, and the abstract, which alone is at hand, does not say on what, in which "
        "precision and with which biases they were"
    )
    record_silence(evidence, TEXT, why, searched, there="pretrained GPT-2 models")


@checks("s11")
def test_maximality_from_errors(evidence: EvidenceLog) -> None:
    record_symmetries_of_biases(evidence)
    least, cases = {}, 0
    for name, biases in (("without biases", ()), ("with biases", ALL_BIASES)):
        layer = random_attention(256, 4, 64, 64, biases=biases)
        found = [
            [relative_change_of_outputs(layer, outside(layer, seed), seed) for seed in range(4)]
            for outside in (heads_mixed, stream_rotated)
        ]
        least[name] = min(map(median, found))
        cases += sum(map(len, found))
    evidence.numeric(
        "maps outside the group on a layer where it is complete and on one where it is not: smallest median change",
        on="correction",
        figures={name: at_least(round(change, 3), 1e-2) for name, change in least.items()},
        cases=cases,
    )
    layer = random_attention(256, 4, 64, 64)
    inside = relative_change_of_outputs(layer, apply(layer, well_conditioned_element(layer, 0)), 0)
    evidence.control("an element of the group", figures={"change": at_most(float(f"{inside:.0e}"), 1e-12)})


@checks("s12")
def test_error_band(evidence: EvidenceLog) -> None:
    errors = [error / EPSILON for error in LARGEST_ERRORS.values()]
    inside = {name for name, error in LARGEST_ERRORS.items() if 10 <= error / EPSILON <= 25}
    evidence.audit(
        "the experiments that the line sums up are not at hand; of the largest errors in Tables 2, 3 and 6 of the long "
        f"version {len(inside)} of {len(errors)} are in the band",
        False if TEXT.count("Table") else None,
        on="reproduction",
        figures={"smallest, ε": round(min(errors), 1), "largest, ε": round(max(errors), 1)},
        cases=len(errors),
    )
    evidence.control(
        "query-key maps alone and GPT-3 are outside, by the same bounds",
        not inside & {"QK only", "GPT-3 config"},
        kind="audit",
    )


@checks("s13")
def test_enabled_algorithms(evidence: EvidenceLog) -> None:
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
