"""Fields of configurations that several families are tested with."""

from __future__ import annotations

from symgauge.zoo.parts.family import Fields

YARN: Fields = {
    "rope_type": "yarn", "rope_theta": 1e4, "factor": 8.0, "original_max_position_embeddings": 8, "beta_fast": 32,
    "beta_slow": 1,
}  # fmt: skip
NARROW: Fields = {
    "hidden_size": 6, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "vocab_size": 9,
    "intermediate_size": 4,
}  # fmt: skip
EVEN: Fields = {
    "hidden_size": 4, "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 2, "vocab_size": 13,
}  # fmt: skip
BIASED: Fields = {"attention_bias": True}
TIED: Fields = {"tie_word_embeddings": True}
UNTIED: Fields = {"tie_word_embeddings": False}
