"""Values against the output map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sympy import Expr
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, LatentAttention, Map, ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.elements import full_pattern, invertible, near_identity
from symgauge.symmetries.examples import ATTENTION
from symgauge.symmetries.heads import per_head, times
from symgauge.symmetries.seen import beyond_bases, seen_by_readers, seen_of_writers


@dataclass(frozen=True)
class Values:
    """Values that the rows of an output map read: ``copies`` independent matrices act on them."""

    value: Map
    output: str
    copies: int
    count: Expr

    def beyond_bases(self, a: Architecture, graph: ModelGraph) -> int:
        """What is free beyond changes of basis for one matrix, as in :func:`seen.beyond_bases`."""
        seen = seen_by_readers(a, graph)[self.value.weight]
        # Softmax weights sum to one: a constant in all values is one constant on the stream, and not read channel-wise.
        rows = seen.linear + (seen.constant and a.attention == "linear")
        return beyond_bases(rows, a.d_v, a.heads // self.copies * seen_of_writers(a, graph)[self.output])


def value_maps(a: Architecture, graph: ModelGraph) -> list[Values]:
    """The values of every attention layer."""
    found = []
    for sub in graph.sublayers():
        if isinstance(sub, Attention):
            found.append(Values(sub.value, sub.output.weight, a.groups, s.g))
        elif isinstance(sub, LatentAttention):
            found.append(Values(sub.value_up, sub.output.weight, a.heads, s.h))
    return found


class ValueOutput(Symmetry):
    name = "value-output"
    title = (
        "Values are multiplied by an invertible C, one per key/value group, and the rows of the output map of each "
        "head that reads them by its inverse. What the head writes stays."
    )
    source = (Cites("tran2025equivariant"),)
    after = ("value-bias", "layernorm-output-mean", "layernorm-input-mean")
    example = ATTENTION

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        return [self._site(a, graph, values) for values in value_maps(a, graph)]

    def _site(self, a: Architecture, graph: ModelGraph, values: Values) -> Site:
        pattern, copies = full_pattern(a.d_v), values.copies

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            matrices = near_identity(x.reshape(copies, -1), pattern)
            inverse = per_head(a, torch.linalg.inv(matrices), copies)
            return {values.output: inverse @ roles[values.output], **times(values.value, roles, matrices)}

        size, coordinates = values.count * (s.d_v**2 + min(0, values.beyond_bases(a, graph))), copies * a.d_v**2
        return Site(s.layer_of(values.output), size, coordinates, act, invertible(pattern, copies))
