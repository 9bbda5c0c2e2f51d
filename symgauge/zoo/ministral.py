"""Ministral: Mistral with kinds of layers."""

from symgauge.zoo.parts.cases import NARROW
from symgauge.zoo.parts.family import Cases, Family
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import layered_sizes
from symgauge.zoo.parts.slots import layout

FAMILY = Family(
    "ministral",
    "MinistralForCausalLM",
    decoder,
    layout(),
    layered_sizes,
    example={"head_dim": 128},
    cases=Cases(variants=({"sliding_window": 4},), accounted=((1, NARROW),)),
)
