"""A number added to all logits."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry, Unseen
from symgauge.symmetries.elements import shifts
from symgauge.symmetries.examples import RMS
from symgauge.symmetries.spaces import norm_before_head


class LogitShift(Symmetry):
    name = "logit-shift"
    title = (
        "Probabilities do not see a number added to all logits: the unembedding's columns and the head bias may move."
    )
    after = ("layernorm-output-mean",)
    outputs = ("probabilities",)
    example = RMS

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        if graph.head is None or a.logit_softcap is not None:
            return []
        found = []
        if not graph.tied:
            found.append(self._columns(a, graph, graph.head.unembedding.weight))
        if graph.head.unembedding.bias is not None:
            found.append(self._bias(graph.head.unembedding.bias))
        return found

    def _columns(self, a: Architecture, graph: ModelGraph, weight: str) -> Site:
        source = norm_before_head(a, graph)
        # The null direction of a LayerNorm's readers has one of the d directions already.
        covered = source is not None and source.kind == "layer" and (source.offset is None or a.head_bias)
        count = a.d_model - covered

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            c = torch.cat([x, torch.zeros_like(x[:1])]) if covered else x
            return {weight: roles[weight] + c.unsqueeze(-1)}

        return Site(None, s.d - 1 if covered else s.d, count, act, shifts(count))

    def _bias(self, bias: str) -> Site:
        return Site(None, Integer(1), 1, lambda roles, x: {bias: roles[bias] + x}, shifts(1))

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        return Unseen("softmax does not see it")
