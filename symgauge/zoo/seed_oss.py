"""Seed-OSS: LLaMA with an output bias of its own."""

from symgauge.zoo.parts.cases import NARROW
from symgauge.zoo.parts.family import Cases, Family
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import GROUPED, sizes
from symgauge.zoo.parts.slots import layout

FAMILY = Family(
    "seed_oss",
    "SeedOssForCausalLM",
    lambda c: decoder(c, output_bias=c.attention_out_bias),
    layout(),
    sizes,
    example=GROUPED,
    cases=Cases(
        variants=({"attention_bias": False, "attention_out_bias": True, "mlp_bias": True},),
        accounted=((1, {**NARROW, "attention_out_bias": True}),),
    ),
)
