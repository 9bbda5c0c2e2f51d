"""Nemotron: LLaMA with LayerNorm, gains stored as distances from one, no gate, and squared ReLU."""

from symgauge.zoo.parts.cases import BIASED, NARROW
from symgauge.zoo.parts.family import Cases, Family, Published
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import partial_sizes
from symgauge.zoo.parts.slots import layout, plain

FAMILY = Family(
    "nemotron",
    "NemotronForCausalLM",
    lambda c: decoder(c, epsilon_field="norm_eps", norm="layer", norm_offset=True, gated=False),
    layout(feed_forward=plain("mlp.up_proj", "mlp.down_proj"), gain_shift=1),
    partial_sizes,
    example={"num_key_value_heads": 8},
    published={
        "minitron-4b": Published(4.19e9, {
            "attention_bias": False, "head_dim": 128, "hidden_act": "relu2", "hidden_size": 3072,
            "intermediate_size": 9216, "max_position_embeddings": 4096, "mlp_bias": False, "norm_eps": 1e-5,
            "num_attention_heads": 24, "num_hidden_layers": 32, "num_key_value_heads": 8,
            "partial_rotary_factor": 0.5, "tie_word_embeddings": False, "vocab_size": 256000,
        }),
    },
    cases=Cases(
        variants=({"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "hidden_act": "gelu"},),
        accounted=((1, {**NARROW, **BIASED, "head_dim": 5, "mlp_bias": True, "hidden_act": "gelu"}),),
    ),
)  # fmt: skip
