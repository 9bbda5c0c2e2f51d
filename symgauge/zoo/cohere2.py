"""Cohere's Command R7B: Command R whose layers without a sliding window have no rotary encoding."""

from symgauge.architecture import Architecture
from symgauge.zoo import cohere
from symgauge.zoo.parts.cases import EVEN, UNTIED
from symgauge.zoo.parts.family import Cases, Config, Family
from symgauge.zoo.parts.rope import in_layers
from symgauge.zoo.parts.sizes import layered_sizes, parallel
from symgauge.zoo.parts.slots import layout


def architecture(config: Config) -> Architecture:
    turning = [kind == "sliding_attention" for kind in config.layer_types]
    return cohere.architecture(config, **in_layers(config, turning, interleaved=True))


FAMILY = Family(
    "cohere2",
    "Cohere2ForCausalLM",
    architecture,
    layout(),
    lambda c, layers: parallel(layered_sizes(c, layers)),
    cases=Cases(
        variants=(
            {"attention_bias": True, "sliding_window": 4, "layer_types": ["full_attention", "sliding_attention"]},
        ),
        accounted=((1, {**EVEN, **UNTIED, "head_dim": 2}),),
    ),
)
