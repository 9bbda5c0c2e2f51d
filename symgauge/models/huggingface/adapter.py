"""From a Hugging Face model to its architecture and the layout of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from symgauge.architecture import Architecture
from symgauge.errors import UnsupportedModel
from symgauge.layout import Layout
from symgauge.model_graph import graph_of
from symgauge.models.huggingface.model_class import import_transformers
from symgauge.zoo import family_of
from symgauge.zoo.parts.entries import Entries


@dataclass(frozen=True)
class Adapted:
    """What a module computes, and where its parameters hold each role."""

    architecture: Architecture
    layout: Layout


def adapt(model: Any) -> Adapted:
    """Architecture and layout of an unmodified ``transformers`` model with a language-model head.

    Every parameter entry belongs to exactly one role. Raises :class:`UnsupportedModel` for unknown families or classes
    and for configuration fields that the adapter does not understand.
    """
    config = getattr(model, "config", None)
    if config is None or not hasattr(config, "model_type"):
        raise UnsupportedModel(f"{type(model).__name__} is not a transformers model: it has no config.model_type")
    family = family_of(config.model_type)
    if type(model) is not getattr(import_transformers(), family.class_name):
        raise UnsupportedModel(
            f"{family.model_type}: the adapter knows {family.class_name} as transformers defines it, "
            f"not {type(model).__qualname__}; `symgauge dim` measures any class"
        )
    family.check(config)
    architecture = family.architecture(config)
    entries = Entries(model)
    slots = family.slots(architecture, entries)
    expected = graph_of(architecture).shapes
    found = {role: tuple(slot.index.shape) for role, slot in slots.items()}
    if found != expected:
        wrong = sorted(role for role in {**found, **expected} if found.get(role) != expected.get(role))
        raise UnsupportedModel(
            f"{family.model_type}: the module's parameters do not match its configuration at {wrong[0]!r}: "
            f"found {found.get(wrong[0])}, expected {expected.get(wrong[0])}"
        )
    layout = Layout({role: slots[role] for role in expected}, entries.size, tuple(entries.names))
    if layout.unused.numel():
        owner = _owner(layout, int(layout.unused[0]))
        raise UnsupportedModel(f"{family.model_type}: parameter {owner!r} belongs to no role of the architecture")
    return Adapted(architecture, layout)


def _owner(layout: Layout, position: int) -> str:
    """Name of the parameter that holds a position of θ."""
    for name, count in layout.names:
        if position < count:
            return name
        position -= count
    raise IndexError(position)


def load(model: torch.nn.Module, theta: torch.Tensor) -> None:
    """Copy a parameter vector (P,) into a module, in the order of ``named_parameters()``."""
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(theta, model.parameters())
