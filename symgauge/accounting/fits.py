"""Whether a module, its architecture, its layout and its measurement belong together."""

from __future__ import annotations

from torch import nn

from symgauge.architecture import Architecture
from symgauge.checks import shown
from symgauge.errors import InvalidInput
from symgauge.exact.result import FibreDimension, Output
from symgauge.layout import Layout
from symgauge.model_graph import ModelGraph, graph_of

Names = tuple[tuple[str, int], ...]
"""Name and size of each parameter, in order."""


def check_layout(a: Architecture, layout: Layout, module: nn.Module) -> ModelGraph:
    """The architecture's model graph; raises InvalidInput where the layout does not fit it or the module."""
    if not isinstance(a, Architecture) or not isinstance(layout, Layout):
        given = f"{type(a).__name__} and {type(layout).__name__}"
        raise InvalidInput(f"a subject has a symgauge.Architecture and a symgauge.Layout, not {given}")
    if tuple(layout.names) != _names(module):
        raise InvalidInput(f"the layout describes {_tensors(layout.names)}; the module has {_tensors(_names(module))}")
    graph = graph_of(a)
    for role, slot in layout.slots.items():
        shape = tuple(slot.index.shape)
        # Sizes may differ (a factor in the place of a matrix): what cannot act on them then says so.
        if role in graph.shapes and len(shape) != len(graph.shapes[role]):
            raise InvalidInput(
                f"layout: role {role!r} has shape {shape}; in this architecture it is {graph.shapes[role]}"
            )
    return graph


def check_fibre(fibre: FibreDimension, module: nn.Module, output: Output) -> None:
    """Raises InvalidInput unless the fibre was measured on such a module, for this output."""
    if not isinstance(fibre, FibreDimension):
        raise InvalidInput(f"fibre must be what symgauge.dimension returned, not {shown(fibre)}")
    if not set(fibre.names) <= set(_names(module)):
        this_one = _tensors(_names(module))
        raise InvalidInput(f"fibre is of another module: it has {_tensors(fibre.names)}, this one {this_one}")
    if fibre.output != output:
        raise InvalidInput(f"fibre was measured for output {fibre.output!r}, and is to be explained for {output!r}")


def _names(module: nn.Module) -> Names:
    return tuple((name, p.numel()) for name, p in module.named_parameters())


def _tensors(names: Names) -> str:
    shown_ones = ", ".join(f"{name} ({count})" for name, count in names[:4])
    return f"{len(names)} tensors ({shown_ones}{', …' if len(names) > 4 else ''})"
