"""Rotary frequencies of a configuration, taken from the model's own embedding class (a few numbers, no weights)."""

from __future__ import annotations

import math
from typing import Any

from symgauge.architecture import Rotary
from symgauge.errors import UnsupportedModel

_FIXED = ("default", "linear", "llama3", "yarn")
"""Schemes whose angles do not depend on the length of the input."""


def rotary(
    config: Any, embedding_class: type[Any], channels: int, *, interleaved: bool = False, layers: str = ""
) -> tuple[Rotary, float]:
    """The rotary encoding of a head with ``channels`` channels, and the factor of what it rotates.

    ``layers`` names the kind of layers ("sliding_attention") where the configuration has an encoding for each kind.
    Raises :class:`UnsupportedModel` for schemes whose angles change with the length of the input.
    """
    fields = config.rope_parameters[layers] if layers else config.rope_parameters
    kind, prefix = fields["rope_type"], f"{layers}_" if layers else ""
    if kind not in _FIXED:
        raise UnsupportedModel(
            f"{config.model_type}: configuration field 'rope_parameters.rope_type' is {kind!r}; supported are "
            f"{', '.join(_FIXED)}, whose angles do not depend on the input's length"
        )
    turning = int(channels * fields.get("partial_rotary_factor", 1.0))
    if turning % 2:
        raise UnsupportedModel(
            f"{config.model_type}: 'rope_parameters.partial_rotary_factor' turns {turning} of {channels} channels; "
            "rotary encoding turns channels in pairs"
        )
    embedding = embedding_class(config)
    turns = tuple(f / (2 * math.pi) for f in getattr(embedding, f"{prefix}inv_freq").double().tolist())
    if 2 * len(turns) > channels:
        raise UnsupportedModel(
            f"{config.model_type}: {2 * len(turns)} rotary channels (see 'head_dim') do not fit a head with {channels}"
        )
    encoding = Rotary(turns, channels - 2 * len(turns), interleaved)
    return encoding, float(getattr(embedding, f"{prefix}attention_scaling"))
