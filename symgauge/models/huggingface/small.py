"""Small random instances of a family, and of the shape that a given configuration describes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.layout import flatten
from symgauge.models.huggingface.adapter import adapt, load
from symgauge.models.huggingface.config_file import quoted, read_config
from symgauge.models.huggingface.model_class import make_config
from symgauge.models.parameters import random_parameters
from symgauge.presets import small_depth
from symgauge.zoo import family_of
from symgauge.zoo.parts.family import Config, Family

# Token ids with a meaning would not fit a small vocabulary, and a padding row would have no derivative.
_RUN = {
    "use_cache": False,
    "attn_implementation": "eager",
    "experts_implementation": "eager",
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}


def _config(family: Family, fields: dict[str, Any]) -> Config:
    """A configuration object; whatever its class rejects becomes one clear error."""
    return make_config({**fields, "model_type": family.model_type})


def _instance(family: Family, config: Config, seed: int) -> Any:
    """A float64 model in evaluation mode, every parameter random (see :func:`random_parameters`)."""
    import transformers

    # Initialisation draws from the global generator; leave no trace there.
    with torch.random.fork_rng(devices=[]):
        model = getattr(transformers, family.class_name)(config)
    model = model.double().eval()
    adapted = adapt(model)
    load(model, adapted.layout.write(random_parameters(adapted.architecture, seed), flatten(model)[0]))
    return model


def _shrunk(family: Family, config: Config, layers: int, overrides: dict[str, Any]) -> Config:
    dropped = {"quantization_config", "dtype", "torch_dtype", "architectures", *family.derived}
    kept = {name: value for name, value in config.to_dict().items() if name not in dropped}
    return _config(family, {**kept, **_RUN, **family.sizes(config, layers), **overrides})


def tiny(model_type: str, layers: int = 1, *, seed: int = 0, **overrides: Any) -> Any:
    """A tiny random ``transformers`` model of a family: float64, eager attention, evaluation mode, no cache.

    Every parameter is random, biases and gains too. ``overrides`` are configuration fields.
    Raises :class:`UnsupportedModel` for families without an adapter.
    """
    family = family_of(model_type)
    config = _config(family, dict(family.example))
    return _instance(family, _shrunk(family, config, layers, overrides), seed)


@dataclass(frozen=True)
class FromConfig:
    """A small instance of the shape a configuration describes, and the architecture at full size."""

    model: Any
    architecture: Architecture
    scaled: dict[str, tuple[Any, Any]]
    """Configuration fields that differ: name → (full size, small instance)."""


def from_config(source: str | Path | dict[str, Any], *, seed: int = 0) -> FromConfig:
    """A small random instance (at most two layers) and the full-size architecture of a model's configuration.

    No weights are read or allocated at full size. Raises :class:`InvalidInput` for files that are no configuration, and
    :class:`UnsupportedModel` for families or fields without support.
    """
    fields = dict(read_config(source))
    model_type = fields.pop("model_type", None)
    if not isinstance(model_type, str):
        raise InvalidInput("the configuration names no 'model_type'; is it the config.json of a transformers model?")
    family = family_of(model_type)
    classes = fields.get("architectures") or [family.class_name]
    if family.class_name not in classes:
        raise UnsupportedModel(
            f"{model_type}: 'architectures' is {quoted(classes)}; the adapter knows {family.class_name} only"
        )
    config = _config(family, fields)
    family.check(config)
    architecture = family.architecture(config)
    small = _shrunk(family, config, min(small_depth(architecture), architecture.layers), {})
    before, after = config.to_dict(), small.to_dict()
    changed = [name for name in family.sizes(config, 1) if before.get(name) != after[name]]
    scaled = {name: (before.get(name), after[name]) for name in changed}
    return FromConfig(_instance(family, small, seed), architecture, scaled)
