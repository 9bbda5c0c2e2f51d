"""StarCoder2: LLaMA with LayerNorm, no gate, and biases everywhere or nowhere."""

from symgauge.architecture import Architecture
from symgauge.zoo.parts.cases import NARROW, UNTIED
from symgauge.zoo.parts.family import Cases, Config, Family, Published
from symgauge.zoo.parts.fields import biases
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import sizes
from symgauge.zoo.parts.slots import layout, plain


def architecture(config: Config) -> Architecture:
    return decoder(
        config, epsilon_field="norm_epsilon", norm="layer", norm_offset=True, gated=False, **biases(config.use_bias)
    )


FAMILY = Family(
    "starcoder2",
    "Starcoder2ForCausalLM",
    architecture,
    layout(feed_forward=plain("mlp.c_fc", "mlp.c_proj")),
    sizes,
    required={"norm_type": ("layer_norm",), "mlp_type": ("default",)},
    # The module reads hidden_act.
    understood=frozenset({"head_dim", "activation_function"}),
    published={
        "starcoder2-3b": Published(3.03e9, {
            "activation_function": "gelu", "hidden_act": "gelu_pytorch_tanh", "hidden_size": 3072,
            "intermediate_size": 12288, "max_position_embeddings": 16384, "mlp_type": "default", "norm_epsilon": 1e-5,
            "norm_type": "layer_norm", "num_attention_heads": 24, "num_hidden_layers": 30, "num_key_value_heads": 2,
            "sliding_window": 4096, "use_bias": True, "vocab_size": 49152,
        }),
    },
    cases=Cases(
        variants=({"use_bias": False, "tie_word_embeddings": False, "sliding_window": 4},),
        accounted=((1, NARROW), (1, {**NARROW, **UNTIED, "use_bias": False})),
    ),
)  # fmt: skip
