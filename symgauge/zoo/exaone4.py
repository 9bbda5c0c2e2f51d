"""EXAONE 4: OLMo 2 with a norm for each head; with a sliding window, layers without it have no rotary encoding."""

from symgauge.architecture import Architecture
from symgauge.zoo.parts.cases import NARROW
from symgauge.zoo.parts.family import Cases, Config, Family
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.olmo import OUTPUT_NORMS
from symgauge.zoo.parts.rope import in_layers
from symgauge.zoo.parts.sizes import layered_sizes
from symgauge.zoo.parts.slots import layout


def architecture(config: Config) -> Architecture:
    turning = [config.sliding_window is None or kind == "sliding_attention" for kind in config.layer_types]
    return decoder(config, placement="output", qk_norm=True, **in_layers(config, turning))


FAMILY = Family(
    "exaone4",
    "Exaone4ForCausalLM",
    architecture,
    layout(norms=OUTPUT_NORMS),
    layered_sizes,
    understood=frozenset({"head_dim"}),
    example={"num_key_value_heads": 8},
    cases=Cases(
        variants=(
            {"sliding_window": None, "layer_types": ["full_attention"] * 2},
            {"tie_word_embeddings": True, "num_key_value_heads": 1},
        ),
        accounted=((1, NARROW),),
    ),
)
