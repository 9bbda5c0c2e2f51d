"""GPT-NeoX: head-by-head [query, key, value] rows, partial rotary encoding, parallel block with two norms."""

from typing import Any

from symgauge.architecture import Architecture, Rotary
from symgauge.zoo.parts import gpt
from symgauge.zoo.parts.family import Cases, Config, Family, Fields, Published
from symgauge.zoo.parts.fields import activation, context
from symgauge.zoo.parts.rope import rotary
from symgauge.zoo.parts.slots import PRE, head_by_head, layout, plain


def architecture(config: Config) -> Architecture:
    encoding, factor = rotary(config)
    return gpt.decoder(
        config,
        d_ff=config.intermediate_size,
        context=context(config),
        rotary=encoding,
        rotary_scale=factor,
        **dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias"), config.attention_bias),
        activation=activation(config),
        placement="parallel" if config.use_parallel_residual else "pre",
        epsilon=config.layer_norm_eps,
    )


def preset(config: Fields) -> Architecture:
    width = config["hidden_size"] // config["num_attention_heads"]
    turning = int(width * config["rotary_pct"])
    return gpt.published(
        config["hidden_size"],
        config["num_attention_heads"],
        config["num_hidden_layers"],
        vocabulary=config["vocab_size"],
        context=config["max_position_embeddings"],
        rotary=Rotary.standard(turning, base=config["rotary_emb_base"], unrotated=width - turning),
        activation="gelu_tanh",
        placement="parallel",
        epsilon=config["layer_norm_eps"],
    )


def sizes(config: Config, layers: int) -> dict[str, Any]:
    """Two planes turn in every head; where only a part of the channels turns, one more stands still.

    Beside attention a first layer's network sees one vector per token: it is narrow and the tokens are many
    (:func:`symgauge.symmetries.degenerate_cases`)."""
    rope, partial = dict(config.rope_parameters), config.rope_parameters.get("partial_rotary_factor", 1.0) < 1
    if partial:
        rope["partial_rotary_factor"] = 4 / 5
    return {
        "hidden_size": 10 if partial else 8,
        "num_attention_heads": 2,
        "intermediate_size": 3,
        "num_hidden_layers": layers,
        "vocab_size": 20,
        "max_position_embeddings": 7,
        "rope_parameters": rope,
    }


FAMILY = Family(
    "gpt_neox",
    "GPTNeoXForCausalLM",
    architecture,
    layout(
        block="gpt_neox.layers",
        norms=PRE,
        attention=head_by_head("attention.query_key_value", "attention.dense"),
        feed_forward=plain("mlp.dense_h_to_4h", "mlp.dense_4h_to_h"),
        outside={"token_table": "gpt_neox.embed_in", "final_norm": "gpt_neox.final_layer_norm"},
    ),
    sizes,
    published={
        "gpt-neox-20b": Published(20_554_567_680, {
            "attention_probs_dropout_prob": 0, "hidden_act": "gelu_fast", "hidden_size": 6144,
            "intermediate_size": 24576, "layer_norm_eps": 1e-5, "num_attention_heads": 64, "num_hidden_layers": 44,
            "max_position_embeddings": 2048, "rotary_emb_base": 10000, "rotary_pct": 0.25,
            "use_parallel_residual": True, "vocab_size": 50432,
        }),
    },
    preset=preset,
    cases=Cases(
        variants=(
            {"use_parallel_residual": False, "hidden_act": "gelu_fast"},
            {"attention_bias": False, "rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.4}},
            {"hidden_size": 12, "rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 1.0}},
        ),
    ),
)  # fmt: skip
