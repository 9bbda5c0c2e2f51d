"""The record of what is measured."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import get_args

from torch import nn

from symgauge.architecture import Architecture
from symgauge.checks import shown
from symgauge.errors import InvalidInput
from symgauge.exact.probes import Inputs
from symgauge.layout import Layout


@dataclass(frozen=True)
class Subject:
    """A module, what to probe it with, and what is known of it.

    Raises :class:`InvalidInput` for what is none of these, and for an architecture without a layout.

    Example:
        >>> import torch, symgauge
        >>> subject = symgauge.Subject(torch.nn.Linear(3, 2), symgauge.Vectors(length=1, width=3))
        >>> subject.name, subject.architecture
        ('Linear', None)
    """

    module: nn.Module
    inputs: Inputs
    architecture: Architecture | None = None
    """What the module computes, where that is known: families act on its roles."""
    layout: Layout | None = None
    """Where the module's parameters hold these roles; with the architecture, or not at all."""
    recognized: bool = False
    """Whether the architecture was read off the module and not described by hand: inputs have to be its own then."""
    unknown: str = ""
    """Why no architecture is known, where one was looked for."""
    full_size: Architecture | None = None
    """The architecture that a scaled-down module stands for."""
    notes: tuple[str, ...] = ()
    no_own_point: str = ""
    """Why the module's parameters are not those of what was named, where that is so."""
    name: str = ""
    """Of the module's class, or of that of a model inside a wrapper."""

    def __post_init__(self) -> None:
        if not isinstance(self.module, nn.Module):
            raise InvalidInput(f"a torch.nn.Module is needed, not {shown(self.module)}")
        if not isinstance(self.inputs, get_args(Inputs)):
            raise InvalidInput(f"inputs must be symgauge.Tokens, Vectors or Arrays, not {type(self.inputs).__name__}")
        if (self.architecture is None) != (self.layout is None):
            raise InvalidInput("families need to know where roles lie: give both the architecture and its layout")
        object.__setattr__(self, "name", self.name or type(self.module).__name__)

    def fed(self, inputs: Inputs | None) -> Subject:
        """The same with other inputs, if there are any; the module's own name for its input stays."""
        if not isinstance(inputs, get_args(Inputs)):
            return self if inputs is None else dataclasses.replace(self, inputs=inputs)
        keyword = inputs.keyword or self.inputs.keyword
        return dataclasses.replace(self, inputs=dataclasses.replace(inputs, keyword=keyword))
