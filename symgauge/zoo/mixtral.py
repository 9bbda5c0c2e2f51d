"""Mixtral: LLaMA with experts in every layer, stacked in 3-D tensors."""

from symgauge.architecture import Architecture, Experts
from symgauge.zoo.parts import llama
from symgauge.zoo.parts.family import Cases, Config, Family, Fields, Published
from symgauge.zoo.parts.sizes import sizes
from symgauge.zoo.parts.slots import layout, mixture


def architecture(config: Config) -> Architecture:
    experts = Experts(config.num_local_experts, config.num_experts_per_tok, config.intermediate_size)
    return llama.decoder(config, d_ff=0, experts=experts)


def preset(config: Fields) -> Architecture:
    experts = Experts(config["num_local_experts"], config["num_experts_per_tok"], config["intermediate_size"])
    return llama.published(config, d_ff=0, experts=experts)


FAMILY = Family(
    "mixtral",
    "MixtralForCausalLM",
    architecture,
    layout(feed_forward=mixture),
    lambda c, layers: {
        **sizes(c, layers), "num_local_experts": 3, "num_experts_per_tok": min(2, c.num_experts_per_tok),
    },
    published={
        "mixtral-8x7b": Published(46_702_792_704, {
            "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
            "num_key_value_heads": 8, "num_hidden_layers": 32, "num_experts_per_tok": 2, "num_local_experts": 8,
            "max_position_embeddings": 32768, "rms_norm_eps": 1e-5, "rope_theta": 1000000.0, "sliding_window": None,
            "vocab_size": 32000,
        }),
    },
    preset=preset,
    cases=Cases(variants=({"num_experts_per_tok": 1},)),
)  # fmt: skip
