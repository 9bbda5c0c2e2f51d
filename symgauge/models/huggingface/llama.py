"""LLaMA's layout, what other families change of it, and the families that change next to nothing.

Mistral, Ministral, Helium (planes of neighbouring channels), Qwen2 (q/k/v biases), Qwen3 (QK-norm), Granite (scales),
SmolLM3 (layers without rotary encoding), Arcee (no gate), Seed-OSS and ERNIE 4.5 (biases of their own).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from symgauge.architecture import Architecture
from symgauge.errors import UnsupportedModel
from symgauge.layout import Slot
from symgauge.models.huggingface.entries import Assignment, Entries
from symgauge.models.huggingface.family import Config, Family, activation, context, head_width
from symgauge.models.huggingface.rope import rotary


def rotary_class(model_type: str, prefix: str) -> type[Any]:
    """The family's rotary embedding class in ``transformers``."""
    folder = model_type.removesuffix("_text")  # the text part of a model that also sees
    module = import_module(f"transformers.models.{folder}.modeling_{folder}")
    return getattr(module, f"{prefix}RotaryEmbedding")


def biases(present: bool) -> dict[str, Any]:
    """Fields of an architecture that has a bias in every map of its layers, or in none."""
    return dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias", "ff_bias"), bool(present))


def decoder(
    config: Config,
    prefix: str,
    *,
    activation_field: str = "hidden_act",
    epsilon_field: str = "rms_norm_eps",
    interleaved: bool = False,
    **changes: Any,
) -> Architecture:
    """The architecture LLaMA-shaped configurations share; ``changes`` are what a family does differently."""
    width = head_width(config)
    if "rotary" not in changes and "rotary_by_layer" not in changes:
        embedding = rotary_class(config.model_type, prefix)
        changes["rotary"], changes["rotary_scale"] = rotary(config, embedding, width, interleaved=interleaved)
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


def parts_by_layer(config: Config, prefix: str) -> dict[str, Any]:
    """Encodings of layers whose kinds ("sliding_attention", "full_attention") have angles of their own."""
    embedding, width = rotary_class(config.model_type, prefix), head_width(config)
    found = {kind: rotary(config, embedding, width, layers=kind) for kind in set(config.layer_types)}
    factors = {factor for _, factor in found.values()}
    if len(factors) > 1:
        raise UnsupportedModel(
            f"{config.model_type}: 'rope_parameters' scale the scores of some layers and not of others, which the "
            "adapter does not know; `symgauge dim` measures the model all the same"
        )
    return {"rotary_by_layer": tuple(found[kind][0] for kind in config.layer_types), "rotary_scale": factors.pop()}


SlotWriter = Callable[[Assignment, Architecture, str, str], None]
"""Puts the slots of one sublayer: (assignment, architecture, role, module)."""


def heads_slots(to: Assignment, a: Architecture, role: str, module: str, *, output: str = "o_proj") -> None:
    """Separate q, k, v and output projections, and the norms on queries and keys if there are any."""
    to.heads(f"{role}.query", f"{module}.q_proj", a.heads)
    to.heads(f"{role}.key", f"{module}.k_proj", a.groups)
    to.heads(f"{role}.value", f"{module}.v_proj", a.groups)
    to.output(f"{role}.output", f"{module}.{output}", a.heads)
    if a.qk_norm:
        to.norm(f"{role}.query_norm", f"{module}.q_norm", a.heads if a.qk_norm_across else 0)
        to.norm(f"{role}.key_norm", f"{module}.k_norm", a.groups if a.qk_norm_across else 0)


def attention_slots(to: Assignment, a: Architecture, layer: int) -> None:
    heads_slots(to, a, f"layers.{layer}.attention", f"model.layers.{layer}.self_attn")


def gated_slots(to: Assignment, a: Architecture, role: str, module: str) -> None:
    for part in ("gate", "up", "down"):
        to.linear(f"{role}.{part}", f"{module}.{part}_proj")


def plain_slots(
    to: Assignment, a: Architecture, role: str, module: str, *, up: str = "up_proj", down: str = "down_proj"
) -> None:
    """A feed-forward layer without a gate."""
    to.linear(f"{role}.up", f"{module}.{up}")
    to.linear(f"{role}.down", f"{module}.{down}")


def outer_slots(to: Assignment, a: Architecture, final_norm: str = "norm") -> None:
    """Embedding, final norm and head."""
    to.put("token_table", to.entries["model.embed_tokens.weight"])
    to.norm("final_norm", f"model.{final_norm}")
    to.head(a, "lm_head")


PRE = {"norm_1": "input_layernorm", "norm_2": "post_attention_layernorm"}
"""Role and module names of the norms of a Pre-LN block."""


