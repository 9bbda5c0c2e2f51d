"""DeepSeek-V3: latent attention with a shared rotary key, dense layers first, then sigmoid-routed and shared experts.

The router's selection bias is a buffer, not a parameter: it moves the choice of experts and no symmetry.
"""

from __future__ import annotations

from typing import Any

from symgauge.architecture import Architecture, Experts, Latent
from symgauge.errors import UnsupportedModel
from symgauge.layout import Slot
from symgauge.models.huggingface import llama
from symgauge.models.huggingface.entries import Assignment, Entries, heads_in
from symgauge.models.huggingface.family import Config, Family
from symgauge.models.huggingface.mixtral import mixture_slots
from symgauge.models.huggingface.rope import rotary

LATENT_EPSILON = 1e-6
"""The latents' norms are built with their class's default epsilon, whatever the configuration says."""


def _score_scale(config: Config) -> float:
    """1/√d_k, times the square of the attention factor that length-extended configurations ask for."""
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import yarn_apply_mscale

    width = config.qk_nope_head_dim + config.qk_rope_head_dim
    return float(yarn_apply_mscale(config.rope_parameters, width**-0.5))


def architecture(config: Config) -> Architecture:
    if config.num_key_value_heads != config.num_attention_heads:
        raise UnsupportedModel("deepseek_v3: 'num_key_value_heads' must equal 'num_attention_heads'")
    encoding, rotary_scale = rotary(
        config,
        llama.rotary_class("deepseek_v3", "DeepseekV3"),
        config.qk_rope_head_dim,
        interleaved=bool(config.rope_interleave),
    )
    # Where all groups are active, they are one.
    groups = config.n_group if (config.n_group or 1) > config.topk_group else 1
    first = config.first_k_dense_replace or 0
    experts = Experts(
        config.n_routed_experts,
        config.num_experts_per_tok,
        config.moe_intermediate_size,
        shared=config.n_shared_experts,
        routing="sigmoid",
        first=first,
        groups=groups,
        active_groups=min(groups, config.topk_group),
        scale=config.routed_scaling_factor,
    )
    return llama.decoder(
        config,
        "DeepseekV3",
        d_k=config.qk_nope_head_dim + config.qk_rope_head_dim,
        d_v=config.v_head_dim,
        latent=Latent(config.q_lora_rank or 0, config.kv_lora_rank, config.qk_rope_head_dim, LATENT_EPSILON),
        rotary=encoding,
        experts=experts if first < config.num_hidden_layers else None,
        score_scale=_score_scale(config),
        rotary_scale=rotary_scale,
    )


def attention_slots(to: Assignment, a: Architecture, role: str, module: str) -> None:
    latent = a.latent
    assert latent is not None
    d_nope = a.d_k - latent.d_rope
    if latent.query:
        to.linear(f"{role}.query_down", f"{module}.q_a_proj")
        to.norm(f"{role}.query_norm", f"{module}.q_a_layernorm")
    query = heads_in(to.weight(f"{module}.q_b_proj" if latent.query else f"{module}.q_proj"), a.heads)
    to.put(f"{role}.query_nope.weight", query[..., :d_nope])
    to.put(f"{role}.query_rope.weight", query[..., d_nope:])
    # The down projection yields the latent, then the rotary key all heads share.
    down = to.weight(f"{module}.kv_a_proj_with_mqa")
    to.put(f"{role}.key_value_down.weight", down[:, : latent.key_value])
    to.put(f"{role}.key_rope.weight", down[:, latent.key_value :])
    to.norm(f"{role}.key_value_norm", f"{module}.kv_a_layernorm")
    up = heads_in(to.weight(f"{module}.kv_b_proj"), a.heads)
    to.put(f"{role}.key_up.weight", up[..., :d_nope])
    to.put(f"{role}.value_up.weight", up[..., d_nope:])
    to.output(f"{role}.output", f"{module}.o_proj", a.heads)


def shared_slots(to: Assignment, role: str, module: str, count: int) -> None:
    """The shared experts are one wide feed-forward layer: each takes an equal run of its neurons."""
    if not count:
        return
    for part in ("gate", "up", "down"):
        index = to.weight(f"{module}.{part}_proj")
        for i, share in enumerate(index.chunk(count, dim=0 if part == "down" else 1)):
            to.put(f"{role}.{i}.{part}.weight", share)


def slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    to = Assignment(entries)
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"model.layers.{layer}"
        to.norm(f"{role}.norm_1", f"{module}.input_layernorm")
        to.norm(f"{role}.norm_2", f"{module}.post_attention_layernorm")
        attention_slots(to, a, f"{role}.attention", f"{module}.self_attn")
        if not a.has_experts(layer):
            llama.gated_slots(to, a, f"{role}.ff", f"{module}.mlp")
            continue
        assert a.experts is not None
        mixture_slots(to, f"{role}.ff", f"{module}.mlp")
        shared_slots(to, f"{role}.ff.shared", f"{module}.mlp.shared_experts", a.experts.shared)
    llama.outer_slots(to, a)
    return to.slots


def sizes(config: Config, layers: int) -> dict[str, Any]:
    """Of two layers the first is dense, as far as the original has dense layers; a single layer has experts."""
    return {
        "hidden_size": 7,
        "num_attention_heads": 3,
        "num_key_value_heads": 3,
        "q_lora_rank": 6 if config.q_lora_rank else None,
        "kv_lora_rank": 5,
        "qk_nope_head_dim": 2,
        "qk_rope_head_dim": 4,
        "v_head_dim": 3,
        "intermediate_size": 8,
        "moe_intermediate_size": 2,
        "n_routed_experts": 4,
        "n_group": min(2, config.n_group or 1),
        "topk_group": 1,
        "num_experts_per_tok": min(2, config.num_experts_per_tok),
        "n_shared_experts": min(2, config.n_shared_experts),
        "first_k_dense_replace": min(layers - 1, config.first_k_dense_replace or 0),
        "num_hidden_layers": layers,
        # More tokens than a quadratic form of the latent has coefficients.
        "vocab_size": 23,
        "max_position_embeddings": 9,
    }


DEEPSEEK_V3 = Family(
    "deepseek_v3",
    "DeepseekV3ForCausalLM",
    architecture,
    slots,
    sizes,
    derived=frozenset({"head_dim", "qk_head_dim"}),
    required={
        "attention_bias": (False,),
        "norm_topk_prob": (True,),
        "scoring_func": ("sigmoid",),
        "topk_method": ("noaux_tc",),
        "moe_layer_freq": (1,),
    },
)
