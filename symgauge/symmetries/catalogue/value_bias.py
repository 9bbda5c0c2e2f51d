"""Constant values against a bias that is added at the same place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, Branch, ModelGraph, Norm, Step
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry, Unseen
from symgauge.symmetries.constants import moved
from symgauge.symmetries.elements import differences, inverse, shifts
from symgauge.symmetries.examples import ATTENTION
from symgauge.symmetries.space import Constant
from symgauge.symmetries.spaces import constants_of, spaces
from symgauge.symmetries.value_constants import offsets_read, stacked_output, through_heads, with_values


class ValueBias(Symmetry):
    name = "value-bias"
    title = (
        "The value bias moves and a bias added at the same place (the output's, in parallel blocks also the "
        "feed-forward's) takes it back, for attention weights sum to one. Without one, only what the output map "
        "kills moves. A LayerNorm's offset makes a value bias of its own: values that add 1/γ add a constant."
    )
    example = ATTENTION.replace(value_bias=True, output_bias=True)

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        if a.attention != "softmax" or a.latent is not None:
            return []
        sources = {} if a.value_bias else offsets_read(a, graph)
        moments = [(space.centred(i), m) for space in spaces(a, graph) for i, m in enumerate(space.moments)]
        centred = {m.weight for unseen, moment in moments if unseen for m in moment.writers}
        found = []
        for step in graph.steps:
            for branch in step.branches:
                for sub in branch.sublayers:
                    if not isinstance(sub, Attention):
                        continue
                    sink, norm = self._sink(a, step, branch), sources.get(sub.value.weight)
                    if sink and a.value_bias:
                        found.append(self._absorbed(a, sub, sink))
                    elif a.value_bias or (norm and not sink):
                        found.append(self._killed(a, sub, 1 if sub.output.weight in centred else 0, norm))
        return [site for site in found if site.coordinates]

    def _sink(self, a: Architecture, step: Step, branch: Branch) -> Constant | None:
        together = step.branches if branch.output_norm is None else (branch,)
        found = constants_of(a, tuple(m for b in together for m in b.writers))
        return found[0] if found else None

    def _absorbed(self, a: Architecture, sub: Attention, sink: Constant) -> Site:
        bias = sub.value.bias
        assert bias is not None

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            t = x.reshape(a.groups, a.d_v)
            written = through_heads(a, roles, sub.output.weight, t)
            return {bias: roles[bias] + t, **moved(roles, sink, -written)}

        count = a.groups * a.d_v
        return Site(s.layer_of(bias), s.g * s.d_v, count, act, shifts(count))

    def _killed(self, a: Architecture, sub: Attention, unseen: int, norm: Norm | None) -> Site:
        """Value biases t with t W_O = 0 (or along **1**, where only LayerNorms read the stream)."""

        rank = a.d_model - unseen
        count = max(0, a.groups * a.d_v - rank)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            rows = stacked_output(a, roles, sub.output.weight)
            seen = rows @ differences(a.d_model, rows) if unseen else rows
            first = -(x.reshape(1, -1) @ seen[rank:]) @ inverse(seen[:rank])
            return with_values(roles, sub, norm, torch.cat([first.squeeze(0), x]).reshape(a.groups, a.d_v))

        size = s.g * s.d_v - s.d + unseen if count else Integer(0)
        return Site(s.layer_of(sub.value.weight), size, count, act, shifts(count))

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        return super().unseen_alone(a, role) if a.output_bias else Unseen("only what the output map kills moves")
