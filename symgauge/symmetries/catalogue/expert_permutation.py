"""Experts renumbered."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sympy import Expr, factorial
from torch import Tensor

from symgauge.architecture import Architecture, Experts
from symgauge.model_graph import FeedForward, Map, Mixture, ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import DiscreteSymmetry, Output, Roles
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.examples import RMS
from symgauge.symmetries.permutations import permutation, renumbered, wreath, wreath_order


class ExpertPermutation(DiscreteSymmetry):
    name = "expert-permutation"
    title = (
        "Routed experts are renumbered together with the router's columns, inside each group that the router chooses "
        "between, and whole groups; shared experts among themselves."
    )
    source = (Cites("zhao2025symmetry", part="routed experts"),)
    example = RMS.replace(experts=Experts(3, 2, 3))

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        return a.experts is not None and a.experts.count > 1 and a.experts.first < a.layers

    def order(self, a: Architecture) -> Expr:
        each = wreath_order(s.experts, s.g_e) * factorial(s.shared)
        return each ** (s.L - s.dense)

    def sample(self, a: Architecture, graph: ModelGraph, generator: torch.Generator) -> dict[str, Tensor]:
        element = {}
        for sub in graph.sublayers():
            if isinstance(sub, Mixture) and a.experts is not None:
                _, element[sub.router.weight] = wreath(a.experts.count, a.experts.groups, generator)
                if sub.shared:
                    element[sub.shared[0].up.weight] = permutation(len(sub.shared), generator)
        return element

    def act(self, a: Architecture, graph: ModelGraph, parameters: Roles, element: Roles) -> dict[str, Tensor]:
        roles = dict(parameters)
        for sub in graph.sublayers():
            if isinstance(sub, Mixture):
                index = element[sub.router.weight]
                roles |= renumbered(roles, [sub.router.weight], index, axis=-1)
                roles |= _renamed(parameters, sub.experts, index)
                if sub.shared:
                    roles |= _renamed(parameters, sub.shared, element[sub.shared[0].up.weight])
        return roles


def _renamed(roles: Roles, group: Sequence[FeedForward], index: Tensor) -> dict[str, Tensor]:
    changed = {}
    for target, source in zip(group, index.tolist(), strict=True):
        for new, old in zip(_maps(target), _maps(group[source]), strict=True):
            changed[new.weight] = roles[old.weight]
            if new.bias is not None and old.bias is not None:
                changed[new.bias] = roles[old.bias]
    return changed


def _maps(f: FeedForward) -> list[Map]:
    return [f.up, f.down] + ([f.gate] if f.gate is not None else [])
