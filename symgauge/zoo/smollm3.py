"""SmolLM3: LLaMA of whose layers every fourth has no rotary encoding."""

from typing import Any

from symgauge.architecture import Architecture
from symgauge.zoo.parts.cases import BIASED, NARROW
from symgauge.zoo.parts.family import Cases, Config, Family, Published
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.rope import in_layers
from symgauge.zoo.parts.sizes import kept_layers, sizes
from symgauge.zoo.parts.slots import layout


def architecture(config: Config) -> Architecture:
    return decoder(config, **in_layers(config, config.no_rope_layers[: config.num_hidden_layers]))


def small(config: Config, layers: int) -> dict[str, Any]:
    kept = kept_layers([*zip(config.no_rope_layers, config.layer_types, strict=False)], layers)
    lists = {name: [getattr(config, name)[i] for i in kept] for name in ("no_rope_layers", "layer_types")}
    return {**sizes(config, layers), **lists}


FAMILY = Family(
    "smollm3",
    "SmolLM3ForCausalLM",
    architecture,
    layout(),
    small,
    understood=frozenset({"head_dim"}),
    published={
        "smollm3-3b": Published(3.08e9, {
            "hidden_size": 2048, "intermediate_size": 11008, "max_position_embeddings": 65536,
            "no_rope_layer_interval": 4, "num_attention_heads": 16, "num_hidden_layers": 36, "num_key_value_heads": 4,
            "rope_theta": 5000000.0, "tie_word_embeddings": True, "vocab_size": 128256,
        }),
    },
    cases=Cases(
        variants=(
            {"attention_bias": True, "no_rope_layers": [0, 1], "layer_types": None},
            {"no_rope_layers": [1, 1], "mlp_bias": True, "tie_word_embeddings": False},
            {"use_sliding_window": True, "sliding_window": 4, "layer_types": None},
        ),
        accounted=((2, {**NARROW, **BIASED, "hidden_size": 5, "intermediate_size": 2}),),
    ),
)  # fmt: skip
