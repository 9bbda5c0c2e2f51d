"""OLMo 3: OLMo 2 with angles for each kind of layer."""

from symgauge.zoo.parts.cases import NARROW, TIED
from symgauge.zoo.parts.family import Cases, Family
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.olmo import ACROSS_HEADS, OUTPUT_NORMS
from symgauge.zoo.parts.rope import by_kind_of_layer
from symgauge.zoo.parts.sizes import layered_rotary_sizes
from symgauge.zoo.parts.slots import layout

FAMILY = Family(
    "olmo3",
    "Olmo3ForCausalLM",
    lambda c: decoder(c, **ACROSS_HEADS, **by_kind_of_layer(c)),
    layout(norms=OUTPUT_NORMS),
    layered_rotary_sizes,
    understood=frozenset({"head_dim"}),
    cases=Cases(
        variants=({"num_attention_heads": 4, "num_key_value_heads": 1, "attention_bias": True},),
        accounted=((1, {**NARROW, **TIED}),),
    ),
)
