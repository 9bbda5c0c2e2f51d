"""Small random instances of a family, and of the shape that a given configuration describes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from symgauge.architecture import Architecture
from symgauge.errors import UnsupportedModel
from symgauge.layout import flatten
from symgauge.models.huggingface.adapter import Adapted, adapt, load
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


def _instance(family: Family, config: Config, seed: int | None) -> tuple[Any, Adapted]:
    """A float64 model in evaluation mode, every parameter from :func:`random_parameters` unless seed is None."""
    import transformers

    # Initialisation draws from the global generator; leave no trace there.
    with torch.random.fork_rng(devices=[]):
        model = getattr(transformers, family.class_name)(config)
    model = model.double().eval()
    adapted = adapt(model)
    if seed is not None:
        load(model, adapted.layout.write(random_parameters(adapted.architecture, seed), flatten(model)[0]))
    return model, adapted


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
    return _instance(family, _shrunk(family, config, layers, overrides), seed)[0]


@dataclass(frozen=True)
class FromConfig:
    """A small instance of the shape a configuration describes, and the architecture at full size."""

    model: Any
    adapted: Adapted
    """The small model's architecture and layout."""
    architecture: Architecture
    """At full size."""
    scaled: dict[str, tuple[Any, Any]]
    """Configuration fields that differ: name → (full size, small instance)."""


def from_config(source: str | Path | dict[str, Any], *, seed: int = 0) -> FromConfig:
    """A small random instance (at most two layers) and the full-size architecture of a model's configuration.

    No weights are read or allocated at full size. Raises :class:`InvalidInput` for files that are no configuration, and
    :class:`UnsupportedModel` for families or fields without support.
    """
    fields = read_config(source)
    if isinstance(model_type := fields.get("model_type"), str):
        family_of(model_type)  # whether there is an adapter is said before what else is wrong
    return small_instance(make_config(fields), fields.get("architectures"), seed)


def small_instance(config: Config, classes: Any, seed: int | None) -> FromConfig:
    """As :func:`from_config`, of a configuration object and the classes that its file names, if any.

    With None for ``seed`` parameters are as the class makes them, for a measurement that draws its own point.
    """
    family = family_of(config.model_type)
    classes = classes or [family.class_name]
    if family.class_name not in classes:
        raise UnsupportedModel(
            f"{family.model_type}: 'architectures' is {quoted(classes)}; the adapter knows {family.class_name} only"
        )
    family.check(config)
    architecture = family.architecture(config)
    small = _shrunk(family, config, min(small_depth(architecture), architecture.layers), {})
    before, after = config.to_dict(), small.to_dict()
    changed = [name for name in family.sizes(config, 1) if before.get(name) != after[name]]
    scaled = {name: (before.get(name), after[name]) for name in changed}
    return FromConfig(*_instance(family, small, seed), architecture, scaled)
