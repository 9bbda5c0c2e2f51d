"""Gemma 2: norms on both sides of each sublayer, soft caps on scores and logits."""

from symgauge.architecture import Architecture
from symgauge.zoo.parts import llama
from symgauge.zoo.parts.family import Cases, Family, Fields, Published
from symgauge.zoo.parts.gemma import SANDWICH, embedding_scale, sandwich
from symgauge.zoo.parts.sizes import layered_sizes
from symgauge.zoo.parts.slots import layout


def preset(config: Fields) -> Architecture:
    return llama.published(
        config,
        activation="gelu_tanh",
        placement="sandwich",
        attention_softcap=config["attn_logit_softcapping"],
        logit_softcap=config["final_logit_softcapping"],
        tied=True,
        embedding_scale=embedding_scale(config["hidden_size"]),
        score_scale=config["query_pre_attn_scalar"] ** -0.5,
    )


FAMILY = Family(
    "gemma2",
    "Gemma2ForCausalLM",
    sandwich,
    layout(norms=SANDWICH, gain_shift=1),
    layered_sizes,
    # Older names; the module reads hidden_activation and sliding_window.
    understood=frozenset({"hidden_act", "sliding_window_size"}),
    published={
        "gemma-2-9b": Published(9_241_705_984, {
            "attn_logit_softcapping": 50.0, "cache_implementation": "hybrid", "final_logit_softcapping": 30.0,
            "head_dim": 256, "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh",
            "hidden_size": 3584, "intermediate_size": 14336, "num_attention_heads": 16, "num_key_value_heads": 8,
            "num_hidden_layers": 42, "max_position_embeddings": 8192, "query_pre_attn_scalar": 256,
            "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "sliding_window": 4096, "sliding_window_size": 4096,
            "vocab_size": 256000,
        }),
    },
    preset=preset,
    cases=Cases(
        variants=(
            {"attn_logit_softcapping": None, "final_logit_softcapping": None},
            {"attention_bias": True, "query_pre_attn_scalar": 2, "attn_logit_softcapping": 1.5},
        ),
    ),
)  # fmt: skip
