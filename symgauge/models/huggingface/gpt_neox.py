"""GPT-NeoX: fused head-major [head, (q, k, v), channel] rows, partial rotary, parallel block with two norms."""

from __future__ import annotations

from typing import Any

from symgauge.architecture import Architecture
from symgauge.layout import Slot
from symgauge.models.huggingface.entries import Assignment, Entries, heads_in
from symgauge.models.huggingface.family import Config, Family, activation, context, even_share
from symgauge.models.huggingface.llama import rotary_class
from symgauge.models.huggingface.rope import rotary


def head_major(to: Assignment, role: str, layer: str, heads: int) -> None:
    """Each head's query, key and value columns lie together, in this order."""
    weight, bias = heads_in(to.weight(layer), heads), to.bias(layer)
    for index, part in enumerate(("query", "key", "value")):
        to.put(f"{role}.{part}.weight", weight.chunk(3, dim=-1)[index])
        if bias is not None:
            to.put(f"{role}.{part}.bias", bias.reshape(heads, -1).chunk(3, dim=-1)[index])


def architecture(config: Config) -> Architecture:
    width = even_share(config)
    encoding, rotary_scale = rotary(config, rotary_class("gpt_neox", "GPTNeoX"), width)
    biased = config.attention_bias
    return Architecture(
        name="gpt_neox",
        d_model=config.hidden_size,
        heads=config.num_attention_heads,
        d_k=width,
        d_v=width,
        d_ff=config.intermediate_size,
        layers=config.num_hidden_layers,
        vocabulary=config.vocab_size,
        context=context(config),
        rotary=encoding,
        query_bias=biased,
        key_bias=biased,
        value_bias=biased,
        output_bias=biased,
        ff_bias=True,
        activation=activation(config, "hidden_act"),
        norm="layer",
        norm_offset=True,
        placement="parallel" if config.use_parallel_residual else "pre",
        final_norm=True,
        tied=config.tie_word_embeddings,
        epsilon=config.layer_norm_eps,
        rotary_scale=rotary_scale,
    )


def slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    to = Assignment(entries)
    to.put("token_table", entries["gpt_neox.embed_in.weight"])
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"gpt_neox.layers.{layer}"
        to.norm(f"{role}.norm_1", f"{module}.input_layernorm")
        to.norm(f"{role}.norm_2", f"{module}.post_attention_layernorm")
        head_major(to, f"{role}.attention", f"{module}.attention.query_key_value", a.heads)
        to.output(f"{role}.attention.output", f"{module}.attention.dense", a.heads)
        to.linear(f"{role}.ff.up", f"{module}.mlp.dense_h_to_4h")
        to.linear(f"{role}.ff.down", f"{module}.mlp.dense_4h_to_h")
    to.norm("final_norm", "gpt_neox.final_layer_norm")
    to.head(a, "lm_head")
    return to.slots


def sizes(config: Config, layers: int) -> dict[str, Any]:
    """Two planes turn in every head; where only a part of the channels turns, one more stands still.

    Beside attention a first layer's network sees one vector per token: it is narrow and the tokens are many
    (:func:`symgauge.symmetries.limits`)."""
    rope, partial = dict(config.rope_parameters), config.rope_parameters.get("partial_rotary_factor", 1.0) < 1
    if partial:
        rope["partial_rotary_factor"] = 4 / 5
    return {
        "hidden_size": 10 if partial else 8,
        "num_attention_heads": 2,
        "intermediate_size": 3,
        "num_hidden_layers": layers,
        "vocab_size": 20,
        "max_position_embeddings": 7,
        "rope_parameters": rope,
    }


GPT_NEOX = Family("gpt_neox", "GPTNeoXForCausalLM", architecture, slots, sizes)
