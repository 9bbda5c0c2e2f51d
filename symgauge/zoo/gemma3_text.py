"""Gemma 3, the part that reads text: Gemma 2 with norms on queries and keys, and angles for each kind of layer."""

from symgauge.zoo.parts.cases import NARROW, YARN
from symgauge.zoo.parts.family import Cases, Family, Fields, Published
from symgauge.zoo.parts.gemma import SANDWICH, sandwich
from symgauge.zoo.parts.rope import by_kind_of_layer
from symgauge.zoo.parts.sizes import layered_rotary_sizes
from symgauge.zoo.parts.slots import layout

_SLIDING: Fields = {"rope_type": "default", "rope_theta": 1e4}
_TWO_KINDS = ["sliding_attention", "full_attention"]

FAMILY = Family(
    "gemma3_text",
    "Gemma3ForCausalLM",
    lambda c: sandwich(c, qk_norm=True, **by_kind_of_layer(c)),
    layout(norms=SANDWICH, gain_shift=1),
    layered_rotary_sizes,
    required={"use_bidirectional_attention": (None, False)},
    # The pattern is read into layer_types.
    understood=frozenset({"sliding_window_pattern", "_sliding_window_pattern"}),
    published={
        "gemma-3-1b": Published(1.0e9, {
            "attn_logit_softcapping": None, "cache_implementation": "hybrid", "final_logit_softcapping": None,
            "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152, "intermediate_size": 6912,
            "max_position_embeddings": 32768, "num_attention_heads": 4, "num_hidden_layers": 26,
            "num_key_value_heads": 1, "query_pre_attn_scalar": 256, "rope_local_base_freq": 10000,
            "rope_scaling": None, "rope_theta": 1000000, "sliding_window": 512, "sliding_window_pattern": 6,
            "vocab_size": 262144,
        }),
    },
    cases=Cases(
        variants=(
            {"attention_bias": True, "final_logit_softcapping": 3.0, "query_pre_attn_scalar": 2},
            {"sliding_window": 4, "layer_types": _TWO_KINDS[::-1]},
            {
                "tie_word_embeddings": False,
                "rope_parameters": {
                    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                    "sliding_attention": _SLIDING,
                },
            },
        ),
        refused=(
            ("use_bidirectional_attention", {"use_bidirectional_attention": True}),
            ("rope_parameters", {
                "num_hidden_layers": 2,
                "layer_types": _TWO_KINDS,
                "rope_parameters": {
                    "full_attention": {**YARN, "attention_factor": 1.5}, "sliding_attention": _SLIDING,
                },
            }),
        ),
        accounted=((1, NARROW),),
    ),
)  # fmt: skip
