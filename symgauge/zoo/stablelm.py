"""StableLM: LLaMA with LayerNorm, partial rotary encoding, and parallel blocks if asked for."""

from symgauge.architecture import Architecture
from symgauge.zoo.parts.cases import EVEN
from symgauge.zoo.parts.family import Cases, Config, Family, Published
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import even_partial_sizes
from symgauge.zoo.parts.slots import layout


def architecture(config: Config) -> Architecture:
    return decoder(
        config,
        epsilon_field="layer_norm_eps",
        norm="layer",
        norm_offset=True,
        placement="parallel_shared" if config.use_parallel_residual else "pre",
        **dict.fromkeys(("query_bias", "key_bias", "value_bias"), config.use_qkv_bias),
    )


FAMILY = Family(
    "stablelm",
    "StableLmForCausalLM",
    architecture,
    layout(),
    even_partial_sizes,
    required={"qk_layernorm": (False,)},
    published={
        "stablelm-2-1.6b": Published(1.64e9, {
            "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 5632, "layer_norm_eps": 1e-5,
            "max_position_embeddings": 4096, "num_attention_heads": 32, "num_hidden_layers": 24,
            "num_key_value_heads": 32, "partial_rotary_factor": 0.25, "rope_theta": 10000,
            "tie_word_embeddings": False, "use_qkv_bias": True, "vocab_size": 100352,
        }),
    },
    cases=Cases(
        variants=(
            {"use_qkv_bias": True, "use_parallel_residual": True},
            {"num_attention_heads": 4, "hidden_size": 20, "num_key_value_heads": 2, "tie_word_embeddings": True},
        ),
        refused=(("qk_layernorm", {"qk_layernorm": True}),),
        accounted=((1, {**EVEN, "hidden_size": 6, "use_qkv_bias": True}),),
    ),
)  # fmt: skip
