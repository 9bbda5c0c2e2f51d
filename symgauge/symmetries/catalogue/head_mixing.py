"""What attention without softmax leaves free between scores and values."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sympy import Expr, Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, FeedForward, Mixture, ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.elements import factors, full_pattern, invertible, near_identity
from symgauge.symmetries.examples import ATTENTION
from symgauge.symmetries.linear_attention import heads_exceed_their_form


class HeadMixing(Symmetry):
    name = "head-mixing"
    title = (
        "Without softmax a head's scores can be scaled and what it writes scaled back; heads that share keys and "
        "values can even be mixed, queries by A and outputs by its inverse transpose, A of size h/g for every group."
    )
    source = (Cites("henry2025lightning", "Section 3", "one head"),)
    after = ("query-key", "value-output")
    example = ATTENTION.replace(attention="linear", groups=1)
    degenerate_cases = (
        DegenerateCase(
            "without softmax heads are more, or wider, than the cubic form that they add up to can tell apart",
            heads_exceed_their_form,
            example=ATTENTION.replace(d_model=2, heads=3, groups=3, d_v=1, attention="linear"),
            beside=ATTENTION.replace(d_model=3, heads=3, groups=3, d_v=1, attention="linear"),
        ),
    )

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        # A soft cap makes the size of scores visible.
        if a.attention != "linear" or a.attention_softcap is not None:
            return []
        found = []
        for sub in graph.sublayers():
            if isinstance(sub, FeedForward | Mixture):
                continue
            if not isinstance(sub, Attention):
                # Latent attention: every head has keys and values of its own.
                found.append(
                    _mixing([sub.query_nope.weight, sub.query_rope.weight], sub.output.weight, a.heads, 1, s.h)
                )
            elif sub.query_norm is not None:
                # Normalised queries forget the size of their maps; the gain shared by the heads leaves one factor.
                found.append(_scaling(sub.query_norm.gain, sub.output.weight))
            else:
                queries = [sub.query.weight] + ([sub.query.bias] if sub.query.bias is not None else [])
                size = a.heads // a.groups
                found.append(_mixing(queries, sub.output.weight, a.groups, size, s.h**2 / s.g if size > 1 else s.h))
        return found


def _mixing(queries: list[str], output: str, groups: int, size: int, letters: Expr) -> Site:
    """Matrices of ``size`` heads, one per group."""
    pattern = full_pattern(size)

    def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
        matrices = near_identity(x.reshape(groups, -1), pattern)

        def mixed(role: str, by: Tensor) -> Tensor:
            value = roles[role]
            return (by @ value.reshape(groups, size, -1)).reshape(value.shape)

        inverse = torch.linalg.inv(matrices).mT
        return {**{role: mixed(role, matrices) for role in queries}, output: mixed(output, inverse)}

    return Site(s.layer_of(output), letters, groups * size * size, act, invertible(pattern, groups))


def _scaling(gain: str, output: str) -> Site:
    def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
        factor = 1 + x
        return {gain: roles[gain] * factor, output: roles[output] / factor}

    return Site(s.layer_of(output), Integer(1), 1, act, factors(1))
