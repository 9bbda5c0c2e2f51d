"""Arcee: LLaMA without a gate."""

from symgauge.zoo.parts.cases import NARROW
from symgauge.zoo.parts.family import Cases, Family
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import GROUPED, sizes
from symgauge.zoo.parts.slots import layout, plain

FAMILY = Family(
    "arcee",
    "ArceeForCausalLM",
    lambda c: decoder(c, gated=False),
    layout(feed_forward=plain("mlp.up_proj", "mlp.down_proj")),
    sizes,
    example=GROUPED,
    cases=Cases(
        variants=({"hidden_act": "silu", "attention_bias": True, "mlp_bias": True},),
        accounted=((1, {**NARROW, "hidden_act": "silu"}),),
    ),
)
