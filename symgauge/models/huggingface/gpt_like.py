"""GPT-Neo, OPT, BLOOM and MPT: GPT-2 with other projections; the last two have ALiBi in place of positions."""

from __future__ import annotations

from typing import Any

import torch

from symgauge.architecture import Architecture
from symgauge.errors import UnsupportedModel
from symgauge.layout import Slot
from symgauge.models.huggingface.entries import Assignment, Entries
from symgauge.models.huggingface.family import Config, Family, activation, even_share
from symgauge.models.huggingface.gpt_neox import head_major
from symgauge.models.huggingface.llama import biases, kept_layers


def decoder(config: Config, **fields: Any) -> Architecture:
    """What the four have in common: Pre-LN with LayerNorm, heads that share the stream evenly, no gate."""
    width = even_share(config)
    common: dict[str, Any] = {
        "name": config.model_type,
        "d_model": config.hidden_size,
        "heads": config.num_attention_heads,
        "d_k": width,
        "d_v": width,
        "d_ff": 4 * config.hidden_size,
        "layers": config.num_hidden_layers,
        "vocabulary": config.vocab_size,
        "norm": "layer",
        "norm_offset": True,
        "final_norm": True,
        "tied": config.tie_word_embeddings,
        "epsilon": config.layer_norm_epsilon,
    }
    return Architecture(**{**common, **fields})


def gpt_neo(config: Config) -> Architecture:
    windows = tuple(config.window_size if kind == "local" else 0 for kind in config.attention_layers)
    return decoder(
        config,
        d_ff=config.intermediate_size or 4 * config.hidden_size,
        context=config.max_position_embeddings,
        windows=windows if any(windows) else (),
        position_table=True,
        output_bias=True,
        ff_bias=True,
        activation=activation(config, "activation_function"),
        score_scale=1.0,
    )


def gpt_neo_slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    to = Assignment(entries)
    to.put("token_table", entries["transformer.wte.weight"])
    to.put("position_table", entries["transformer.wpe.weight"])
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"transformer.h.{layer}"
        to.norm(f"{role}.norm_1", f"{module}.ln_1")
        to.norm(f"{role}.norm_2", f"{module}.ln_2")
        for part in ("query", "key", "value"):
            to.heads(f"{role}.attention.{part}", f"{module}.attn.attention.{part[0]}_proj", a.heads)
        to.output(f"{role}.attention.output", f"{module}.attn.attention.out_proj", a.heads)
        to.linear(f"{role}.ff.up", f"{module}.mlp.c_fc")
        to.linear(f"{role}.ff.down", f"{module}.mlp.c_proj")
    to.norm("final_norm", "transformer.ln_f")
    to.head(a, "lm_head")
    return to.slots


def gpt_neo_sizes(config: Config, layers: int) -> dict[str, Any]:
    kept = [config.attention_layers[i] for i in kept_layers(config.attention_layers, layers)]
    return {
        "hidden_size": 6,
        "num_heads": 3,
        "intermediate_size": 5,
        "num_layers": layers,
        "attention_types": [[[kind], 1] for kind in kept],
        "vocab_size": 11,
        "max_position_embeddings": 4,
    }


def _only(config: Config, field: str, value: object, wanted: object) -> None:
    if value != wanted:
        raise UnsupportedModel(
            f"{config.model_type}: configuration field {field!r} is {value!r}; the adapter knows {wanted!r} only, and "
            "`symgauge dim` measures the model as it is"
        )


def opt(config: Config) -> Architecture:
    _only(config, "word_embed_proj_dim", config.word_embed_proj_dim, config.hidden_size)
    before = config.do_layer_norm_before
    return Architecture(
        name="opt",
        d_model=config.hidden_size,
        heads=config.num_attention_heads,
        d_k=even_share(config),
        d_v=even_share(config),
        d_ff=config.ffn_dim,
        layers=config.num_hidden_layers,
        vocabulary=config.vocab_size,
        context=config.max_position_embeddings,
        activation=activation(config, "activation_function"),
        norm="layer",
        norm_offset=True,
        placement="pre" if before else "post",
        final_norm=before and not config._remove_final_layer_norm,
        position_table=True,
        unused_positions=2,
        tied=config.tie_word_embeddings,
        # The norms have torch's own epsilon.
        epsilon=1e-5,
        **biases(config.enable_bias),
    )


def opt_slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    to = Assignment(entries)
    to.put("token_table", entries["model.decoder.embed_tokens.weight"])
    positions = entries["model.decoder.embed_positions.weight"]
    to.put("position_table", positions[a.unused_positions :])
    to.put("unused_positions", positions[: a.unused_positions])
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"model.decoder.layers.{layer}"
        to.norm(f"{role}.norm_1", f"{module}.self_attn_layer_norm")
        to.norm(f"{role}.norm_2", f"{module}.final_layer_norm")
        for part in ("query", "key", "value"):
            to.heads(f"{role}.attention.{part}", f"{module}.self_attn.{part[0]}_proj", a.heads)
        to.output(f"{role}.attention.output", f"{module}.self_attn.out_proj", a.heads)
        to.linear(f"{role}.ff.up", f"{module}.fc1")
        to.linear(f"{role}.ff.down", f"{module}.fc2")
    if a.final_norm:
        to.norm("final_norm", "model.decoder.final_layer_norm")
    to.head(a, "lm_head")
    return to.slots


