"""Heads renumbered."""

from __future__ import annotations

import torch
from sympy import Expr
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, LatentAttention, ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import DiscreteSymmetry, Output, Roles
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.examples import ATTENTION
from symgauge.symmetries.permutations import renumbered, wreath, wreath_order


class HeadPermutation(DiscreteSymmetry):
    name = "head-permutation"
    title = "Heads are renumbered: inside each key/value group, and whole groups with their keys and values."
    source = (Cites("tran2025equivariant", part="without shared keys and values"),)
    example = ATTENTION

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        # Heads with slopes of their own are told apart.
        return a.heads > 1 and not a.alibi

    def order(self, a: Architecture) -> Expr:
        return wreath_order(s.h, s.g) ** s.L

    def sample(self, a: Architecture, graph: ModelGraph, generator: torch.Generator) -> dict[str, Tensor]:
        element: dict[str, Tensor] = {}
        for index, sub in enumerate(graph.sublayers()):
            if isinstance(sub, Attention | LatentAttention):
                groups, heads = wreath(a.heads, a.groups, generator)
                element |= {f"{index}.groups": groups, f"{index}.heads": heads}
        return element

    def act(self, a: Architecture, graph: ModelGraph, parameters: Roles, element: Roles) -> dict[str, Tensor]:
        roles = dict(parameters)
        for index, sub in enumerate(graph.sublayers()):
            if isinstance(sub, Attention):
                by_head = [sub.query.weight, sub.query.bias, sub.output.weight]
                by_group = [sub.key.weight, sub.key.bias, sub.value.weight, sub.value.bias]
            elif isinstance(sub, LatentAttention):
                by_head = [m.weight for m in (sub.query_nope, sub.query_rope, sub.key_up, sub.value_up, sub.output)]
                by_group = []
            else:
                continue
            if isinstance(sub, Attention) and a.qk_norm_across:
                by_head += [norm.gain for norm in (sub.query_norm,) if norm is not None]
                by_group += [norm.gain for norm in (sub.key_norm,) if norm is not None]
            roles |= renumbered(roles, by_head, element[f"{index}.heads"])
            roles |= renumbered(roles, by_group, element[f"{index}.groups"])
        return roles
