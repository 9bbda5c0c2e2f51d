"""Elements of the group and maps of the residual stream on the roles of whole models, without the symmetry families."""

from __future__ import annotations

import torch
from torch import Tensor

from proofs_checks.support.exact_function import Roles
from proofs_checks.support.integer_matrices import unimodular
from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, Map, ModelGraph, Norm, graph_of


def head_element(a: Architecture, roles: Roles, seed: int = 0, *, wrong_inverse: bool = False) -> dict[str, Tensor]:
    """An element of G_max: in every layer, A and C of determinant −1 per group (integers), b_Q, b_K, b_V moved along.

    ``wrong_inverse`` puts A⁻¹ in place of A⁻ᵀ, which only symmetric A forgive.
    """
    share = a.heads // a.groups
    changed: dict[str, Tensor] = {}
    for layer, sub in enumerate(s for s in graph_of(a).sublayers() if isinstance(s, Attention)):
        start = seed + 1000 * layer
        on_keys = [unimodular(a.d_k, start + r) for r in range(a.groups)]
        on_values = [unimodular(a.d_v, start + 500 + r) for r in range(a.groups)]
        query = torch.stack([on_keys[i // share][0] for i in range(a.heads)])
        key = torch.stack([inverse if wrong_inverse else inverse.mT for _, inverse in on_keys])
        value = torch.stack([c for c, _ in on_values])
        output = torch.stack([on_values[i // share][1] for i in range(a.heads)])
        for m, right in ((sub.query, query), (sub.key, key), (sub.value, value)):
            changed |= _times(roles, m, right)
        changed[sub.output.weight] = output @ roles[sub.output.weight]
    return changed


def _times(roles: Roles, m: Map, right: Tensor) -> dict[str, Tensor]:
    changed = {m.weight: roles[m.weight] @ right}
    if m.bias is not None:
        changed[m.bias] = (roles[m.bias].unsqueeze(-2) @ right).squeeze(-2)
    return changed


def rotate_stream(a: Architecture, roles: Roles, rotation: Tensor, *, layers: range | None = None) -> dict[str, Tensor]:
    """x → xR for the whole residual stream of a Pre-norm model without norm offsets: tables and writers times R, and
    for the readers of a norm with gain γ: W → γ⁻¹ Rᵀ γ W. ``layers``: only these (then the model is broken on purpose).
    """
    graph = graph_of(a)
    changed = {table: roles[table] @ rotation for table in graph.tables} if layers is None else {}
    for index, branch in enumerate(graph.branches()):
        if layers is not None and index // 2 not in layers:
            continue
        for m in branch.readers:
            changed[m.weight] = _refolded(roles, m.weight, branch.input_norm, rotation)
        for m in branch.writers:
            changed[m.weight] = roles[m.weight] @ rotation
            if m.bias is not None:
                changed[m.bias] = (roles[m.bias].unsqueeze(0) @ rotation).squeeze(0)
    if layers is None and graph.head is not None:
        weight = graph.head.unembedding.weight
        changed[weight] = _refolded(roles, weight, graph.final_norm, rotation)
    return changed


def _refolded(roles: Roles, weight: str, norm: Norm | None, rotation: Tensor) -> Tensor:
    if norm is None:
        return rotation.mT @ roles[weight]
    gain = roles[norm.gain].unsqueeze(-1)
    return (rotation.mT @ (gain * roles[weight])) / gain


def only_layer(graph: ModelGraph, changed: Roles, layer: int) -> dict[str, Tensor]:
    """Of a change of roles, what belongs to one layer."""
    return {name: x for name, x in changed.items() if name.startswith(f"layers.{layer}.")}


ATTENTION = "layers.0.attention"

ROLES = tuple(f"{ATTENTION}.{name}.weight" for name in ("query", "key", "value", "output"))


def general_element(a: Architecture, roles: Roles, seed: int) -> dict[str, torch.Tensor]:
    """A, C of determinant −1 in every head and a cyclic shift of the heads, by exact integer matrices."""
    heads = range(a.heads)
    mats = [(unimodular(a.d_k, seed + i), unimodular(a.d_v, seed + 50 + i)) for i in heads]
    query, key, value, output = (roles[r] for r in ROLES)
    order = torch.tensor([(i + 1) % a.heads for i in heads])
    moved = (
        torch.stack([query[i] @ mats[i][0][0] for i in heads]),
        torch.stack([key[i] @ mats[i][0][1].mT for i in heads]),
        torch.stack([value[i] @ mats[i][1][0] for i in heads]),
        torch.stack([mats[i][1][1] @ output[i] for i in heads]),
    )
    return {r: x.index_select(0, order) for r, x in zip(ROLES, moved, strict=True)}
