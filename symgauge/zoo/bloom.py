"""BLOOM: ALiBi in place of positions, a norm on the embeddings, head-by-head [query, key, value] rows."""

from symgauge.architecture import Architecture
from symgauge.zoo.parts import gpt
from symgauge.zoo.parts.family import Cases, Config, Family, Published
from symgauge.zoo.parts.slots import PRE, head_by_head, layout, plain


def architecture(config: Config) -> Architecture:
    import torch
    from transformers.models.bloom.modeling_bloom import _get_alibi_slopes

    return gpt.decoder(
        config,
        alibi=tuple(_get_alibi_slopes(config.num_attention_heads, device=torch.device("cpu")).tolist()),
        embedding_norm=True,
        activation="gelu_tanh",
        gelu_slope=0.79788456,
        # The class has no limit; published files name the length that the model was trained on.
        context=getattr(config, "seq_length", None) or 2048,
        epsilon=config.layer_norm_epsilon,
    )


FAMILY = Family(
    "bloom",
    "BloomForCausalLM",
    architecture,
    layout(
        block="transformer.h",
        norms=PRE,
        attention=head_by_head("self_attention.query_key_value", "self_attention.dense"),
        feed_forward=plain("mlp.dense_h_to_4h", "mlp.dense_4h_to_h"),
        outside={
            "token_table": "transformer.word_embeddings",
            "embedding_norm": "transformer.word_embeddings_layernorm",
            "final_norm": "transformer.ln_f",
        },
    ),
    lambda c, layers: {"hidden_size": 4, "n_head": 2, "n_layer": layers, "vocab_size": 13, "seq_length": 5},
    required={"apply_residual_connection_post_layernorm": (False,), "slow_but_exact": (False,)},
    # n_embed is an older name; the others belong to the code that trained the model.
    understood=frozenset({
        "seq_length", "n_embed", "n_inner", "masked_softmax_fusion", "offset_alibi", "skip_bias_add",
        "skip_bias_add_qkv", "unk_token_id", "attention_softmax_in_fp32", "bias_dropout_fusion",
    }),
    published={
        "bloom-560m": Published(0.56e9, {
            "apply_residual_connection_post_layernorm": False, "layer_norm_epsilon": 1e-5,
            "masked_softmax_fusion": True, "n_embed": 1024, "n_inner": None, "n_layer": 24, "num_attention_heads": 16,
            "offset_alibi": 100, "pretraining_tp": 1, "seq_length": 2048, "skip_bias_add": True,
            "skip_bias_add_qkv": False, "vocab_size": 250880,
        }),
    },
    cases=Cases(
        variants=({"n_head": 3, "hidden_size": 6, "tie_word_embeddings": False},),
        refused=(("apply_residual_connection_post_layernorm", {"apply_residual_connection_post_layernorm": True}),),
        accounted=((1, {}),),
    ),
)  # fmt: skip
