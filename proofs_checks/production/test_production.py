"""True dimensions of production models: each formula holds on small instances, and is evaluated at full size."""

from __future__ import annotations

from proofs_checks.production import instances
from proofs_checks.production.recording import record
from proofs_checks.production.segment_types import nullity
from proofs_checks.production.stated_numbers import stated
from symgauge.claims import checks, equal
from symgauge.presets import preset
from symgauge.symbolic.dimensions import gpt2_model, llama_model


@checks("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
def test_gpt2(evidence):
    record(evidence, instances.gpt2(), "key-bias", gpt2_model(tied=True))


@checks("bert-base", "bert-large")
def test_bert(evidence):
    measured = instances.bert()
    record(evidence, measured, "key-bias")
    a = instances.BERT
    found = {name: nullity(a, types) for name, types in (("one type", (0, 0)), ("both types", (0, 1)))}
    evidence.exact(
        "nullity of the first instance on sequences of one segment type, and of both: $d - 1$ fewer",
        figures={
            "one type": equal(found["one type"], measured[0].formula),
            "both types": equal(found["both types"], found["one type"] - (a.d_model - 1)),
        },
        cases=2,
    )
    for claim in evidence.claims:
        both = stated(claim)[1] - (preset(claim.name).d_model - 1)
        evidence.exact("what the remark says of both types", f" {both:,} of " in claim.remark, only=claim.name)


@checks("llama-2-7b", "llama-3-8b", "llama-3-70b")
def test_llama(evidence):
    record(evidence, instances.llama(), "stream-map", llama_model(tied=False))


@checks("mistral-7b")
def test_mistral(evidence):
    record(evidence, instances.decoder("mistral-7b", "mistral"), "stream-map", llama_model(tied=False))


@checks("qwen2.5-7b")
def test_qwen2(evidence):
    record(evidence, instances.decoder("qwen2.5-7b", "qwen2"), "stream-map")


@checks("qwen3-8b")
def test_qwen3(evidence):
    record(evidence, instances.qwen3(), "qk-norm-gain")


@checks("gemma-2-9b")
def test_gemma2(evidence):
    record(evidence, instances.gemma2(), "gated-rescale")


@checks("falcon-7b")
def test_falcon(evidence):
    record(evidence, instances.falcon(), "layernorm-input-mean")


@checks("gpt-neox-20b")
def test_gpt_neox(evidence):
    record(evidence, instances.gpt_neox(), "stream-map")


@checks("mixtral-8x7b")
def test_mixtral(evidence):
    record(evidence, instances.mixtral(), "router-shift")


@checks("deepseek-v3")
def test_deepseek_v3(evidence):
    record(evidence, instances.deepseek_v3(), "stream-map")
