"""The families that have an adapter. A new one is a file with a :class:`Family` and a line here."""

from __future__ import annotations

import difflib

from symgauge.errors import UnsupportedModel
from symgauge.models.huggingface import fused, gemma, gpt_like, layer_norm, llama, olmo
from symgauge.models.huggingface.bert import BERT, DISTILBERT
from symgauge.models.huggingface.config_file import quoted
from symgauge.models.huggingface.deepseek_v3 import DEEPSEEK_V3
from symgauge.models.huggingface.falcon import FALCON
from symgauge.models.huggingface.family import Family
from symgauge.models.huggingface.gpt2 import GPT2
from symgauge.models.huggingface.gpt_neox import GPT_NEOX
from symgauge.models.huggingface.mixtral import MIXTRAL

_FAMILIES = (
    GPT2, gpt_like.GPT_NEO, gpt_like.OPT, gpt_like.BLOOM, gpt_like.MPT, GPT_NEOX, FALCON,
    BERT, DISTILBERT,
    llama.LLAMA, llama.MISTRAL, llama.MINISTRAL, llama.HELIUM, llama.QWEN2, llama.QWEN3, llama.GRANITE, llama.SMOLLM3,
    llama.ARCEE, llama.SEED_OSS, llama.ERNIE, fused.PHI3, fused.GLM, fused.GLM4,
    gemma.GEMMA, gemma.GEMMA2, gemma.GEMMA3, olmo.OLMO2, olmo.OLMO3, olmo.EXAONE4,
    layer_norm.STARCODER2, layer_norm.STABLELM, layer_norm.NEMOTRON, layer_norm.PHI, layer_norm.COHERE,
    layer_norm.COHERE2, MIXTRAL, DEEPSEEK_V3,
)  # fmt: skip
FAMILIES: dict[str, Family] = {family.model_type: family for family in _FAMILIES}


def family_of(model_type: str) -> Family:
    """The adapter of a ``config.model_type``; raises :class:`UnsupportedModel`, with near names for a typo."""
    if model_type in FAMILIES:
        return FAMILIES[model_type]
    near = difflib.get_close_matches(str(model_type)[:60], FAMILIES, n=3, cutoff=0.75)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(FAMILIES)}"
    raise UnsupportedModel(f"model_type {quoted(model_type)} has no adapter; {hint}")
