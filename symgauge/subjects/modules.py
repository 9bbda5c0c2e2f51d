"""Subjects from what Python holds: a module, or an architecture whose reference module is made."""

from __future__ import annotations

from torch import nn

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.estimate import require_memory
from symgauge.exact.probes import Inputs
from symgauge.layout import Layout
from symgauge.models.huggingface.adapter import adapt
from symgauge.models.reference import ReferenceModel, reference_layout
from symgauge.subjects.inputs import natural_inputs
from symgauge.subjects.subject import Subject


def of_architecture(a: Architecture, inputs: Inputs | None, seed: int | None) -> Subject:
    """The reference module of an architecture; its parameters are drawn from ``seed``, or zero with None."""
    module = ReferenceModel(a, seed)
    return Subject(module, natural_inputs(a), a, reference_layout(module, a), recognized=True).fed(inputs)


def of_module(module: nn.Module, inputs: Inputs | None = None) -> Subject:
    """A module with what an adapter knows of it. Raises UnsupportedModel where that does not tell what to feed it."""
    try:
        require_memory(sum(p.numel() for p in module.parameters()))  # a layout is as large as the module
        architecture, layout = recognize(module)
    except (InvalidInput, UnsupportedModel) as reason:
        if inputs is None:
            raise UnsupportedModel(
                f"{reason}; say what to probe it with: inputs=symgauge.Tokens(vocabulary=…, length=…) or "
                "symgauge.Vectors(length=…, width=…)"
            ) from reason
        return Subject(module, inputs, unknown=str(reason))
    natural = natural_inputs(architecture) if inputs is None else inputs
    return Subject(module, natural, architecture, layout, recognized=True)


def recognize(module: nn.Module) -> tuple[Architecture, Layout]:
    """The architecture of a module and the layout of its parameters.

    Raises UnsupportedModel for one that no adapter knows, InvalidInput for sizes that no architecture has.
    """
    if isinstance(module, ReferenceModel):
        return module.architecture, reference_layout(module, module.architecture)
    adapted = adapt(module)
    return adapted.architecture, adapted.layout
