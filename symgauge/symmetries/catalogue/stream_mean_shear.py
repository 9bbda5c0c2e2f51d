"""Shears of a stream along **1**, where LayerNorms and linear maps read it side by side."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.elements import shifts
from symgauge.symmetries.examples import PRE_LN
from symgauge.symmetries.space import Space
from symgauge.symmetries.spaces import spaces


class StreamMeanShear(Symmetry):
    name = "stream-mean-shear"
    title = (
        "Where LayerNorms and linear maps read the same stream (Post-LN without embedding norm, Pre-LN without final "
        "norm), any linear functional of it may be added to its mean: the norms do not see it, the linear maps undo it."
    )
    after = ("layernorm-input-mean",)
    example = PRE_LN.replace(final_norm=False)

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        return [self._site(a, space) for space in spaces(a, graph) if self._sheared(graph, space)]

    def _sheared(self, graph: ModelGraph, space: Space) -> bool:
        fixed = space.given or space.taken or space.source is not None or bool(space.outputs)
        seen_twice = graph.tied and "token_table" in space.tables
        layers = bool(space.norms) and all(norm.kind == "layer" for norm in space.norms)
        return layers and bool(space.readers) and not (fixed or seen_twice)

    def _site(self, a: Architecture, space: Space) -> Site:
        # What is written after the last linear map has read is unseen along 1 anyway.
        seen = [moment for position, moment in enumerate(space.moments) if not space.centred(position)]
        writers = [m for moment in seen for m in moment.writers]
        writes = [*(table for moment in seen for table in moment.tables), *(m.weight for m in writers)]
        biases = [m.bias for m in writers if m.bias is not None]

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            # Right factor I + w 1ᵀ; its inverse is I − w 1ᵀ / (1 + Σ w).
            column = x.unsqueeze(-1)
            changed = {role: roles[role] + roles[role] @ column for role in writes}
            changed |= {role: roles[role] + (roles[role] * x).sum() for role in biases}
            back = column / (1 + x.sum())
            for reader in space.readers:
                weight = roles[reader.weight]
                changed[reader.weight] = weight - back * weight.sum(-2, keepdim=True)
            return changed

        return Site(space.layer, s.d, a.d_model, act, shifts(a.d_model))
