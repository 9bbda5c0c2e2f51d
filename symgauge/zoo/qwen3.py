"""Qwen3: LLaMA with a norm on each query and key head."""

from symgauge.zoo.parts.family import Cases, Family, Published
from symgauge.zoo.parts.llama import decoder, published
from symgauge.zoo.parts.sizes import GROUPED, layered_sizes
from symgauge.zoo.parts.slots import layout

FAMILY = Family(
    "qwen3",
    "Qwen3ForCausalLM",
    lambda c: decoder(c, qk_norm=True),
    layout(),
    # Normed queries and keys of a first layer are forms that only enough tokens fix.
    lambda config, layers: layered_sizes(config, layers) | {"vocab_size": 15},
    example=GROUPED,
    published={
        "qwen3-8b": Published(8_190_735_360, {
            "attention_bias": False, "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096,
            "intermediate_size": 12288, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 36,
            "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "rope_theta": 1000000,
            "use_sliding_window": False, "vocab_size": 151936,
        }),
    },
    preset=lambda c: published(c, qk_norm=True),
    cases=Cases(variants=({"attention_bias": True, "tie_word_embeddings": True},)),
)  # fmt: skip