def layout(
    *,
    norms: Mapping[str, str] = PRE,
    attention: SlotWriter = heads_slots,
    feed_forward: SlotWriter = gated_slots,
    gain_shift: int = 0,
    final_norm: str = "norm",
) -> Callable[[Architecture, Entries], dict[str, Slot]]:
    """The ``slots`` of a family with LLaMA's names, except for what is given. ``gain_shift``: see :class:`Slot`."""

    def slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
        to = Assignment(entries, gain_shift=gain_shift)
        for layer in range(a.layers):
            role, module = f"layers.{layer}", f"model.layers.{layer}"
            for norm, name in norms.items():
                to.norm(f"{role}.{norm}", f"{module}.{name}")
            attention(to, a, f"{role}.attention", f"{module}.self_attn")
            feed_forward(to, a, f"{role}.ff", f"{module}.mlp")
        outer_slots(to, a, final_norm)
        return to.slots

    return slots


slots = layout()


def qwen2(config: Config) -> Architecture:
    return decoder(config, "Qwen2", query_bias=True, key_bias=True, value_bias=True)


def granite(config: Config) -> Architecture:
    nonzero(config, "embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling")
    return decoder(
        config,
        "Granite",
        embedding_scale=config.embedding_multiplier,
        score_scale=config.attention_multiplier,
        residual_scale=config.residual_multiplier,
        logit_scale=1 / config.logits_scaling,
    )


def nonzero(config: Config, *names: str) -> None:
    """Refuse factors that would cut off a part of the model."""
    for name in names:
        if not getattr(config, name):
            raise UnsupportedModel(
                f"{config.model_type}: configuration field {name!r} is {getattr(config, name)!r}, which cuts a part of "
                "the model off; the adapter needs another number, and `symgauge dim` measures the model as it is"
            )


def smollm3(config: Config) -> Architecture:
    encoding, factor = rotary(config, rotary_class("smollm3", "SmolLM3"), head_width(config))
    uses = config.no_rope_layers[: config.num_hidden_layers]
    if all(uses):
        return decoder(config, "SmolLM3", rotary=encoding, rotary_scale=factor)
    return decoder(config, "SmolLM3", rotary_by_layer=tuple(encoding if u else None for u in uses), rotary_scale=factor)


def ernie(config: Config) -> Architecture:
    return decoder(config, "Ernie4_5", interleaved=True, **biases(config.use_bias))


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


def kept_layers(kinds: Sequence[Any], layers: int) -> list[int]:
    """Which layers stand for all in a small model: the first of each kind, again and again."""
    first = list({kind: index for index, kind in reversed([*enumerate(kinds)])}.values())[::-1]
    return [first[index % len(first)] for index in range(layers)]


def layered_sizes(config: Config, layers: int) -> dict[str, Any]:
    """As :func:`sizes`, for configurations that list the kind of each layer."""
    return {
        **sizes(config, layers),
        "layer_types": [config.layer_types[i] for i in kept_layers(config.layer_types, layers)],
    }


def smollm3_sizes(config: Config, layers: int) -> dict[str, Any]:
    kept = kept_layers([*zip(config.no_rope_layers, config.layer_types, strict=False)], layers)
    lists = {name: [getattr(config, name)[i] for i in kept] for name in ("no_rope_layers", "layer_types")}
    return {**sizes(config, layers), **lists}


_GQA = {"num_attention_heads": 32, "num_key_value_heads": 8}
_WIDTH = frozenset({"head_dim"})
"""The class does not declare the width of a head, but takes it."""

LLAMA = Family(
    "llama", "LlamaForCausalLM", lambda c: decoder(c, "Llama"), slots, sizes, example={**_GQA, "hidden_size": 4096}
)
MISTRAL = Family("mistral", "MistralForCausalLM", lambda c: decoder(c, "Mistral"), slots, sizes)
MINISTRAL = Family(
    "ministral",
    "MinistralForCausalLM",
    lambda c: decoder(c, "Ministral"),
    slots,
    layered_sizes,
    example={"head_dim": 128},
)
HELIUM = Family(
    "helium",
    "HeliumForCausalLM",
    lambda c: decoder(c, "Helium", interleaved=True, output_bias=False),
    slots,
    sizes,
)
QWEN2 = Family("qwen2", "Qwen2ForCausalLM", qwen2, slots, layered_sizes, understood=_WIDTH, example=_GQA)
QWEN3 = Family(
    "qwen3", "Qwen3ForCausalLM", lambda c: decoder(c, "Qwen3", qk_norm=True), slots, layered_sizes, example=_GQA
)
GRANITE = Family("granite", "GraniteForCausalLM", granite, slots, sizes, understood=_WIDTH, example=_GQA)
SMOLLM3 = Family("smollm3", "SmolLM3ForCausalLM", smollm3, slots, smollm3_sizes, understood=_WIDTH)
ARCEE = Family(
    "arcee",
    "ArceeForCausalLM",
    lambda c: decoder(c, "Arcee", gated=False),
    layout(feed_forward=plain_slots),
    sizes,
    example=_GQA,
)
SEED_OSS = Family(
    "seed_oss",
    "SeedOssForCausalLM",
    lambda c: decoder(c, "SeedOss", output_bias=c.attention_out_bias),
    slots,
    sizes,
    example=_GQA,
)
ERNIE = Family("ernie4_5", "Ernie4_5ForCausalLM", ernie, slots, sizes)
