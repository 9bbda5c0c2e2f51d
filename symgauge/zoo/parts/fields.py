"""Configuration fields read in the way that many families share; what is not understood is refused by name."""

from __future__ import annotations

from typing import Any, Literal

from symgauge.checks import shown
from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.zoo.parts.family import Config

Activation = Literal["gelu", "gelu_tanh", "relu", "relu2", "silu", "tanh"]
_ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "relu2": "relu2",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}


def activation(config: Config, name: str = "hidden_act") -> Activation:
    """Our name of the activation function in configuration field ``name``."""
    value = getattr(config, name)
    if not isinstance(value, str) or value not in _ACTIVATIONS:
        raise UnsupportedModel(
            f"{config.model_type}: activation {name!r} = {shown(value)} is unknown to the adapter; known are "
            f"{', '.join(_ACTIVATIONS)}"
        )
    return _ACTIVATIONS[value]


def even_share(config: Config) -> int:
    """Channels per head where the heads divide the stream evenly."""
    d_model, heads = config.hidden_size, config.num_attention_heads
    if heads < 1 or d_model % heads:
        raise InvalidInput(f"{config.model_type}: a stream of width {d_model} does not divide into {heads} heads")
    return int(d_model // heads)


def head_width(config: Config) -> int:
    """Channels per head: ``head_dim``, or an even share of the stream."""
    return int(getattr(config, "head_dim", None) or even_share(config))


def context(config: Config) -> int:
    """Positions within which neither the position limit nor a sliding window is felt."""
    window = getattr(config, "sliding_window", None)
    return int(min(config.max_position_embeddings, window or config.max_position_embeddings))


def biases(present: bool) -> dict[str, Any]:
    """Fields of an architecture that has a bias in every map of its layers, or in none."""
    return dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias", "ff_bias"), bool(present))


def require(config: Config, field: str, value: object, wanted: object) -> None:
    """Refuse a configuration whose ``field`` has another value than the only one that is known."""
    if value != wanted:
        raise UnsupportedModel(
            f"{config.model_type}: configuration field {field!r} is {value!r}; the adapter knows {wanted!r} only, and "
            "`symgauge dim` measures the model as it is"
        )


def require_nonzero(config: Config, *names: str) -> None:
    """Refuse factors that would cut off a part of the model."""
    for name in names:
        if not getattr(config, name):
            raise UnsupportedModel(
                f"{config.model_type}: configuration field {name!r} is {getattr(config, name)!r}, which cuts a part of "
                "the model off; the adapter needs another number, and `symgauge dim` measures the model as it is"
            )
