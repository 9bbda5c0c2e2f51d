"""LLaMA: the shape that most families have."""

from symgauge.zoo.parts.cases import YARN
from symgauge.zoo.parts.family import Cases, Family, Fields, Published
from symgauge.zoo.parts.llama import decoder, published
from symgauge.zoo.parts.sizes import GROUPED, sizes
from symgauge.zoo.parts.slots import layout

_COMMON: Fields = {
    "hidden_act": "silu", "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
    "pretraining_tp": 1, "num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096,
}  # fmt: skip
_LLAMA3: Fields = {
    **_COMMON, "num_key_value_heads": 8, "intermediate_size": 14336, "max_position_embeddings": 8192,
    "rope_theta": 500000.0, "vocab_size": 128256,
}  # fmt: skip
_STRETCHED: Fields = {
    "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8,
}  # fmt: skip

FAMILY = Family(
    "llama",
    "LlamaForCausalLM",
    decoder,
    layout(),
    sizes,
    example={**GROUPED, "hidden_size": 4096},
    published={
        "llama-2-7b": Published(6_738_415_616, {
            **_COMMON, "num_key_value_heads": 32, "intermediate_size": 11008, "max_position_embeddings": 4096,
            "rope_theta": 10000.0,  # the published file has none; its class's default
            "rope_scaling": None, "vocab_size": 32000,
        }),
        "llama-3-8b": Published(8_030_261_248, {**_LLAMA3, "attention_bias": False}),
        "llama-3-70b": Published(70_553_706_496, {
            **_LLAMA3, "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64,
            "num_hidden_layers": 80,
        }),
    },
    preset=published,
    cases=Cases(
        variants=(
            {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},
            {"rope_parameters": _STRETCHED, "num_key_value_heads": 1},
            {"rope_parameters": YARN, "num_key_value_heads": 4},
        ),
        refused=(
            ("rope_type", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}),
            ("softmax_offset", {"softmax_offset": 1.0}),
        ),
    ),
)  # fmt: skip
