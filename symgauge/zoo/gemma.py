"""Gemma: LLaMA with scaled embeddings, and gains stored as distances from one."""

from symgauge.zoo.parts.cases import BIASED, NARROW, UNTIED
from symgauge.zoo.parts.family import Cases, Family, Published
from symgauge.zoo.parts.gemma import embedding_scale
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import sizes
from symgauge.zoo.parts.slots import layout

FAMILY = Family(
    "gemma",
    "GemmaForCausalLM",
    lambda c: decoder(c, embedding_scale=embedding_scale(c.hidden_size)),
    layout(gain_shift=1),
    sizes,
    required={"use_bidirectional_attention": (None, False)},
    # An older name of hidden_act, which the module does not read.
    understood=frozenset({"hidden_activation"}),
    published={
        "gemma-2b": Published(2.51e9, {
            "head_dim": 256, "hidden_act": "gelu", "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2048,
            "intermediate_size": 16384, "num_attention_heads": 8, "num_hidden_layers": 18, "num_key_value_heads": 1,
            "vocab_size": 256000,
        }),
    },
    cases=Cases(
        variants=({"attention_bias": True, "tie_word_embeddings": False, "hidden_act": "silu"},),
        accounted=((1, {**NARROW, **BIASED, **UNTIED}),),
    ),
)  # fmt: skip
