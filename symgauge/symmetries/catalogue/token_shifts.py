"""What a first layer without norms and biases can hide when tokens are few: constants that every token row can carry.

With |V| ≤ d_model the token table E has independent rows, so some u has E u = **1**: the map x ↦ x u is one on every
token. It stands in for the biases that the layer does not have."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry, Unseen
from symgauge.symmetries.elements import inverse, shifts
from symgauge.symmetries.examples import PLAIN
from symgauge.symmetries.softmax import constant_keys_unseen, unseen_key_channels

TABLE = "token_table"


def first_attention(a: Architecture, graph: ModelGraph) -> Attention | None:
    """The attention that reads independent token rows and nothing else, without biases to shift; None if none does."""
    first = next(graph.sublayers(), None)
    biased = a.query_bias or a.key_bias or a.value_bias or a.output_bias
    plain = graph.tables == (TABLE,) and not graph.tied and a.norm == "none" and a.attention == "softmax" and not biased
    return first if plain and isinstance(first, Attention) and a.vocabulary <= a.d_model else None


def ones_reader(roles: Roles) -> Tensor:
    """The shortest u (d_model, 1) with E u = **1**."""
    table = roles[TABLE]
    one = torch.ones((table.shape[0], 1), dtype=table.dtype, device=table.device)
    return table.mT @ (inverse(table @ table.mT) @ one)


class TokenKeyShift(Symmetry):
    name = "token-key-shift"
    title = (
        "With no more tokens than channels the first layer's keys can all move by one vector, which shifts all scores "
        "of a query alike: W_K + u bᵀ with E u = 1."
    )
    example = PLAIN.replace(vocabulary=4)

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        attention = first_attention(a, graph)
        if attention is None or len(unseen_key_channels(a, attention.rotary)) < a.d_k:
            return []
        key, shape = attention.key.weight, (a.groups, 1, a.d_k)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            return {key: roles[key] + ones_reader(roles) @ x.reshape(shape)}

        count = a.groups * a.d_k
        return [Site(None, s.g * s.d_k, count, act, shifts(count))]

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        return Unseen("softmax does not see it")


class TokenValueShift(Symmetry):
    name = "token-value-shift"
    title = (
        "With no more tokens than channels all token rows move by one vector, the first layer's attention reads as "
        "before, and its values write the vector back to the stream (attention weights sum to one)."
    )
    example = PLAIN.replace(vocabulary=4)

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        attention = first_attention(a, graph)
        alone = len(graph.steps) > 0 and len(graph.steps[0].branches) == 1
        if attention is None or not (a.residual and alone):
            return []
        value, output, shape = attention.value.weight, attention.output.weight, (a.groups, 1, a.d_v)
        shared = torch.arange(a.heads) // (a.heads // a.groups)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            b = x.reshape(shape)
            written = (b[shared.to(x.device)] @ roles[output]).sum(0)  # (1, d_model): what the heads will add
            u = ones_reader(roles)
            moved = {TABLE: roles[TABLE] - written}
            for role in (attention.query.weight, attention.key.weight, value):
                weight = roles[role] + u @ b if role == value else roles[role]
                # What reads E before reads E − 1cᵀ = E (I − u cᵀ) now: (I − u cᵀ)⁻¹ = I + u cᵀ / (1 − cᵀu).
                moved[role] = weight + u @ ((written @ weight) / (1 - written @ u))
            return moved

        count = a.groups * a.d_v
        return [Site(None, s.g * s.d_v, count, act, shifts(count))]

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        if role.endswith("key.weight") and constant_keys_unseen(a, role):
            return Unseen("the constant goes into the keys, where softmax does not see it")
        return super().unseen_alone(a, role)
