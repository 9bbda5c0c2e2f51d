"""What is free in attention variants of the literature, counted by hand and measured."""

from __future__ import annotations

import symgauge
from proofs_checks.discovered.counting import record
from proofs_checks.discovered.specimens.attention import variants
from symgauge.claims import at_least, checks, equal

LAMBDAS = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")


def nullity_of(module, inputs, *moving):
    """Free directions, of the named tensors alone where some are named."""
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(not moving or name in moving)
    return symgauge.dimension(module, inputs).require_decided().nullity


@checks("differential-attention")
def test_differential_attention(evidence):
    record(evidence, "differential-attention")


@checks("differential-lambda")
def test_the_vectors_of_lambda(evidence):
    variant = variants()["differential-attention"]
    for sizes in variant.sizes:
        d_k, (module, inputs) = sizes["d_k"], variant.make(sizes)
        pairs = [nullity_of(module, inputs, *pair) for pair in (LAMBDAS[:2], LAMBDAS[2:])]
        together = nullity_of(module, inputs, *LAMBDAS)
        figures = {
            "each pair alone": equal(pairs, [2 * d_k - 1] * 2),
            "all four": equal(together, 4 * d_k - 1),
            "more than the pairs give": equal(together - sum(pairs), 1),
        }
        evidence.exact(f"exact rank of λ alone at $d_k = {d_k}$", figures=figures)
    own = variant.sizes[0]
    module, inputs = variant.make(own)
    crossed = nullity_of(module, inputs, LAMBDAS[0], LAMBDAS[2])
    evidence.control(
        "vectors of different products make no pair",
        kind="exact",
        figures={"off from $2d_k - 1$ for each": at_least(abs(crossed - 2 * (2 * own["d_k"] - 1)), 1)},
    )


@checks("gated-attention")
def test_gated_attention(evidence):
    record(evidence, "gated-attention")


@checks("talking-heads")
def test_talking_heads(evidence):
    record(evidence, "talking-heads")


@checks("talking-heads-span")
def test_score_maps_in_their_span(evidence):
    variant = variants()["talking-heads"]
    for d_model, surplus in ((3, 3), (4, 0)):
        sizes = {"d_model": d_model, "heads": 3, "d_k": 2, "d_v": 1}
        rigid = 3 * (2**2 + 1) + 3 * (1 + 1)
        more = nullity_of(*variant.make(sizes)) - rigid
        evidence.exact(f"exact rank at $d = {d_model}$", figures={"beyond groups and factors": equal(more, surplus)})
    module, inputs = variant.make({"d_model": 3, "heads": 3, "d_k": 2, "d_v": 1})
    module.mix_scores.requires_grad_(False)
    rest = symgauge.dimension(module, inputs).require_decided().nullity
    evidence.control(
        "with the mixture of scores held fixed nothing is beyond",
        kind="exact",
        figures={"fewer than the surplus and factors": at_least(rigid + 3 - rest, 6)},
    )


@checks("attention-with-sinks")
def test_attention_with_sinks(evidence):
    record(evidence, "attention-with-sinks")


@checks("sinks-pin-biases")
def test_sinks_pin_biases(evidence):
    variant = variants()["attention-with-sinks"]
    for sizes in variant.sizes:
        if sizes["d_k"] <= sizes["d_model"]:
            module, inputs = variant.make(sizes)
            with_sinks = nullity_of(module, inputs)
            module.sinks.data.fill_(float("-inf"))
            ...


@checks("gated-linear-attention")
def test_gated_linear_attention(evidence):
    record(evidence, "gated-linear-attention")


@checks("sigmoid-attention")
def test_sigmoid_attention(evidence):
    record(evidence, "sigmoid-attention")


@checks("multi-query-attention")
def test_multi_query_attention(evidence):
    record(evidence, "multi-query-attention")


@checks("low-rank-adapters")
def test_low_rank_adapters(evidence):
    record(evidence, "low-rank-adapters")


@checks("low-rank-adapters-alone")
def test_low_rank_adapters_alone(evidence):
    record(evidence, "low-rank-adapters-alone")


@checks("soft-mixture")
def test_soft_mixture(evidence):
    record(evidence, "soft-mixture")


@checks("cosine-attention")
def test_cosine_attention(evidence):
    record(evidence, "cosine-attention")
