"""Phi-3: LLaMA with queries, keys and values in one projection, and gate and up map in another."""

from symgauge.zoo.parts.cases import NARROW
from symgauge.zoo.parts.family import Cases, Family, Published
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import partial_sizes
from symgauge.zoo.parts.slots import fused_gate, layout, together

_LONGROPE = {
    "rope_type": "longrope", "rope_theta": 1e4, "partial_rotary_factor": 1.0, "short_factor": [1.0, 1.0],
    "long_factor": [2.0, 2.0], "original_max_position_embeddings": 4,
}  # fmt: skip

FAMILY = Family(
    "phi3",
    "Phi3ForCausalLM",
    decoder,
    layout(attention=together("self_attn.qkv_proj", "self_attn.o_proj"), feed_forward=fused_gate),
    partial_sizes,
    understood=frozenset({"head_dim"}),
    published={
        "phi-3-mini": Published(3.82e9, {
            "attention_bias": False, "embd_pdrop": 0.0, "hidden_act": "silu", "hidden_size": 3072,
            "intermediate_size": 8192, "max_position_embeddings": 4096, "num_attention_heads": 32,
            "num_hidden_layers": 32, "num_key_value_heads": 32, "original_max_position_embeddings": 4096,
            "rms_norm_eps": 1e-5, "rope_scaling": None, "rope_theta": 10000.0, "sliding_window": 2047,
            "tie_word_embeddings": False, "vocab_size": 32064,
        }),
    },
    cases=Cases(
        variants=(
            {"tie_word_embeddings": True, "sliding_window": 5, "num_key_value_heads": 1, "head_dim": 4},
            {"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.6}, "head_dim": 7},
        ),
        refused=(("rope_type", {"rope_parameters": _LONGROPE}),),
        accounted=((1, NARROW),),
    ),
)  # fmt: skip
