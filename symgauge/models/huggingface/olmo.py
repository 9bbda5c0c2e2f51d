"""OLMo 2 and 3, EXAONE 4: sublayers read the stream as it is, and a norm follows each; QK-norm."""

from __future__ import annotations

from typing import Any

from symgauge.architecture import Architecture
from symgauge.models.huggingface.family import Config, Family, head_width
from symgauge.models.huggingface.gemma import gemma3_sizes
from symgauge.models.huggingface.llama import (
    decoder,
    layered_sizes,
    layout,
    parts_by_layer,
    rotary_class,
    sizes,
)
from symgauge.models.huggingface.rope import rotary

_OUTPUT = {"output_norm_1": "post_attention_layernorm", "output_norm_2": "post_feedforward_layernorm"}
_ACROSS: dict[str, Any] = {"placement": "output", "qk_norm": True, "qk_norm_across": True}


def exaone4(config: Config) -> Architecture:
    """With a sliding window, layers without it have no rotary encoding."""
    changes: dict[str, Any] = {"placement": "output", "qk_norm": True}
    if config.sliding_window is not None:
        encoding, factor = rotary(config, rotary_class("exaone4", "Exaone4"), head_width(config))
        turning = tuple(encoding if kind == "sliding_attention" else None for kind in config.layer_types)
        changes.update(rotary_by_layer=turning, rotary_scale=factor)
    return decoder(config, "Exaone4", **changes)


OLMO2 = Family(
    "olmo2",
    "Olmo2ForCausalLM",
    lambda c: decoder(c, "Olmo2", **_ACROSS),
    layout(norms=_OUTPUT),
    sizes,
    understood=frozenset({"head_dim"}),
)
OLMO3 = Family(
    "olmo3",
    "Olmo3ForCausalLM",
    lambda c: decoder(c, "Olmo3", **_ACROSS, **parts_by_layer(c, "Olmo3")),
    layout(norms=_OUTPUT),
    gemma3_sizes,
    understood=frozenset({"head_dim"}),
)
EXAONE4 = Family(
    "exaone4",
    "Exaone4ForCausalLM",
    exaone4,
    layout(norms=_OUTPUT),
    layered_sizes,
    understood=frozenset({"head_dim"}),
    example={"num_key_value_heads": 8},
)
