"""GPT-2's shape: LayerNorm with offsets, no gate, heads that share the stream evenly, a bias in every map."""

from __future__ import annotations

from typing import Any

from symgauge.architecture import Architecture
from symgauge.zoo.parts.family import Config
from symgauge.zoo.parts.fields import biases, even_share


def decoder(config: Config, **fields: Any) -> Architecture:
    """The architecture of a configuration of GPT-2's shape; ``fields`` are what a family does differently, and its
    context and epsilon, for which each has a name of its own."""
    width = even_share(config)
    return Architecture(
        **{
            "name": config.model_type,
            "d_model": config.hidden_size,
            "heads": config.num_attention_heads,
            "d_k": width,
            "d_v": width,
            "d_ff": 4 * config.hidden_size,
            "layers": config.num_hidden_layers,
            "vocabulary": config.vocab_size,
            "norm": "layer",
            "norm_offset": True,
            "final_norm": True,
            "tied": config.tie_word_embeddings,
            **biases(True),
            **fields,
        }
    )


def published(d_model: int, heads: int, layers: int, **fields: Any) -> Architecture:
    """The same for sizes that were read without ``transformers``."""
    return Architecture(
        **{
            "d_model": d_model,
            "heads": heads,
            "d_k": d_model // heads,
            "d_v": d_model // heads,
            "layers": layers,
            "d_ff": 4 * d_model,
            "norm": "layer",
            "norm_offset": True,
            "final_norm": True,
            **biases(True),
            **fields,
        }
    )
