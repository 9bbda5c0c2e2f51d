"""LLaMA and the families that keep its layout: Mistral, Qwen2 (q/k/v biases), Qwen3 (QK-norm), Gemma-2 (sandwich)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch

from symgauge.architecture import Architecture
from symgauge.layout import Slot
from symgauge.models.huggingface.entries import Assignment, Entries
from symgauge.models.huggingface.family import Config, Family, activation, context, head_width, norm_epsilon
from symgauge.models.huggingface.rope import rotary


def rotary_class(model_type: str, prefix: str) -> type[Any]:
    """The family's rotary embedding class in ``transformers``."""
    module = import_module(f"transformers.models.{model_type}.modeling_{model_type}")
    return getattr(module, f"{prefix}RotaryEmbedding")


def decoder(config: Config, prefix: str, *, activation_field: str = "hidden_act", **changes: Any) -> Architecture:
    """The architecture LLaMA-shaped configurations share; ``changes`` are what a family does differently."""
    width = head_width(config)
    encoding, constants = rotary(config, rotary_class(config.model_type, prefix), width)
    biased = bool(getattr(config, "attention_bias", False))
    fields: dict[str, Any] = {
        "name": config.model_type,
        "d_model": config.hidden_size,
        "heads": config.num_attention_heads,
        "groups": config.num_key_value_heads,
        "d_k": width,
        "d_v": width,
        "d_ff": config.intermediate_size,
        "layers": config.num_hidden_layers,
        "vocabulary": config.vocab_size,
        "context": context(config),
        "rotary": encoding,
        "query_bias": biased,
        "key_bias": biased,
        "value_bias": biased,
        "output_bias": biased,
        "ff_bias": bool(getattr(config, "mlp_bias", False)),
        "gated": True,
        "activation": activation(config, activation_field),
        "norm": "rms",
        "final_norm": True,
        "tied": config.tie_word_embeddings,
        **norm_epsilon(config, "rms_norm_eps"),
    }
    extra = {**fields["extra"], **constants, **changes.pop("extra", {})}
    return Architecture(**{**fields, **changes, "extra": extra})


def attention_slots(to: Assignment, a: Architecture, layer: int) -> None:
    """Separate q, k, v, o projections, and the norms on query and key heads if there are any."""
    role, module = f"layers.{layer}.attention", f"model.layers.{layer}.self_attn"
    to.heads(f"{role}.query", f"{module}.q_proj", a.heads)
    to.heads(f"{role}.key", f"{module}.k_proj", a.groups)
    to.heads(f"{role}.value", f"{module}.v_proj", a.groups)
    to.output(f"{role}.output", f"{module}.o_proj", a.heads)
    if a.qk_norm:
        to.norm(f"{role}.query_norm", f"{module}.q_norm")
        to.norm(f"{role}.key_norm", f"{module}.k_norm")


def gated_slots(to: Assignment, role: str, module: str) -> None:
    for part in ("gate", "up", "down"):
        to.linear(f"{role}.{part}", f"{module}.{part}_proj")


def outer_slots(to: Assignment, a: Architecture) -> None:
    """Embedding, final norm and head."""
    to.put("token_table", to.entries["model.embed_tokens.weight"])
    to.norm("final_norm", "model.norm")
    if not a.tied:
        to.linear("unembedding", "lm_head")


def slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    to = Assignment(entries)
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"model.layers.{layer}"
        to.norm(f"{role}.norm_1", f"{module}.input_layernorm")
        to.norm(f"{role}.norm_2", f"{module}.post_attention_layernorm")
        attention_slots(to, a, layer)
        gated_slots(to, f"{role}.ff", f"{module}.mlp")
    outer_slots(to, a)
    return to.slots


def gemma2_slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    """Gains are stored as distances from one; every sublayer has a norm before and after."""
    to = Assignment(entries, gain_shift=1)
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"model.layers.{layer}"
        to.norm(f"{role}.norm_1", f"{module}.input_layernorm")
        to.norm(f"{role}.output_norm_1", f"{module}.post_attention_layernorm")
        to.norm(f"{role}.norm_2", f"{module}.pre_feedforward_layernorm")
        to.norm(f"{role}.output_norm_2", f"{module}.post_feedforward_layernorm")
        attention_slots(to, a, layer)
        gated_slots(to, f"{role}.ff", f"{module}.mlp")
    outer_slots(to, a)
    return to.slots


def gemma2(config: Config) -> Architecture:
    return decoder(
        config,
        "Gemma2",
        activation_field="hidden_activation",
        placement="sandwich",
        causal=not config.use_bidirectional_attention,
        attention_softcap=config.attn_logit_softcapping,
        logit_softcap=config.final_logit_softcapping,
        extra={
            # The module keeps this constant in single precision.
            "embedding_scale": float(torch.tensor(config.hidden_size**0.5, dtype=torch.float32)),
            "score_scale": config.query_pre_attn_scalar**-0.5,
        },
    )


def qwen2(config: Config) -> Architecture:
    return decoder(config, "Qwen2", query_bias=True, key_bias=True, value_bias=True)


def sizes(config: Config, layers: int) -> dict[str, Any]:
    """Small sizes that keep the sharing: no groups shared (MHA), shared by two heads (GQA), or one group (MQA)."""
    if config.num_key_value_heads == config.num_attention_heads:
        d_model, heads, groups = 8, 2, 2
    else:
        d_model, heads, groups = (6, 3, 1) if config.num_key_value_heads == 1 else (8, 4, 2)
    return {
        "hidden_size": d_model,
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
        "head_dim": 4 if groups != 2 or heads == 2 else 6,
        "intermediate_size": 5,
        "num_hidden_layers": layers,
        "vocab_size": 11,
        "max_position_embeddings": 7,
    }


def layered_sizes(config: Config, layers: int) -> dict[str, Any]:
    """As :func:`sizes`, for configurations that list the kind of each layer."""
    return {**sizes(config, layers), "layer_types": config.layer_types[:layers]}


_GQA = {"num_attention_heads": 32, "num_key_value_heads": 8}

LLAMA = Family(
    "llama", "LlamaForCausalLM", lambda c: decoder(c, "Llama"), slots, sizes, example={**_GQA, "hidden_size": 4096}
)
MISTRAL = Family("mistral", "MistralForCausalLM", lambda c: decoder(c, "Mistral"), slots, sizes)
QWEN2 = Family(
    "qwen2", "Qwen2ForCausalLM", qwen2, slots, layered_sizes, understood=frozenset({"head_dim"}), example=_GQA
)
QWEN3 = Family(
    "qwen3", "Qwen3ForCausalLM", lambda c: decoder(c, "Qwen3", qk_norm=True), slots, layered_sizes, example=_GQA
)
GEMMA2 = Family(
    "gemma2",
    "Gemma2ForCausalLM",
    gemma2,
    gemma2_slots,
    layered_sizes,
    # Older names; the module reads hidden_activation and sliding_window.
    understood=frozenset({"hidden_act", "sliding_window_size"}),
)
