"""The families that have an adapter. A new one is a file with a :class:`Family` and a line here."""

from __future__ import annotations

import difflib

from symgauge.errors import UnsupportedModel
from symgauge.models.huggingface.bert import BERT
from symgauge.models.huggingface.config_file import quoted
from symgauge.models.huggingface.deepseek_v3 import DEEPSEEK_V3
from symgauge.models.huggingface.falcon import FALCON
from symgauge.models.huggingface.family import Family
from symgauge.models.huggingface.gpt2 import GPT2
from symgauge.models.huggingface.gpt_neox import GPT_NEOX
from symgauge.models.huggingface.llama import GEMMA2, LLAMA, MISTRAL, QWEN2, QWEN3
from symgauge.models.huggingface.mixtral import MIXTRAL

FAMILIES: dict[str, Family] = {
    family.model_type: family
    for family in (GPT2, BERT, LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA2, GPT_NEOX, FALCON, MIXTRAL, DEEPSEEK_V3)
}


def family_of(model_type: str) -> Family:
    """The adapter of a ``config.model_type``; raises :class:`UnsupportedModel`, with near names for a typo."""
    if model_type in FAMILIES:
        return FAMILIES[model_type]
    near = difflib.get_close_matches(str(model_type)[:60], FAMILIES, n=3, cutoff=0.75)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(FAMILIES)}"
    raise UnsupportedModel(f"model_type {quoted(model_type)} has no adapter; {hint}")
