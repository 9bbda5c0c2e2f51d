"""Phi: parallel blocks with one LayerNorm, partial rotary encoding, no gate, a bias in every map."""

from symgauge.architecture import Architecture
from symgauge.zoo.parts.cases import EVEN, TIED
from symgauge.zoo.parts.family import Cases, Config, Family, Published
from symgauge.zoo.parts.fields import biases
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import even_partial_sizes
from symgauge.zoo.parts.slots import layout, plain, separate


def architecture(config: Config) -> Architecture:
    return decoder(
        config,
        epsilon_field="layer_norm_eps",
        norm="layer",
        norm_offset=True,
        gated=False,
        placement="parallel_shared",
        head_bias=True,
        **biases(True),
    )


FAMILY = Family(
    "phi",
    "PhiForCausalLM",
    architecture,
    layout(
        attention=separate(output="self_attn.dense"),
        feed_forward=plain("mlp.fc1", "mlp.fc2"),
        outside={"token_table": "model.embed_tokens", "final_norm": "model.final_layernorm"},
    ),
    even_partial_sizes,
    required={"qk_layernorm": (False,)},
    published={
        "phi-2": Published(2.78e9, {
            "hidden_act": "gelu_new", "hidden_size": 2560, "intermediate_size": 10240, "max_position_embeddings": 2048,
            "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
            "partial_rotary_factor": 0.4, "qk_layernorm": False, "tie_word_embeddings": False, "vocab_size": 51200,
        }),
    },
    cases=Cases(
        variants=({"tie_word_embeddings": True, "hidden_act": "gelu_fast"},),
        refused=(("qk_layernorm", {"qk_layernorm": True}), ("partial_rotary_factor", {"hidden_size": 4})),
        accounted=((1, {**EVEN, **TIED, "hidden_size": 6}),),
    ),
)  # fmt: skip
