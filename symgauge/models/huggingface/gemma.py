"""Gemma in its generations: gains stored as distances from one, scaled embeddings, sandwich norms from the second."""

from __future__ import annotations

from typing import Any

import torch

from symgauge.architecture import Architecture
from symgauge.models.huggingface.family import Config, Family
from symgauge.models.huggingface.llama import decoder, layered_sizes, layout, parts_by_layer, sizes

SANDWICH = {
    "norm_1": "input_layernorm",
    "output_norm_1": "post_attention_layernorm",
    "norm_2": "pre_feedforward_layernorm",
    "output_norm_2": "post_feedforward_layernorm",
}


def _embedding_scale(config: Config) -> float:
    # The modules keep this constant in single precision.
    return float(torch.tensor(config.hidden_size**0.5, dtype=torch.float32))


def gemma(config: Config) -> Architecture:
    return decoder(config, "Gemma", embedding_scale=_embedding_scale(config))


def _sandwich(config: Config, prefix: str, **changes: Any) -> Architecture:
    return decoder(
        config,
        prefix,
        activation_field="hidden_activation",
        placement="sandwich",
        causal=not config.use_bidirectional_attention,
        attention_softcap=config.attn_logit_softcapping,
        logit_softcap=config.final_logit_softcapping,
        embedding_scale=_embedding_scale(config),
        score_scale=config.query_pre_attn_scalar**-0.5,
        **changes,
    )


def gemma3_sizes(config: Config, layers: int) -> dict[str, Any]:
    # The kind of each layer has its own encoding, so these come with the kinds.
    return {**layered_sizes(config, layers), "rope_parameters": config.rope_parameters}


GEMMA = Family(
    "gemma",
    "GemmaForCausalLM",
    gemma,
    layout(gain_shift=1),
    sizes,
    required={"use_bidirectional_attention": (None, False)},
    # An older name of hidden_act, which the module does not read.
    understood=frozenset({"hidden_activation"}),
)
GEMMA2 = Family(
    "gemma2",
    "Gemma2ForCausalLM",
    lambda c: _sandwich(c, "Gemma2"),
    layout(norms=SANDWICH, gain_shift=1),
    layered_sizes,
    # Older names; the module reads hidden_activation and sliding_window.
    understood=frozenset({"hidden_act", "sliding_window_size"}),
)
GEMMA3 = Family(
    "gemma3_text",
    "Gemma3ForCausalLM",
    lambda c: _sandwich(c, "Gemma3", qk_norm=True, **parts_by_layer(c, "Gemma3")),
    layout(norms=SANDWICH, gain_shift=1),
    gemma3_sizes,
    required={"use_bidirectional_attention": (None, False)},
    # The pattern is read into layer_types.
    understood=frozenset({"sliding_window_pattern", "_sliding_window_pattern"}),
)
