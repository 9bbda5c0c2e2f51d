"""Mistral: LLaMA with a sliding window."""

from symgauge.zoo.parts.family import Cases, Family, Published
from symgauge.zoo.parts.llama import decoder, published
from symgauge.zoo.parts.sizes import sizes
from symgauge.zoo.parts.slots import layout

FAMILY = Family(
    "mistral",
    "MistralForCausalLM",
    decoder,
    layout(),
    sizes,
    published={
        "mistral-7b": Published(7_241_732_096, {
            "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
            "num_key_value_heads": 8, "num_hidden_layers": 32, "max_position_embeddings": 32768, "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0, "sliding_window": 4096, "vocab_size": 32000,
        }),
    },
    preset=published,
    cases=Cases(variants=({"sliding_window": 4},)),
)  # fmt: skip
