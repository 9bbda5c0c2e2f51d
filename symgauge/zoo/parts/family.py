"""What a family says about itself, and the check of configurations that all families share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from symgauge.architecture import Architecture
from symgauge.checks import shown
from symgauge.errors import UnsupportedModel
from symgauge.zoo.parts.bookkeeping import CHANGING, HARMLESS, WRITTEN_BY_TRANSFORMERS

if TYPE_CHECKING:
    from symgauge.layout import Slot
    from symgauge.zoo.parts.entries import Entries

Config = Any
"""A ``transformers`` configuration object; its class depends on the family."""
Fields = Mapping[str, Any]
"""Fields of a configuration, as in a ``config.json``."""


@dataclass(frozen=True)
class Published:
    """A model as published: its number of parameters and the fields of its ``config.json`` that matter (and some more).

    An integer is the exact number; a float is rounded to ten millions, as the page of the model's files shows it.
    """

    parameters: int | float
    config: Fields


@dataclass(frozen=True)
class Cases:
    """What tests hold against the class of ``transformers``, beside the tiny instance and the published models."""

    variants: tuple[Fields, ...] = ()
    """Fields of further tiny instances that have to agree with the class, number by number."""
    refused: tuple[tuple[str, Fields], ...] = ()
    """(word in the refusal, fields) of configurations that the adapter must refuse."""
    accounted: tuple[tuple[int, Fields], ...] = ()
    """(layers, fields) of tiny instances whose kernel the known symmetries must explain entirely."""


@dataclass(frozen=True)
class Family:
    """One family: how its configuration becomes an architecture, and its parameters roles."""

    model_type: str
    class_name: str
    """The class of ``transformers``, with its language-model head."""
    architecture: Callable[[Config], Architecture]
    slots: Callable[[Architecture, Entries], dict[str, Slot]]
    sizes: Callable[[Config, int], dict[str, Any]]
    """(configuration, layers) → the fields of a small instance of the same shape."""
    required: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    """Configuration fields with the only values this adapter knows."""
    understood: frozenset[str] = frozenset()
    """Fields that published files have but the configuration class does not declare, and whose meaning is known."""
    derived: frozenset[str] = frozenset()
    """Fields that the configuration class computes from others."""
    example: Fields = field(default_factory=dict)
    """Configuration of the tiny instance, where the class defaults are not typical of the family."""
    published: Mapping[str, Published] = field(default_factory=dict)
    preset: Callable[[Fields], Architecture] | None = None
    """The architecture of a published configuration, read without ``transformers``: makes its name a preset."""
    cases: Cases = Cases()

    def config_file(self, name: str) -> dict[str, Any]:
        """The ``config.json`` of a published model."""
        return {"model_type": self.model_type, "architectures": [self.class_name], **self.published[name].config}

    def check(self, config: Config) -> None:
        """Raise :class:`UnsupportedModel`, naming the field, if the configuration asks for something unknown."""
        for name, values in self.required.items():
            value = getattr(config, name, values[0])
            if value not in values:
                wanted = " or ".join(repr(v) for v in values)
                raise UnsupportedModel(
                    f"{self.model_type}: configuration field {name!r} is {shown(value)}; only {wanted} is supported"
                )
        known = {*type(config)().to_dict(), *self.required, *self.understood, *HARMLESS, *WRITTEN_BY_TRANSFORMERS}
        for name, value in config.to_dict().items():
            unknown = name not in known or (name in CHANGING and name not in self.required)
            if unknown and value not in (None, False, 0, "", [], {}):
                raise UnsupportedModel(
                    f"{self.model_type}: configuration field {shown(name)} = {shown(value)} is unknown, so it might "
                    "change the model's symmetries; remove it if it does not"
                )
