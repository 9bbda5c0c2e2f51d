"""What two linear maps with channels between them see of each other, and what their product then leaves free.

A product of generic matrices (m, n) and (n, k) has rank r = min(m, n, k), so its fibre has n (m + k) − r (m + k − r)
dimensions: n² (bases of the channels) as long as n ≤ min(m, k), and n² − (n − m)(n − k) where there are more of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, LatentAttention, Map, ModelGraph, Norm
from symgauge.symmetries.base import Roles
from symgauge.symmetries.elements import differences, identity
from symgauge.symmetries.spaces import spaces


def beyond_bases(m: int, n: int, k: int) -> int:
    """Dimension of the fibre of (m, n) times (n, k), less n²: negative where n exceeds both, positive in between."""
    return -(n - m) * (n - k) if n > min(m, k) else 0


@dataclass(frozen=True)
class Seen:
    """What a linear map sees of the space it reads: independent linear functions, and whether there is a constant.

    What LayerNorm (``norm``) hands on lies in a hyperplane, which passes the origin by if the norm has an offset.
    """

    linear: int
    constant: bool
    norm: Norm | None = None

    def functions(self, roles: Roles, m: Map, *, constant: bool) -> Tensor:
        """The map's columns as combinations of these functions: (heads, linear + constant, columns)."""
        weight = roles[m.weight]
        weight = weight if weight.dim() == 3 else weight.unsqueeze(0)
        rows = weight
        if self.norm is not None:
            rows = differences(weight.shape[-2], weight).mT @ (roles[self.norm.gain].unsqueeze(-1) * weight)
        if not (constant and self.constant):
            return rows
        added = torch.zeros_like(weight[:, :1])
        if self.norm is not None and self.norm.offset is not None:
            added = added + (roles[self.norm.offset] @ weight).unsqueeze(1)
        if m.bias is not None:
            added = added + roles[m.bias].reshape(added.shape)
        return torch.cat([rows, added], dim=1)


def seen_by_readers(a: Architecture, graph: ModelGraph) -> dict[str, Seen]:
    """What each linear map of a space sees, by its weight."""
    found = {}
    for space in spaces(a, graph):
        for position, moment in enumerate(space.moments):
            norm = space.source if position == 0 and space.source is not None else None
            layer = norm if norm is not None and norm.kind == "layer" else None
            offset = layer is not None and layer.offset is not None
            for reader in moment.readers:
                constant = offset or reader.bias is not None
                found[reader.weight] = Seen(space.width - (layer is not None), constant, layer)
    return found


def seen_of_writers(a: Architecture, graph: ModelGraph) -> dict[str, int]:
    """In how many channels of its space what a linear map writes is seen, by its weight."""
    return {
        m.weight: space.width - space.centred(position)
        for space in spaces(a, graph)
        for position, moment in enumerate(space.moments)
        for m in moment.writers
    }


def directions_written(a: Architecture, graph: ModelGraph, writers: Sequence[Map]) -> int:
    """How many directions linear maps write together, biases apart: heads no more than their values see."""
    seen = seen_by_readers(a, graph)
    values = {
        sub.output.weight: (sub.value if isinstance(sub, Attention) else sub.value_up).weight
        for sub in graph.sublayers()
        if isinstance(sub, Attention | LatentAttention)
    }
    return sum(
        a.heads * min(a.d_v, seen[values[m.weight]].linear) if m.weight in values else graph.shapes[m.weight][0]
        for m in writers
    )


def empty(filled: Tensor) -> Tensor:
    """A basis (…, n, n − m) of the channels that rows (…, m, n) leave empty: the rows times it are zero."""
    m, n = filled.shape[-2:]
    rest = identity(n - m, filled).expand(*filled.shape[:-2], n - m, n - m)
    return torch.cat([-torch.linalg.inv(filled[..., :m]) @ filled[..., m:], rest], dim=-2)
