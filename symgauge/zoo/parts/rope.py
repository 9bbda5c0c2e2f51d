"""Rotary frequencies of a configuration, taken from the model's own embedding class (a few numbers, no weights)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from symgauge.architecture import Rotary
from symgauge.errors import UnsupportedModel
from symgauge.zoo.parts.family import Config
from symgauge.zoo.parts.fields import head_width

_FIXED = ("default", "linear", "llama3", "yarn")
"""Schemes whose angles do not depend on the length of the input."""


def rotary(
    config: Config, channels: int | None = None, *, interleaved: bool = False, layers: str = ""
) -> tuple[Rotary, float]:
    """The rotary encoding of a head with ``channels`` channels (its width), and the factor of what it rotates.

    ``layers`` names the kind of layers ("sliding_attention") where the configuration has an encoding for each kind.
    Raises :class:`UnsupportedModel` for schemes whose angles change with the length of the input.
    """
    channels = head_width(config) if channels is None else channels
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
    embedding = _embedding_class(config.model_type)(config)
    turns = tuple(f / (2 * math.pi) for f in getattr(embedding, f"{prefix}inv_freq").double().tolist())
    if 2 * len(turns) > channels:
        raise UnsupportedModel(
            f"{config.model_type}: {2 * len(turns)} rotary channels (see 'head_dim') do not fit a head with {channels}"
        )
    encoding = Rotary(turns, channels - 2 * len(turns), interleaved)
    return encoding, float(getattr(embedding, f"{prefix}attention_scaling"))


def _embedding_class(model_type: str) -> type[Any]:
    """The only rotary embedding class in the module that ``transformers`` has for a model type."""
    folder = model_type.removesuffix("_text")  # the text part of a model that also sees
    module = import_module(f"transformers.models.{folder}.modeling_{folder}")
    (found,) = (x for name, x in vars(module).items() if name.endswith("RotaryEmbedding"))
    return found


def in_layers(config: Config, turning: Sequence[object], *, interleaved: bool = False) -> dict[str, Any]:
    """Fields of an architecture of whose layers some have the rotary encoding, and the others none."""
    encoding, factor = rotary(config, interleaved=interleaved)
    if all(turning):
        return {"rotary": encoding, "rotary_scale": factor}
    return {"rotary_by_layer": tuple(encoding if turns else None for turns in turning), "rotary_scale": factor}


def by_kind_of_layer(config: Config) -> dict[str, Any]:
    """Fields of an architecture whose kinds of layers ("sliding_attention", …) have angles of their own."""
    found = {kind: rotary(config, layers=kind) for kind in set(config.layer_types)}
    factors = {factor for _, factor in found.values()}
    if len(factors) > 1:
        raise UnsupportedModel(
            f"{config.model_type}: 'rope_parameters' scale the scores of some layers and not of others, which the "
            "adapter does not know; `symgauge dim` measures the model all the same"
        )
    return {"rotary_by_layer": tuple(found[kind][0] for kind in config.layer_types), "rotary_scale": factors.pop()}