def opt_sizes(config: Config, layers: int) -> dict[str, Any]:
    return {
        "hidden_size": 6,
        "word_embed_proj_dim": 6,
        "num_attention_heads": 3,
        "ffn_dim": 5,
        "num_hidden_layers": layers,
        "vocab_size": 11,
        "max_position_embeddings": 4,
    }


def bloom(config: Config) -> Architecture:
    from transformers.models.bloom.modeling_bloom import _get_alibi_slopes

    return decoder(
        config,
        alibi=tuple(_get_alibi_slopes(config.num_attention_heads, device=torch.device("cpu")).tolist()),
        embedding_norm=True,
        activation="gelu_tanh",
        # The class has no limit; published files name the length that the model was trained on.
        context=getattr(config, "seq_length", None) or 2048,
        gelu_slope=0.79788456,
        **biases(True),
    )


def bloom_slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    to = Assignment(entries)
    to.put("token_table", entries["transformer.word_embeddings.weight"])
    to.norm("embedding_norm", "transformer.word_embeddings_layernorm")
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"transformer.h.{layer}"
        to.norm(f"{role}.norm_1", f"{module}.input_layernorm")
        to.norm(f"{role}.norm_2", f"{module}.post_attention_layernorm")
        head_major(to, f"{role}.attention", f"{module}.self_attention.query_key_value", a.heads)
        to.output(f"{role}.attention.output", f"{module}.self_attention.dense", a.heads)
        to.linear(f"{role}.ff.up", f"{module}.mlp.dense_h_to_4h")
        to.linear(f"{role}.ff.down", f"{module}.mlp.dense_4h_to_h")
    to.norm("final_norm", "transformer.ln_f")
    to.head(a, "lm_head")
    return to.slots


_MPT_ATTENTION = {
    "alibi": True,
    "alibi_bias_max": 8,
    "attn_type": "multihead_attention",
    "clip_qkv": None,
    "prefix_lm": False,
    "qk_ln": False,
}
"""What the class of transformers takes for granted, whatever the configuration says, and clipping."""


def mpt(config: Config) -> Architecture:
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    for name, wanted in _MPT_ATTENTION.items():
        _only(config, f"attn_config.{name}", getattr(config.attn_config, name), wanted)
    # Of positions −1 and 0.
    slopes = -build_mpt_alibi_tensor(config.n_heads, 2)[:, 0, 0]
    return decoder(
        config,
        alibi=tuple(slopes.tolist()),
        norm_offset=False,
        context=config.max_seq_len,
        score_scale=config.attn_config.softmax_scale,
    )


def mpt_slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    to = Assignment(entries)
    to.put("token_table", entries["transformer.wte.weight"])
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"transformer.blocks.{layer}"
        to.norm(f"{role}.norm_1", f"{module}.norm_1")
        to.norm(f"{role}.norm_2", f"{module}.norm_2")
        parts = {f"{role}.attention.{part}": a.heads for part in ("query", "key", "value")}
        to.split(parts, to.weight(f"{module}.attn.Wqkv"), None)
        to.output(f"{role}.attention.output", f"{module}.attn.out_proj", a.heads)
        to.linear(f"{role}.ff.up", f"{module}.ffn.up_proj")
        to.linear(f"{role}.ff.down", f"{module}.ffn.down_proj")
    to.norm("final_norm", "transformer.norm_f")
    to.head(a, "lm_head")
    return to.slots


GPT_NEO = Family(
    "gpt_neo", "GPTNeoForCausalLM", gpt_neo, gpt_neo_slots, gpt_neo_sizes, derived=frozenset({"attention_layers"})
)
OPT = Family(
    "opt",
    "OPTForCausalLM",
    opt,
    opt_slots,
    opt_sizes,
    required={"layer_norm_elementwise_affine": (True,)},
    understood=frozenset({"prefix", "activation_dropout"}),
)
BLOOM = Family(
    "bloom",
    "BloomForCausalLM",
    bloom,
    bloom_slots,
    lambda c, layers: {"hidden_size": 4, "n_head": 2, "n_layer": layers, "vocab_size": 13, "seq_length": 5},
    required={"apply_residual_connection_post_layernorm": (False,), "slow_but_exact": (False,)},
    # n_embed is an older name; the others belong to the code that trained the model.
    understood=frozenset(
        {
            "seq_length",
            "n_embed",
            "n_inner",
            "masked_softmax_fusion",
            "offset_alibi",
            "skip_bias_add",
            "skip_bias_add_qkv",
            "unk_token_id",
            "attention_softmax_in_fp32",
            "bias_dropout_fusion",
        }
    ),
)
MPT = Family(
    "mpt",
    "MptForCausalLM",
    mpt,
    mpt_slots,
    lambda c, layers: {"d_model": 4, "n_heads": 2, "n_layers": layers, "vocab_size": 11, "max_seq_len": 7},
    required={"no_bias": (True,), "expansion_ratio": (4,), "logit_scale": (None,)},
    understood=frozenset({"init_config", "tokenizer_name", "verbose"}),
)
