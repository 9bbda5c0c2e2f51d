"""True dimensions of production models: each formula holds on small instances, and is evaluated at full size."""

from __future__ import annotations

from proofs_checks.production import instances
from proofs_checks.production.recording import record
from symgauge.claims import claim
from symgauge.symbolic.dimensions import gpt2_model, llama_model

REMARK = (
    "That the known symmetries add up to this is exact. That there are no others is measured on small instances, in "
    "exact arithmetic, and carried to full size by the formula, which holds on each of them."
)
FEW_TOKENS = (
    REMARK + " In the first layer the vocabulary is too small to fix all that it reads: these directions are solutions "
    "of one equation per token, counted (unknowns minus equations) and not generated. A small instance has them too."
)


@claim(
    id="production/gpt2",
    source="production",
    place="GPT-2 small: Pre-LN, biases, learned positions, tied head",
    statement="GPT-2 small has 124,439,808 parameters, and its generic fibre has dimension 1,346,584.",
    verdict="holds",
    remark=REMARK,
)
@claim(
    id="production/gpt2-medium",
    source="production",
    place="GPT-2 medium: Pre-LN, biases, learned positions, tied head",
    statement="GPT-2 medium has 354,823,168 parameters, and its generic fibre has dimension 3,589,168.",
    verdict="holds",
    remark=REMARK,
)
@claim(
    id="production/gpt2-large",
    source="production",
    place="GPT-2 large: Pre-LN, biases, learned positions, tied head",
    statement="GPT-2 large has 774,030,080 parameters, and its generic fibre has dimension 6,728,776.",
    verdict="holds",
    remark=REMARK,
)
@claim(
    id="production/gpt2-xl",
    source="production",
    place="GPT-2 XL: Pre-LN, biases, learned positions, tied head",
    statement="GPT-2 XL has 1,557,611,200 parameters, and its generic fibre has dimension 11,213,920.",
    verdict="holds",
    remark=REMARK,
)
def test_gpt2(evidence):
    record(evidence, test_gpt2, instances.gpt2(), "key-bias", gpt2_model(tied=True))


@claim(
    id="production/bert-base",
    source="production",
    place="BERT-base: Post-LN encoder with masked-language-model head",
    statement="BERT-base has 109,514,298 parameters, and its generic fibre has dimension 1,332,249.",
    verdict="holds",
    remark=REMARK,
)
@claim(
    id="production/bert-large",
    source="production",
    place="BERT-large: Post-LN encoder with masked-language-model head",
    statement="BERT-large has 335,174,458 parameters, and its generic fibre has dimension 3,545,649.",
    verdict="holds",
    remark=REMARK,
)
def test_bert(evidence):
    record(evidence, test_bert, instances.bert(), "key-bias")


@claim(
    id="production/llama-2-7b",
    source="production",
    place="LLaMA-2-7B: RMSNorm, RoPE, SwiGLU, untied head",
    statement="LLaMA-2-7B has 6,738,415,616 parameters, and its generic fibre has dimension 25,913,344.",
    verdict="holds",
    remark=REMARK,
)
@claim(
    id="production/llama-3-8b",
    source="production",
    place="LLaMA-3-8B: RMSNorm, RoPE, SwiGLU, untied head",
    statement="LLaMA-3-8B has 8,030,261,248 parameters, and its generic fibre has dimension 13,338,624.",
    verdict="holds",
    remark=REMARK,
)
@claim(
    id="production/llama-3-70b",
    source="production",
    place="LLaMA-3-70B: RMSNorm, RoPE, SwiGLU, untied head",
    statement="LLaMA-3-70B has 70,553,706,496 parameters, and its generic fibre has dimension 47,730,688.",
    verdict="holds",
    remark=REMARK,
)
def test_llama(evidence):
    record(evidence, test_llama, instances.llama(), "stream-map", llama_model(tied=False))


@claim(
    id="production/mistral-7b",
    source="production",
    place="Mistral-7B: LLaMA's architecture, grouped keys and values",
    statement="Mistral-7B has 7,241,732,096 parameters, and its generic fibre has dimension 13,338,624.",
    verdict="holds",
    remark=REMARK,
)
def test_mistral(evidence):
    record(evidence, test_mistral, instances.decoder("mistral-7b", "mistral"), "stream-map", llama_model(tied=False))


@claim(
    id="production/qwen2.5-7b",
    source="production",
    place="Qwen2.5-7B: LLaMA's architecture with query, key and value biases",
    statement="Qwen2.5-7B has 7,615,616,512 parameters, and its generic fibre has dimension 9,004,800.",
    verdict="holds",
    remark=REMARK,
)
def test_qwen2(evidence):
    record(evidence, test_qwen2, instances.decoder("qwen2.5-7b", "qwen2"), "stream-map")


@claim(
    id="production/qwen3-8b",
    source="production",
    place="Qwen3-8B: LLaMA's architecture with normalised queries and keys",
    statement="Qwen3-8B has 8,190,735,360 parameters, and its generic fibre has dimension 13,848,832.",
    verdict="holds",
    remark=REMARK,
)
def test_qwen3(evidence):
    record(evidence, test_qwen3, instances.qwen3(), "query-key-gains")


@claim(
    id="production/gemma-2-9b",
    source="production",
    place="Gemma-2-9B: sandwich RMSNorm, GEGLU, soft caps, tied head",
    statement="Gemma-2-9B has 9,241,705,984 parameters, and its generic fibre has dimension 23,009,280.",
    verdict="holds",
    remark=REMARK,
)
def test_gemma2(evidence):
    record(evidence, test_gemma2, instances.gemma2(), "gated-rescale")


@claim(
    id="production/falcon-7b",
    source="production",
    place="Falcon-7B: parallel block, one key/value group, RoPE, no biases, tied head",
    statement="Falcon-7B has 6,921,720,704 parameters, and its generic fibre has dimension 1,150,976.",
    verdict="holds",
    remark=REMARK,
)
def test_falcon(evidence):
    record(evidence, test_falcon, instances.falcon(), "writer-mean")


@claim(
    id="production/gpt-neox-20b",
    source="production",
    place="GPT-NeoX-20B: parallel block with two norms, partial RoPE, biases, untied head",
    statement="GPT-NeoX-20B has 20,554,567,680 parameters, and its generic fibre has dimension 94,524,972.",
    verdict="holds",
    remark=FEW_TOKENS,
)
def test_gpt_neox(evidence):
    record(evidence, test_gpt_neox, instances.gpt_neox(), "stream-map")


@claim(
    id="production/mixtral-8x7b",
    source="production",
    place="Mixtral-8x7B: LLaMA's attention, two of eight experts per token",
    statement="Mixtral-8x7B has 46,702,792,704 parameters, and its generic fibre has dimension 16,680,960.",
    verdict="holds",
    remark=REMARK,
)
def test_mixtral(evidence):
    record(evidence, test_mixtral, instances.mixtral(), "router-shift")


@claim(
    id="production/deepseek-v3",
    source="production",
    place="DeepSeek-V3: latent attention, shared and sigmoid-routed experts behind dense layers",
    statement="DeepSeek-V3 has 671,026,404,352 parameters, and its generic fibre has dimension 394,076,994.",
    verdict="holds",
    remark=FEW_TOKENS,
)
def test_deepseek_v3(evidence):
    record(evidence, test_deepseek_v3, instances.deepseek_v3(), "stream-map")
