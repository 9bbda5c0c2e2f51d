"""DeepSeek-V3: latent attention with a shared rotary key, dense layers first, then sigmoid-routed and shared experts.

The router's selection bias is a buffer, not a parameter: it moves the choice of experts and no symmetry.
"""

import math
from typing import Any

from symgauge.architecture import Architecture, Experts, Latent, Rotary
from symgauge.errors import UnsupportedModel
from symgauge.zoo.parts import llama
from symgauge.zoo.parts.cases import TIED, YARN
from symgauge.zoo.parts.entries import Assignment, heads_in
from symgauge.zoo.parts.family import Cases, Config, Family, Fields, Published
from symgauge.zoo.parts.rope import rotary
from symgauge.zoo.parts.slots import gated, layout, mixture

_LATENT_EPSILON = 1e-6
"""The latents' norms are built with their class's default epsilon, whatever the configuration says."""


def _score_scale(config: Config) -> float:
    """1/√d_k, times the square of the attention factor that length-extended configurations ask for."""
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import yarn_apply_mscale

    width = config.qk_nope_head_dim + config.qk_rope_head_dim
    return float(yarn_apply_mscale(config.rope_parameters, width**-0.5))


def architecture(config: Config) -> Architecture:
    if config.num_key_value_heads != config.num_attention_heads:
        raise UnsupportedModel("deepseek_v3: 'num_key_value_heads' must equal 'num_attention_heads'")
    encoding, factor = rotary(config, config.qk_rope_head_dim, interleaved=bool(config.rope_interleave))
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
        d_k=config.qk_nope_head_dim + config.qk_rope_head_dim,
        d_v=config.v_head_dim,
        latent=Latent(config.q_lora_rank or 0, config.kv_lora_rank, config.qk_rope_head_dim, _LATENT_EPSILON),
        rotary=encoding,
        rotary_scale=factor,
        experts=experts if first < config.num_hidden_layers else None,
        score_scale=_score_scale(config),
    )


def preset(config: Fields) -> Architecture:
    """Without the prediction layer for further tokens, and without the stretching of frequencies for long contexts
    (YaRN), which keeps them apart; YaRN's factor of the scores is there."""
    yarn, width = config["rope_scaling"], config["qk_nope_head_dim"] + config["qk_rope_head_dim"]
    return llama.published(
        config,
        d_k=width,
        d_v=config["v_head_dim"],
        rotary=Rotary.standard(config["qk_rope_head_dim"], base=config["rope_theta"], interleaved=True),
        latent=Latent(config["q_lora_rank"], config["kv_lora_rank"], config["qk_rope_head_dim"], _LATENT_EPSILON),
        experts=Experts(
            config["n_routed_experts"],
            config["num_experts_per_tok"],
            config["moe_intermediate_size"],
            shared=config["n_shared_experts"],
            routing="sigmoid",
            first=config["first_k_dense_replace"],
            groups=config["n_group"],
            active_groups=config["topk_group"],
            scale=config["routed_scaling_factor"],
        ),
        score_scale=width**-0.5 * (0.1 * yarn["mscale_all_dim"] * math.log(yarn["factor"]) + 1) ** 2,
    )


def _attention(to: Assignment, a: Architecture, role: str, module: str) -> None:
    latent, module = a.latent, f"{module}.self_attn"
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


def _feed_forward(to: Assignment, a: Architecture, role: str, module: str) -> None:
    """Dense, or routed experts and shared ones, which are one wide layer: each takes an equal run of its neurons."""
    if to.entries.get(f"{module}.mlp.gate.weight") is None:
        return gated(to, a, role, module)
    mixture(to, a, role, module)
    count = a.experts.shared if a.experts is not None else 0
    for part in ("gate", "up", "down") if count else ():
        index = to.weight(f"{module}.mlp.shared_experts.{part}_proj")
        for i, share in enumerate(index.chunk(count, dim=0 if part == "down" else 1)):
            to.put(f"{role}.shared.{i}.{part}.weight", share)


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


FAMILY = Family(
    "deepseek_v3",
    "DeepseekV3ForCausalLM",
    architecture,
    layout(attention=_attention, feed_forward=_feed_forward),
    sizes,
    derived=frozenset({"head_dim", "qk_head_dim"}),
    required={
        "attention_bias": (False,),
        "norm_topk_prob": (True,),
        "scoring_func": ("sigmoid",),
        "topk_method": ("noaux_tc",),
        "moe_layer_freq": (1,),
    },
    published={
        # Without the prediction layer for further tokens and the routers' selection biases (58 layers of 256).
        "deepseek-v3": Published(671_026_419_200 - 58 * 256, {
            "attention_bias": False, "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"},
            "aux_loss_alpha": 0.001, "ep_size": 1, "first_k_dense_replace": 3, "hidden_act": "silu",
            "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 163840,
            "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256,
            "n_shared_experts": 1, "norm_topk_prob": True, "num_attention_heads": 128, "num_experts_per_tok": 8,
            "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
            "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "quantization_config": {"fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]},
            "rms_norm_eps": 1e-06,
            "rope_scaling": {
                "beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
                "original_max_position_embeddings": 4096, "type": "yarn",
            },
            "rope_theta": 10000, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "seq_aux": True,
            "topk_group": 4, "topk_method": "noaux_tc", "v_head_dim": 128, "vocab_size": 129280,
        }),
    },
    preset=preset,
    cases=Cases(
        variants=(
            {"q_lora_rank": None, "rope_interleave": False},
            {"n_group": 1, "num_experts_per_tok": 3, "n_shared_experts": 3, **TIED},
            {"n_shared_experts": 0, "n_group": None, "first_k_dense_replace": 2},
            {"n_shared_experts": 0},
            {"rope_parameters": {**YARN, "mscale": 0.7, "mscale_all_dim": 1.3}},
        ),
        refused=(
            ("num_key_value_heads", {"num_key_value_heads": 1}),
            ("head_dim", {"head_dim": 8}),
            ("norm_topk_prob", {"norm_topk_prob": False}),
            ("attention_bias", {"attention_bias": True}),
        ),
    ),
)  # fmt: skip
