"""Small architectures of every sort for the numeric tests, with distinct sizes."""

from __future__ import annotations

from typing import Any

from symgauge.architecture import Architecture, Experts, Latent, Rotary

_SIZES: dict[str, Any] = {"d_model": 7, "heads": 3, "d_k": 4, "d_v": 5}
_BIASES: dict[str, Any] = dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias", "ff_bias"), True)
_MODEL: dict[str, Any] = {**_SIZES, "d_ff": 8, "vocabulary": 11, "final_norm": True}
_RMS: dict[str, Any] = {**_MODEL, "norm": "rms", "gated": True, "activation": "silu"}

MODELS = {
    "attention": Architecture(**_SIZES),
    "linear": Architecture(**_SIZES, attention="linear"),
    "gpt2": Architecture(**_MODEL, **_BIASES, norm="layer", norm_offset=True, position_table=True, tied=True),
    "bert": Architecture(
        **{**_MODEL, **_BIASES, "final_norm": False}, norm="layer", norm_offset=True, placement="post", causal=False,
        embedding_norm=True, token_types=2, head_transform=True, head_bias=True, tied=True,
    ),
    "llama": Architecture(**{**_RMS, "heads": 6, "groups": 3}, rotary=Rotary.standard(4)),
    "gemma": Architecture(
        **{**_RMS, "activation": "gelu_tanh"}, rotary=Rotary.standard(4), placement="sandwich", attention_softcap=5.0,
        logit_softcap=3.0, tied=True,
    ),
    "mixtral": Architecture(
        **{**_RMS, "d_ff": 0}, rotary=Rotary.standard(4), experts=Experts(4, 2, 3, shared=1)
    ),
    "mla": Architecture(
        **{**_RMS, "d_k": 6}, rotary=Rotary.standard(4), latent=Latent(5, 6, 4),
        experts=Experts(4, 2, 3, shared=1, routing="sigmoid"),
    ),
}  # fmt: skip
