"""Constants that pass through attention: its weights sum to one, so constant values come out as they went in."""

from __future__ import annotations

from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, ModelGraph, Norm
from symgauge.symmetries.base import Roles
from symgauge.symmetries.elements import inverse
from symgauge.symmetries.heads import per_head
from symgauge.symmetries.spaces import spaces


def through_heads(a: Architecture, roles: Roles, output: str, value: Tensor) -> Tensor:
    """What the heads write, (d_model,), when their values are the constant ``value`` (g, d_v)."""
    heads = per_head(a, value, a.groups).reshape(1, -1)
    weight = roles[output]
    return (heads @ weight.reshape(-1, weight.shape[-1])).squeeze(0)


def stacked_output(a: Architecture, roles: Roles, output: str) -> Tensor:
    """The map (g d_v, d_model) from constant values, one per group, to what the heads write."""
    return roles[output].reshape(a.groups, -1, a.d_v, a.d_model).sum(1).reshape(-1, a.d_model)


def written_by(a: Architecture, roles: Roles, sub: Attention, vector: Tensor) -> Tensor:
    """The shortest constant values (g, d_v) that make the heads write a ``vector`` (1, d_model)."""
    rows = stacked_output(a, roles, sub.output.weight)
    return ((vector @ inverse(rows.mT @ rows)) @ rows.mT).reshape(a.groups, a.d_v)


def offsets_read(a: Architecture, graph: ModelGraph) -> dict[str, Norm]:
    """Weight that reads what a LayerNorm with offset hands on -> that norm."""
    opened = [(space.source, space.moments[0]) for space in spaces(a, graph) if space.source is not None]
    return {
        reader.weight: norm
        for norm, moment in opened
        for reader in moment.readers
        if norm.kind == "layer" and norm.offset is not None and not moment.norms
    }


def with_values(roles: Roles, sub: Attention, norm: Norm | None, t: Tensor) -> dict[str, Tensor]:
    """Add t (g, d_v) to all values: by their bias, or without one by their norm's offset, W_V + (1/γ) t / Σ β/γ."""
    if sub.value.bias is not None:
        return {sub.value.bias: roles[sub.value.bias] + t}
    assert norm is not None
    assert norm.offset is not None
    inverse_gain = 1 / roles[norm.gain]
    lever = inverse_gain / (roles[norm.offset] * inverse_gain).sum()
    return {sub.value.weight: roles[sub.value.weight] + lever.unsqueeze(-1) * t.unsqueeze(-2)}
