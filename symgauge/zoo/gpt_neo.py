"""GPT-Neo: GPT-2 with separate projections, unscaled scores, and layers that look back a window."""

from typing import Any

from symgauge.architecture import Architecture
from symgauge.zoo.parts import gpt
from symgauge.zoo.parts.cases import UNTIED
from symgauge.zoo.parts.family import Cases, Config, Family, Published
from symgauge.zoo.parts.fields import activation
from symgauge.zoo.parts.sizes import kept_layers
from symgauge.zoo.parts.slots import layout, plain, separate


def architecture(config: Config) -> Architecture:
    windows = tuple(config.window_size if kind == "local" else 0 for kind in config.attention_layers)
    return gpt.decoder(
        config,
        d_ff=config.intermediate_size or 4 * config.hidden_size,
        context=config.max_position_embeddings,
        windows=windows if any(windows) else (),
        position_table=True,
        query_bias=False,
        key_bias=False,
        value_bias=False,
        activation=activation(config, "activation_function"),
        epsilon=config.layer_norm_epsilon,
        score_scale=1.0,
    )


def sizes(config: Config, layers: int) -> dict[str, Any]:
    kept = [config.attention_layers[i] for i in kept_layers(config.attention_layers, layers)]
    return {
        "hidden_size": 6,
        "num_heads": 3,
        "intermediate_size": 5,
        "num_layers": layers,
        "attention_types": [[[kind], 1] for kind in kept],
        "vocab_size": 11,
        "max_position_embeddings": 4,
    }


FAMILY = Family(
    "gpt_neo",
    "GPTNeoForCausalLM",
    architecture,
    layout(
        block="transformer.h",
        norms={"norm_1": "ln_1", "norm_2": "ln_2"},
        attention=separate("attn.attention.{letter}_proj", "attn.attention.out_proj"),
        feed_forward=plain("mlp.c_fc", "mlp.c_proj"),
        outside={
            "token_table": "transformer.wte", "position_table": "transformer.wpe", "final_norm": "transformer.ln_f",
        },
    ),
    sizes,
    derived=frozenset({"attention_layers"}),
    published={
        "gpt-neo-1.3b": Published(1.32e9, {
            "activation_function": "gelu_new", "attention_layers": ["global", "local"] * 12,
            "attention_types": [[["global", "local"], 12]], "hidden_size": 2048, "intermediate_size": None,
            "layer_norm_epsilon": 1e-5, "max_position_embeddings": 2048, "num_heads": 16, "num_layers": 24,
            "vocab_size": 50257, "window_size": 256,
        }),
    },
    cases=Cases(
        variants=(
            {"attention_types": [[["local"], 2]], "window_size": 3, "tie_word_embeddings": False},
            {"attention_types": [[["global"], 2]], "activation_function": "gelu", "intermediate_size": None},
        ),
        accounted=((1, UNTIED),),
    ),
)  # fmt: skip
