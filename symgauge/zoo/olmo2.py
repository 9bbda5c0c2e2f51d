"""OLMo 2: a norm after each sublayer and none before, one norm over all query heads and one over all key heads."""

from symgauge.zoo.parts.cases import BIASED, NARROW
from symgauge.zoo.parts.family import Cases, Family, Published
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.olmo import ACROSS_HEADS, OUTPUT_NORMS
from symgauge.zoo.parts.sizes import sizes
from symgauge.zoo.parts.slots import layout

FAMILY = Family(
    "olmo2",
    "Olmo2ForCausalLM",
    lambda c: decoder(c, **ACROSS_HEADS),
    layout(norms=OUTPUT_NORMS),
    sizes,
    understood=frozenset({"head_dim"}),
    published={
        "olmo-2-7b": Published(7.3e9, {
            "attention_bias": False, "hidden_size": 4096, "intermediate_size": 11008, "max_position_embeddings": 4096,
            "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "rms_norm_eps": 1e-06,
            "rope_theta": 500000, "tie_word_embeddings": False, "vocab_size": 100352,
        }),
    },
    cases=Cases(
        variants=(
            {"attention_bias": True, "tie_word_embeddings": True},
            {"num_attention_heads": 4, "num_key_value_heads": 2},
        ),
        accounted=((1, {**NARROW, **BIASED}),),
    ),
)  # fmt: skip
