"""Qwen2: LLaMA with biases on queries, keys and values."""

from typing import Any

from symgauge.zoo.parts.family import Cases, Family, Published
from symgauge.zoo.parts.llama import decoder, published
from symgauge.zoo.parts.sizes import GROUPED, layered_sizes
from symgauge.zoo.parts.slots import layout

_BIASES: dict[str, Any] = {"query_bias": True, "key_bias": True, "value_bias": True}

FAMILY = Family(
    "qwen2",
    "Qwen2ForCausalLM",
    lambda c: decoder(c, **_BIASES),
    layout(),
    layered_sizes,
    understood=frozenset({"head_dim"}),
    example=GROUPED,
    published={
        "qwen2.5-7b": Published(7_615_616_512, {
            "hidden_act": "silu", "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28,
            "num_key_value_heads": 4, "num_hidden_layers": 28, "max_position_embeddings": 131072,
            "max_window_layers": 28, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "sliding_window": 131072,
            "use_sliding_window": False, "use_mrope": False, "vocab_size": 152064,
        }),
    },
    preset=lambda c: published(c, **_BIASES),
    cases=Cases(
        variants=({"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 0, "layer_types": None},)
    ),
)  # fmt: skip
