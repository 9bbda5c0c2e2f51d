"""OPT: GPT-2 with separate projections, norms before or after, and two rows of positions that nothing reads."""

from symgauge.architecture import Architecture
from symgauge.zoo.parts import gpt
from symgauge.zoo.parts.family import Cases, Config, Family, Published
from symgauge.zoo.parts.fields import activation, biases, require
from symgauge.zoo.parts.slots import layout, plain, separate


def architecture(config: Config) -> Architecture:
    require(config, "word_embed_proj_dim", config.word_embed_proj_dim, config.hidden_size)
    before = config.do_layer_norm_before
    return gpt.decoder(
        config,
        d_ff=config.ffn_dim,
        context=config.max_position_embeddings,
        activation=activation(config, "activation_function"),
        placement="pre" if before else "post",
        final_norm=before and not config._remove_final_layer_norm,
        position_table=True,
        unused_positions=2,
        epsilon=1e-5,  # torch's own
        **biases(config.enable_bias),
    )


FAMILY = Family(
    "opt",
    "OPTForCausalLM",
    architecture,
    layout(
        block="model.decoder.layers",
        norms={"norm_1": "self_attn_layer_norm", "norm_2": "final_layer_norm"},
        attention=separate(output="self_attn.out_proj"),
        feed_forward=plain("fc1", "fc2"),
        outside={
            "token_table": "model.decoder.embed_tokens",
            "position_table": "model.decoder.embed_positions",
            "final_norm": "model.decoder.final_layer_norm",
        },
    ),
    lambda c, layers: {
        "hidden_size": 6, "word_embed_proj_dim": 6, "num_attention_heads": 3, "ffn_dim": 5, "num_hidden_layers": layers,
        "vocab_size": 11, "max_position_embeddings": 4,
    },
    required={"layer_norm_elementwise_affine": (True,)},
    understood=frozenset({"prefix", "activation_dropout"}),
    published={
        "opt-125m": Published(0.13e9, {
            "_remove_final_layer_norm": False, "activation_dropout": 0.0, "activation_function": "relu",
            "do_layer_norm_before": True, "ffn_dim": 3072, "hidden_size": 768, "max_position_embeddings": 2048,
            "num_attention_heads": 12, "num_hidden_layers": 12, "prefix": "</s>", "vocab_size": 50272,
            "word_embed_proj_dim": 768,
        }),
    },
    cases=Cases(
        variants=(
            {"do_layer_norm_before": False, "tie_word_embeddings": False},
            {"_remove_final_layer_norm": True, "activation_function": "gelu"},
            {"enable_bias": False},
        ),
        refused=(
            ("word_embed_proj_dim", {"word_embed_proj_dim": 4}),
            ("layer_norm_elementwise_affine", {"layer_norm_elementwise_affine": False}),
        ),
        accounted=(
            (1, {"activation_function": "gelu"}),
            (1, {"activation_function": "gelu", "do_layer_norm_before": False}),
        ),
    ),
)  # fmt: skip
