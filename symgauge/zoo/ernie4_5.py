"""ERNIE 4.5: LLaMA whose rotary planes are neighbouring channels, with biases everywhere or nowhere."""

from symgauge.zoo.parts.cases import NARROW
from symgauge.zoo.parts.family import Cases, Family
from symgauge.zoo.parts.fields import biases
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import sizes
from symgauge.zoo.parts.slots import layout

FAMILY = Family(
    "ernie4_5",
    "Ernie4_5ForCausalLM",
    lambda c: decoder(c, interleaved=True, **biases(c.use_bias)),
    layout(),
    sizes,
    cases=Cases(
        variants=({"use_bias": True, "tie_word_embeddings": False},), accounted=((1, {**NARROW, "use_bias": True}),)
    ),
)
