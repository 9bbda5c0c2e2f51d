"""MPT: ALiBi in place of positions, norms without offsets, no biases, all queries, then all keys, then all values."""

from symgauge.architecture import Architecture
from symgauge.zoo.parts import gpt
from symgauge.zoo.parts.family import Cases, Config, Family, Published
from symgauge.zoo.parts.fields import biases, require
from symgauge.zoo.parts.slots import layout, plain, together

_ATTENTION = {
    "alibi": True, "alibi_bias_max": 8, "attn_type": "multihead_attention", "clip_qkv": None, "prefix_lm": False,
    "qk_ln": False,
}  # fmt: skip
"""What the class of transformers takes for granted, whatever the configuration says, and clipping."""


def architecture(config: Config) -> Architecture:
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    for name, wanted in _ATTENTION.items():
        require(config, f"attn_config.{name}", getattr(config.attn_config, name), wanted)
    # Of positions −1 and 0.
    slopes = -build_mpt_alibi_tensor(config.n_heads, 2)[:, 0, 0]
    return gpt.decoder(
        config,
        alibi=tuple(slopes.tolist()),
        norm_offset=False,
        context=config.max_seq_len,
        epsilon=config.layer_norm_epsilon,
        score_scale=config.attn_config.softmax_scale,
        **biases(False),
    )


FAMILY = Family(
    "mpt",
    "MptForCausalLM",
    architecture,
    layout(
        block="transformer.blocks",
        norms={"norm_1": "norm_1", "norm_2": "norm_2"},
        attention=together("attn.Wqkv", "attn.out_proj"),
        feed_forward=plain("ffn.up_proj", "ffn.down_proj"),
        outside={"token_table": "transformer.wte", "final_norm": "transformer.norm_f"},
    ),
    lambda c, layers: {"d_model": 4, "n_heads": 2, "n_layers": layers, "vocab_size": 11, "max_seq_len": 7},
    required={"no_bias": (True,), "expansion_ratio": (4,), "logit_scale": (None,)},
    understood=frozenset({"init_config", "tokenizer_name", "verbose"}),
    published={
        "mpt-7b": Published(6.65e9, {
            "attn_config": {
                **_ATTENTION, "attn_impl": "torch", "attn_pdrop": 0, "attn_uses_sequence_id": False,
                "softmax_scale": None,
            },
            "d_model": 4096, "emb_pdrop": 0, "embedding_fraction": 1.0, "expansion_ratio": 4,
            "init_config": {"name": "kaiming_normal_", "init_nonlinearity": "relu"}, "init_device": "cpu",
            "learned_pos_emb": True, "logit_scale": None, "max_seq_len": 2048, "n_heads": 32, "n_layers": 32,
            "no_bias": True, "norm_type": "low_precision_layernorm", "resid_pdrop": 0,
            "tokenizer_name": "EleutherAI/gpt-neox-20b", "verbose": 0, "vocab_size": 50432,
        }),
    },
    cases=Cases(
        variants=(
            {"n_heads": 3, "d_model": 6, "tie_word_embeddings": False},
            {"attn_config": {"softmax_scale": 0.3, "alibi": True}},
        ),
        refused=(
            ("clip_qkv", {"attn_config": {"clip_qkv": 4.0}}),
            ("alibi", {"attn_config": {"alibi": False}}),
            ("no_bias", {"no_bias": False}),
        ),
        accounted=((1, {}),),
    ),
)  # fmt: skip
