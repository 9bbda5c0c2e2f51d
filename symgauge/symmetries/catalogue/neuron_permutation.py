"""Hidden neurons renumbered, and their signs."""

from __future__ import annotations

import torch
from sympy import Expr, Integer, factorial
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import ModelGraph, graph_of
from symgauge.symmetries.base import DiscreteSymmetry, Output, Roles
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.examples import PLAIN
from symgauge.symmetries.feed_forward import columns_times, feed_forwards, for_each_width, widths
from symgauge.symmetries.permutations import permutation, renumbered, signs


class NeuronPermutation(DiscreteSymmetry):
    name = "neuron-permutation"
    title = "Hidden neurons of a feed-forward layer are renumbered."
    source = (Cites("ainsworth2023rebasin"),)
    example = PLAIN

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        return any(width > 1 for _, width in widths(a, graph_of(a)))

    def order(self, a: Architecture) -> Expr:
        return for_each_width(a, factorial)

    def sample(self, a: Architecture, graph: ModelGraph, generator: torch.Generator) -> dict[str, Tensor]:
        return {f.up.weight: permutation(width, generator) for f, width in widths(a, graph)}

    def act(self, a: Architecture, graph: ModelGraph, parameters: Roles, element: Roles) -> dict[str, Tensor]:
        roles = dict(parameters)
        for f in feed_forwards(graph):
            index = element[f.up.weight]
            for m in (f.up, f.gate) if f.gate is not None else (f.up,):
                roles |= renumbered(roles, [m.weight, m.bias], index, axis=-1)
            roles |= renumbered(roles, [f.down.weight], index)
        return roles


class NeuronSignFlip(DiscreteSymmetry):
    name = "neuron-sign-flip"
    title = "With tanh, an odd function, what goes into a hidden neuron and what comes out of it change sign together."
    source = (Cites("sussmann1992uniqueness", part="layers without gates"),)
    example = PLAIN.replace(activation="tanh")

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        return a.activation == "tanh" and bool(widths(a, graph_of(a)))

    def order(self, a: Architecture) -> Expr:
        return for_each_width(a, lambda width: Integer(2) ** width)

    def sample(self, a: Architecture, graph: ModelGraph, generator: torch.Generator) -> dict[str, Tensor]:
        return {f.up.weight: signs(width, generator) for f, width in widths(a, graph)}

    def act(self, a: Architecture, graph: ModelGraph, parameters: Roles, element: Roles) -> dict[str, Tensor]:
        roles = dict(parameters)
        for f in feed_forwards(graph):
            sign = element[f.up.weight].to(roles[f.up.weight])
            roles |= columns_times(roles, f.up if f.gate is None else f.gate, sign)
            roles[f.down.weight] = roles[f.down.weight] * sign.unsqueeze(-1)
        return roles
