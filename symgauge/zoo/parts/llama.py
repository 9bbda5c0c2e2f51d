"""LLaMA's shape, which most families have: RMSNorm, rotary encoding, gated SiLU, shared keys and values."""

from __future__ import annotations

from typing import Any

from symgauge.architecture import Architecture, Rotary
from symgauge.zoo.parts.family import Config, Fields
from symgauge.zoo.parts.fields import activation, context, head_width
from symgauge.zoo.parts.rope import rotary


def decoder(
    config: Config,
    *,
    activation_field: str = "hidden_act",
    epsilon_field: str = "rms_norm_eps",
    interleaved: bool = False,
    **changes: Any,
) -> Architecture:
    """The architecture of a configuration of LLaMA's shape; ``changes`` are what a family does differently."""
    width = head_width(config)
    if "rotary" not in changes and "rotary_by_layer" not in changes:
        changes["rotary"], changes["rotary_scale"] = rotary(config, interleaved=interleaved)
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
        "epsilon": getattr(config, epsilon_field),
    }
    return Architecture(**{**fields, **changes})


def published(config: Fields, **changes: Any) -> Architecture:
    """The same for a published configuration, read without ``transformers``."""
    width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    fields: dict[str, Any] = {
        "d_model": config["hidden_size"],
        "heads": config["num_attention_heads"],
        "groups": config["num_key_value_heads"],
        "d_k": width,
        "d_v": width,
        "d_ff": config["intermediate_size"],
        "layers": config["num_hidden_layers"],
        "vocabulary": config["vocab_size"],
        "context": min(config["max_position_embeddings"], config.get("sliding_window") or 2**31),
        "gated": True,
        "activation": "silu",
        "norm": "rms",
        "final_norm": True,
        "epsilon": config["rms_norm_eps"],
    }
    if "rotary" not in changes:
        fields["rotary"] = Rotary.standard(width, base=config["rope_theta"])
    return Architecture(**{**fields, **changes})
