"""What generations of Gemma share: scaled embeddings, and from the second on norms on both sides of a sublayer."""

from __future__ import annotations

from typing import Any

from symgauge.architecture import Architecture
from symgauge.zoo.parts.family import Config
from symgauge.zoo.parts.llama import decoder

SANDWICH = {
    "norm_1": "input_layernorm",
    "output_norm_1": "post_attention_layernorm",
    "norm_2": "pre_feedforward_layernorm",
    "output_norm_2": "post_feedforward_layernorm",
}


def embedding_scale(d_model: int) -> float:
    """√d, which the modules keep in single precision."""
    import numpy as np

    return float(np.float32(d_model**0.5))


def sandwich(config: Config, **changes: Any) -> Architecture:
    return decoder(
        config,
        activation_field="hidden_activation",
        placement="sandwich",
        causal=not config.use_bidirectional_attention,
        attention_softcap=config.attn_logit_softcapping,
        logit_softcap=config.final_logit_softcapping,
        embedding_scale=embedding_scale(config.hidden_size),
        score_scale=config.query_pre_attn_scalar**-0.5,
        **changes,
    )
