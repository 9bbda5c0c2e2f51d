"""LLaMA with LayerNorm: StarCoder2, StableLM, Nemotron (gains from one), Phi, Cohere (no offsets, one norm a layer)."""

from __future__ import annotations

from functools import partial
from typing import Any

from symgauge.architecture import Architecture
from symgauge.models.huggingface.family import Config, Family, head_width
from symgauge.models.huggingface.llama import (
    PRE,
    biases,
    decoder,
    even_sizes,
    heads_slots,
    layered_sizes,
    layout,
    nonzero,
    partial_sizes,
    plain_slots,
    rotary_class,
    sizes,
)
from symgauge.models.huggingface.rope import rotary

_FIRST = {"norm_1": "input_layernorm"}


def starcoder2(config: Config) -> Architecture:
    return decoder(
        config,
        "Starcoder2",
        epsilon_field="norm_epsilon",
        norm="layer",
        norm_offset=True,
        gated=False,
        **biases(config.use_bias),
    )


def stablelm(config: Config) -> Architecture:
    return decoder(
        config,
        "StableLm",
        epsilon_field="layer_norm_eps",
        norm="layer",
        norm_offset=True,
        placement="parallel_shared" if config.use_parallel_residual else "pre",
        query_bias=config.use_qkv_bias,
        key_bias=config.use_qkv_bias,
        value_bias=config.use_qkv_bias,
    )


def nemotron(config: Config) -> Architecture:
    return decoder(config, "Nemotron", epsilon_field="norm_eps", norm="layer", norm_offset=True, gated=False)


def phi(config: Config) -> Architecture:
    return decoder(
        config,
        "Phi",
        epsilon_field="layer_norm_eps",
        norm="layer",
        norm_offset=True,
        gated=False,
        placement="parallel_shared",
        head_bias=True,
        **biases(True),
    )


def cohere(config: Config, prefix: str, **changes: Any) -> Architecture:
    nonzero(config, "logit_scale")
    return decoder(
        config,
        prefix,
        epsilon_field="layer_norm_eps",
        interleaved=True,
        norm="layer",
        placement="parallel_shared",
        logit_scale=config.logit_scale,
        **changes,
    )


def cohere2(config: Config) -> Architecture:
    """Only layers with a sliding window have a rotary encoding."""
    encoding, factor = rotary(config, rotary_class("cohere2", "Cohere2"), head_width(config), interleaved=True)
    turning = tuple(encoding if kind == "sliding_attention" else None for kind in config.layer_types)
    return cohere(config, "Cohere2", rotary_by_layer=turning, rotary_scale=factor)


def _slots_stablelm(a: Architecture, entries: Any) -> Any:
    return layout(norms=_FIRST if a.placement == "parallel_shared" else PRE)(a, entries)


def _even_partial_sizes(config: Config, layers: int) -> dict[str, Any]:
    small = partial_sizes(config, layers)
    width = small.pop("head_dim")
    if small["num_attention_heads"] > 2:  # one plane, and one channel that stands still
        width, small["rope_parameters"]["partial_rotary_factor"] = 3, 0.7
    return {**small, "hidden_size": small["num_attention_heads"] * width, "intermediate_size": 3, "vocab_size": 29}


def _wide(small: dict[str, Any]) -> dict[str, Any]:
    """Tokens enough for a first layer whose network sees one vector per token, beside its attention."""
    return {**small, "intermediate_size": 3, "vocab_size": 29}


STARCODER2 = Family(
    "starcoder2",
    "Starcoder2ForCausalLM",
    starcoder2,
    layout(feed_forward=partial(plain_slots, up="c_fc", down="c_proj")),
    sizes,
    required={"norm_type": ("layer_norm",), "mlp_type": ("default",)},
    # The module reads hidden_act.
    understood=frozenset({"head_dim", "activation_function"}),
)
STABLELM = Family(
    "stablelm",
    "StableLmForCausalLM",
    stablelm,
    _slots_stablelm,
    _even_partial_sizes,
    required={"qk_layernorm": (False,)},
)
NEMOTRON = Family(
    "nemotron",
    "NemotronForCausalLM",
    nemotron,
    layout(feed_forward=plain_slots, gain_shift=1),
    partial_sizes,
    example={"num_key_value_heads": 8},
)
PHI = Family(
    "phi",
    "PhiForCausalLM",
    phi,
    layout(
        norms=_FIRST,
        attention=partial(heads_slots, output="dense"),
        feed_forward=partial(plain_slots, up="fc1", down="fc2"),
        final_norm="final_layernorm",
    ),
    _even_partial_sizes,
    required={"qk_layernorm": (False,)},
)
COHERE = Family(
    "cohere",
    "CohereForCausalLM",
    lambda c: cohere(c, "Cohere"),
    layout(norms=_FIRST),
    lambda c, layers: _wide(even_sizes(c, layers)),
    required={"use_qk_norm": (False, None)},
    understood=frozenset({"model_max_length"}),
)
COHERE2 = Family(
    "cohere2",
    "Cohere2ForCausalLM",
    cohere2,
    layout(norms=_FIRST),
    lambda c, layers: _wide(layered_sizes(c, layers)),
)
