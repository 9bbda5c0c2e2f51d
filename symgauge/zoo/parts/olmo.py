"""What OLMo 2, OLMo 3 and EXAONE 4 share: sublayers read the stream as it is, and a norm follows each."""

from __future__ import annotations

from typing import Any

OUTPUT_NORMS = {"output_norm_1": "post_attention_layernorm", "output_norm_2": "post_feedforward_layernorm"}
ACROSS_HEADS: dict[str, Any] = {"placement": "output", "qk_norm": True, "qk_norm_across": True}
