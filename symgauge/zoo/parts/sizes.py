"""Fields of small instances of LLaMA-shaped configurations: sizes as distinct, and parts as many, as there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symgauge.zoo.parts.family import Config

GROUPED = {"num_attention_heads": 32, "num_key_value_heads": 8}
"""Heads that share keys and values, for tiny instances of families whose class defaults to none that do."""


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


def even_sizes(config: Config, layers: int) -> dict[str, Any]:
    """As :func:`sizes`, for families whose heads share the stream evenly."""
    small = sizes(config, layers)
    del small["head_dim"]
    return {**small, "hidden_size": 2 * small["num_attention_heads"] if small["num_attention_heads"] > 2 else 8}


def partial_sizes(config: Config, layers: int) -> dict[str, Any]:
    """As :func:`sizes`; where only a part of a head's channels turns, one more channel stands still."""
    small, rope = sizes(config, layers), dict(config.rope_parameters)
    if rope.get("partial_rotary_factor", 1.0) < 1:
        rope["partial_rotary_factor"] = 0.9
        small["head_dim"] += 1
    return {**small, "rope_parameters": rope}


def even_partial_sizes(config: Config, layers: int) -> dict[str, Any]:
    """Both, in a parallel block."""
    small = partial_sizes(config, layers)
    width = small.pop("head_dim")
    if small["num_attention_heads"] > 2:  # one plane, and one channel that stands still
        width, small["rope_parameters"]["partial_rotary_factor"] = 3, 0.7
    return parallel({**small, "hidden_size": small["num_attention_heads"] * width})


def layered_sizes(config: Config, layers: int) -> dict[str, Any]:
    """As :func:`sizes`, for configurations that list the kind of each layer."""
    kept = kept_layers(config.layer_types, layers)
    return {**sizes(config, layers), "layer_types": [config.layer_types[i] for i in kept]}


def layered_rotary_sizes(config: Config, layers: int) -> dict[str, Any]:
    """As :func:`layered_sizes`; the kind of each layer has its own encoding, so these come with the kinds."""
    return {**layered_sizes(config, layers), "rope_parameters": config.rope_parameters}


def parallel(small: dict[str, Any]) -> dict[str, Any]:
    """Tokens enough for a first layer whose network sees one vector per token, beside its attention."""
    return {**small, "intermediate_size": 3, "vocab_size": 29}


def kept_layers(kinds: Sequence[Any], layers: int) -> list[int]:
    """Which layers stand for all in a small model: the first of each kind, again and again."""
    first = list({kind: index for index, kind in reversed([*enumerate(kinds)])}.values())[::-1]
    return [first[index % len(first)] for index in range(layers)]
