"""Helium: LLaMA whose rotary planes are neighbouring channels, without an output bias."""

from symgauge.zoo.parts.family import Cases, Family
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import sizes
from symgauge.zoo.parts.slots import layout

FAMILY = Family(
    "helium",
    "HeliumForCausalLM",
    lambda c: decoder(c, interleaved=True, output_bias=False),
    layout(),
    sizes,
    cases=Cases(
        variants=({"attention_bias": True, "mlp_bias": True, "hidden_size": 8, "head_dim": 4},),
        accounted=((1, {"hidden_size": 4, "head_dim": 2, "vocab_size": 9}),),
    ),
)
