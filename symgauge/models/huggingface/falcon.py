"""Falcon in its three layouts: multi-query [queries | key | value], multi-head head-major, and grouped [q… k v]."""

from __future__ import annotations

from typing import Any

from symgauge.architecture import Architecture
from symgauge.errors import UnsupportedModel
from symgauge.layout import Slot
from symgauge.models.huggingface.entries import Assignment, Entries
from symgauge.models.huggingface.family import Config, Family, activation, context, even_share
from symgauge.models.huggingface.gpt_neox import head_major
from symgauge.models.huggingface.llama import rotary_class
from symgauge.models.huggingface.rope import rotary


def _groups(config: Config) -> int:
    if config.new_decoder_architecture:
        return int(config.num_kv_heads)
    return 1 if config.multi_query else int(config.num_attention_heads)


def _placement(config: Config) -> str:
    norms = config.num_ln_in_parallel_attn or (2 if config.new_decoder_architecture else 1)
    if norms not in (1, 2) or (norms == 2 and not (config.new_decoder_architecture and config.parallel_attn)):
        raise UnsupportedModel(
            f"falcon: 'num_ln_in_parallel_attn' = {norms} needs new_decoder_architecture and parallel_attn"
        )
    if not config.parallel_attn:
        return "pre"
    return "parallel" if norms == 2 else "parallel_shared"


def architecture(config: Config) -> Architecture:
    width = even_share(config)
    encoding, rotary_scale = rotary(config, rotary_class("falcon", "Falcon"), width)
    if config.new_decoder_architecture and not config.parallel_attn:
        raise UnsupportedModel("falcon: 'parallel_attn' = False is only known without new_decoder_architecture")
    return Architecture(
        name="falcon",
        d_model=config.hidden_size,
        heads=config.num_attention_heads,
        groups=_groups(config),
        d_k=width,
        d_v=width,
        d_ff=config.ffn_hidden_size,
        layers=config.num_hidden_layers,
        vocabulary=config.vocab_size,
        context=context(config),
        rotary=encoding,
        query_bias=config.bias,
        key_bias=config.bias,
        value_bias=config.bias,
        output_bias=config.bias,
        ff_bias=config.bias,
        activation=activation(config, "activation"),
        norm="layer",
        norm_offset=True,
        placement=_placement(config),  # type: ignore[arg-type]
        final_norm=True,
        tied=config.tie_word_embeddings,
        epsilon=config.layer_norm_epsilon,
        rotary_scale=rotary_scale,
    )


def grouped(to: Assignment, role: str, layer: str, a: Architecture) -> None:
    """Per key/value group: its query heads, its key, its value. One group is the multi-query layout."""
    shared = a.heads // a.groups
    weight, bias = to.weight(layer), to.bias(layer)
    # (in, g, s + 2, d): the last two of each group are its key and its value.
    weight = weight.reshape(a.d_model, a.groups, shared + 2, a.d_k).permute(1, 2, 0, 3)
    to.put(f"{role}.query.weight", weight[:, :-2].reshape(a.heads, a.d_model, a.d_k))
    to.put(f"{role}.key.weight", weight[:, -2])
    to.put(f"{role}.value.weight", weight[:, -1])
    if bias is not None:
        bias = bias.reshape(a.groups, shared + 2, a.d_k)
        to.put(f"{role}.query.bias", bias[:, :-2].reshape(a.heads, a.d_k))
        to.put(f"{role}.key.bias", bias[:, -2])
        to.put(f"{role}.value.bias", bias[:, -1])


def slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    to = Assignment(entries)
    to.put("token_table", entries["transformer.word_embeddings.weight"])
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"transformer.h.{layer}"
        first, second = ("ln_attn", "ln_mlp") if a.placement == "parallel" else ("input_layernorm", None)
        to.norm(f"{role}.norm_1", f"{module}.{first}")
        if a.placement == "pre":
            second = "post_attention_layernorm"
        if second:
            to.norm(f"{role}.norm_2", f"{module}.{second}")
        fused = f"{module}.self_attention.query_key_value"
        # Without sharing both layouts are the same: query, key, value of each head together.
        if a.groups == a.heads:
            head_major(to, f"{role}.attention", fused, a.heads)
        else:
            grouped(to, f"{role}.attention", fused, a)
        to.output(f"{role}.attention.output", f"{module}.self_attention.dense", a.heads)
        to.linear(f"{role}.ff.up", f"{module}.mlp.dense_h_to_4h")
        to.linear(f"{role}.ff.down", f"{module}.mlp.dense_4h_to_h")
    to.norm("final_norm", "transformer.ln_f")
    if not a.tied:
        to.linear("unembedding", "lm_head")
    return to.slots


def sizes(config: Config, layers: int) -> dict[str, Any]:
    """Beside attention a first layer's network sees one vector per token: it is narrow and the tokens are many, as in
    the originals (:func:`symgauge.symmetries.limits`)."""
    groups = _groups(config)
    small: dict[str, Any] = {
        "hidden_size": 12,
        "num_attention_heads": 3,
        "num_kv_heads": 3,
        "ffn_hidden_size": 3,
        "num_hidden_layers": layers,
        "vocab_size": 21,
        "max_position_embeddings": 7,
    }
    if config.new_decoder_architecture and 1 < groups < config.num_attention_heads:
        small.update(hidden_size=16, num_attention_heads=4, num_kv_heads=2, vocab_size=25)
    elif config.new_decoder_architecture and groups == 1:
        small["num_kv_heads"] = 1
    return small


FALCON = Family(
    "falcon",
    "FalconForCausalLM",
    architecture,
    slots,
    sizes,
    required={"alibi": (False,), "apply_residual_connection_post_layernorm": (False,)},
)
