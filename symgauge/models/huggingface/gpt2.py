"""GPT-2: fused q|k|v columns in Conv1D layers, which store (in, out)."""

from __future__ import annotations

from typing import Any

from symgauge.architecture import Architecture
from symgauge.layout import Slot
from symgauge.models.huggingface.entries import Assignment, Entries
from symgauge.models.huggingface.family import Config, Family, activation, even_share


def architecture(config: Config) -> Architecture:
    width = even_share(config)
    return Architecture(
        name="gpt2",
        d_model=config.n_embd,
        heads=config.n_head,
        d_k=width,
        d_v=width,
        d_ff=config.n_inner or 4 * config.n_embd,
        layers=config.n_layer,
        vocabulary=config.vocab_size,
        context=config.n_positions,
        query_bias=True,
        key_bias=True,
        value_bias=True,
        output_bias=True,
        ff_bias=True,
        activation=activation(config, "activation_function"),
        norm="layer",
        norm_offset=True,
        final_norm=True,
        position_table=True,
        tied=config.tie_word_embeddings,
        epsilon=config.layer_norm_epsilon,
        score_scale=None if config.scale_attn_weights else 1.0,
    )


def slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    to = Assignment(entries, transposed=False)
    to.put("token_table", entries["transformer.wte.weight"])
    to.put("position_table", entries["transformer.wpe.weight"])
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"transformer.h.{layer}"
        to.norm(f"{role}.norm_1", f"{module}.ln_1")
        to.norm(f"{role}.norm_2", f"{module}.ln_2")
        fused = f"{module}.attn.c_attn"
        parts = {f"{role}.attention.{part}": a.heads for part in ("query", "key", "value")}
        to.split(parts, to.weight(fused), to.bias(fused))
        to.output(f"{role}.attention.output", f"{module}.attn.c_proj", a.heads)
        to.linear(f"{role}.ff.up", f"{module}.mlp.c_fc")
        to.linear(f"{role}.ff.down", f"{module}.mlp.c_proj")
    to.norm("final_norm", "transformer.ln_f")
    to.head(a, "lm_head")
    return to.slots


def sizes(config: Config, layers: int) -> dict[str, Any]:
    return {"n_embd": 6, "n_head": 3, "n_inner": 5, "n_layer": layers, "vocab_size": 11, "n_positions": 4}


GPT2 = Family(
    "gpt2",
    "GPT2LMHeadModel",
    architecture,
    slots,
    sizes,
    required={
        "add_cross_attention": (False,),
        "scale_attn_by_inverse_layer_idx": (False,),
        # The same function, computed in another order.
        "reorder_and_upcast_attn": (False, True),
    },
)
