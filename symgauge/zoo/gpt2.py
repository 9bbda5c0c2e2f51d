"""GPT-2: fused q|k|v columns in Conv1D layers, which store (in, out)."""

from symgauge.architecture import Architecture
from symgauge.zoo.parts import gpt
from symgauge.zoo.parts.cases import UNTIED
from symgauge.zoo.parts.family import Cases, Config, Family, Fields, Published
from symgauge.zoo.parts.fields import activation
from symgauge.zoo.parts.slots import layout, plain, together


def architecture(config: Config) -> Architecture:
    return gpt.decoder(
        config,
        d_ff=config.n_inner or 4 * config.n_embd,
        context=config.n_positions,
        activation=activation(config, "activation_function"),
        position_table=True,
        epsilon=config.layer_norm_epsilon,
        score_scale=None if config.scale_attn_weights else 1.0,
    )


def preset(config: Fields) -> Architecture:
    return gpt.published(
        config["n_embd"],
        config["n_head"],
        config["n_layer"],
        vocabulary=config["vocab_size"],
        context=config["n_positions"],
        activation="gelu_tanh",
        position_table=True,
        tied=True,
        epsilon=config["layer_norm_epsilon"],
    )


def published(parameters: int, width: int, heads: int, layers: int) -> Published:
    config = {
        "activation_function": "gelu_new", "n_ctx": 1024, "n_positions": 1024, "layer_norm_epsilon": 1e-5,
        "vocab_size": 50257, "summary_type": "cls_index", "n_embd": width, "n_head": heads, "n_layer": layers,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
    }  # fmt: skip
    return Published(parameters, config)


FAMILY = Family(
    "gpt2",
    "GPT2LMHeadModel",
    architecture,
    layout(
        block="transformer.h",
        norms={"norm_1": "ln_1", "norm_2": "ln_2"},
        attention=together("attn.c_attn", "attn.c_proj"),
        feed_forward=plain("mlp.c_fc", "mlp.c_proj"),
        outside={
            "token_table": "transformer.wte", "position_table": "transformer.wpe", "final_norm": "transformer.ln_f",
        },
        transposed=False,
    ),
    lambda c, layers: {"n_embd": 6, "n_head": 3, "n_inner": 5, "n_layer": layers, "vocab_size": 11, "n_positions": 4},
    required={
        "add_cross_attention": (False,),
        "scale_attn_by_inverse_layer_idx": (False,),
        # The same function, computed in another order.
        "reorder_and_upcast_attn": (False, True),
    },
    published={
        "gpt2": published(124_439_808, 768, 12, 12),
        "gpt2-medium": published(354_823_168, 1024, 16, 24),
        "gpt2-large": published(774_030_080, 1280, 20, 36),
        "gpt2-xl": published(1_557_611_200, 1600, 25, 48),
    },
    preset=preset,
    cases=Cases(
        variants=(UNTIED, {"scale_attn_weights": False, "activation_function": "relu"}),
        refused=(
            ("scale_attn_by_inverse_layer_idx", {"scale_attn_by_inverse_layer_idx": True}),
            ("activation_function", {"activation_function": "mish"}),
        ),
    ),
)  # fmt: skip
