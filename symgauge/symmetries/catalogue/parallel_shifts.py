"""Constants added at the same place trade a vector."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.constants import moved
from symgauge.symmetries.elements import shifts
from symgauge.symmetries.examples import PRE_LN
from symgauge.symmetries.space import Constant, Space
from symgauge.symmetries.spaces import spaces


class _TogetherFamily(Symmetry):
    """Constants added at the same moment trade a vector; subclasses say which."""

    tables: bool

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        found = []
        for space in spaces(a, graph):
            for position, moment in enumerate(space.moments):
                first, *others = moment.constants or [Constant(())]
                centred = space.centred(position)
                found += [self._site(space, centred, first, other) for other in others if other.table == self.tables]
        return found

    def _site(self, space: Space, centred: bool, first: Constant, other: Constant) -> Site:
        # Along 1 both move alone where only LayerNorms read.
        count = space.width - 1 if centred else space.width

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            c = torch.cat([x, torch.zeros_like(x[:1])]) if centred else x
            return moved(roles, first, c) | moved(roles, other, -c)

        layer = s.layer_of(other.roles[0])
        return Site(layer, s.d - 1 if centred else s.d, count, act, shifts(count))


class EmbeddingShift(_TogetherFamily):
    name = "embedding-shift"
    title = "A vector added to all rows of one embedding table is taken from all rows of another."
    after = ("layernorm-input-mean",)
    tables = True
    example = PRE_LN


class ParallelBiasShift(_TogetherFamily):
    name = "parallel-bias-shift"
    title = (
        "A vector added to one bias on the residual stream is taken from another that is added at the same place "
        "(parallel blocks, shared experts)."
    )
    after = ("layernorm-input-mean",)
    tables = False
    example = PRE_LN.replace(placement="parallel", vocabulary=23)
