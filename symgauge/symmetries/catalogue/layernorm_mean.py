"""The mean that LayerNorm takes away: of what it reads, and of what it hands on."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sympy import Expr, Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import ModelGraph, Norm
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry, Unseen
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.constants import take_back
from symgauge.symmetries.elements import shifts, spread
from symgauge.symmetries.examples import PRE_LN
from symgauge.symmetries.softmax import constant_keys_unseen
from symgauge.symmetries.space import Reader, Space
from symgauge.symmetries.spaces import spaces


class LayerNormOutputMean(Symmetry):
    name = "layernorm-output-mean"
    title = (
        "Before its gain γ, LayerNorm's output has mean zero: maps that read it may add any multiple of 1/γ to each "
        "column, and a bias (or softmax) takes back the constant that comes of the offset, if there is one."
    )
    after = ("router-shift",)
    example = PRE_LN

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        found = []
        for space in spaces(a, graph):
            if space.source is not None and space.source.kind == "layer" and not space.moments[0].norms:
                readers = [reader for reader in space.moments[0].readers if not reader.tied]
                found += [self._site(a, graph, space, space.source, reader) for reader in readers]
        return [site for site in found if site.coordinates]

    def _site(self, a: Architecture, graph: ModelGraph, space: Space, norm: Norm, reader: Reader) -> Site:
        shape = graph.shapes[reader.weight]
        heads, n = (shape[0] if len(shape) == 3 else 1), shape[-1]
        columns = tuple(range(n)) if norm.offset is None else reader.columns
        *front, _, letter = s.shape(a, reader.weight)
        width: Expr = letter if len(columns) == n else Integer(len(columns))
        if reader.router and columns and a.experts is not None:
            # A common shift of the router's logits is already free under softmax.
            columns, width = router_columns(a)
        count = heads * len(columns)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            v = spread(x.reshape(*shape[:-2], len(columns)), columns, n)
            inverse = 1 / roles[norm.gain]
            changed = {reader.weight: roles[reader.weight] + inverse.unsqueeze(-1) * v.unsqueeze(-2)}
            if norm.offset is None:
                return changed
            return changed | take_back(a, roles, reader, (roles[norm.offset] * inverse).sum() * v)

        size = front[0] * width if front else width
        return Site(s.layer_of(reader.weight), s.total([(reader.weight, size)]), count, act, shifts(count))

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        if not a.norm_offset:
            return Unseen("without an offset there is no constant to take back")
        if role.endswith("key.weight") and constant_keys_unseen(a, role):
            return Unseen("the constant goes into the keys, where softmax does not see it")
        return super().unseen_alone(a, role)


def router_columns(a: Architecture) -> tuple[tuple[int, ...], Expr]:
    """Router columns that can move independently of the router's own freedom, and their number in letters."""
    assert a.experts is not None
    if a.experts.active == 1:
        return (), Integer(0)
    if a.experts.routing == "softmax":
        return tuple(range(a.experts.count - 1)), s.experts - 1
    return tuple(range(a.experts.count)), s.experts


class LayerNormInputMean(Symmetry):
    name = "layernorm-input-mean"
    title = (
        "LayerNorm removes the mean of its input: where nothing else reads a stream, every row of an embedding table, "
        "of an output or down map, every bias and offset may move along **1**."
    )
    source = (
        Cites("ashkboos2024slicegpt", "Section 3.2", "tables and maps"),
        Cites("jiang2023prermsnorm", part="Pre-LN models"),
    )
    example = PRE_LN

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        found = []
        for space in spaces(a, graph):
            for position, moment in enumerate(space.moments):
                if space.centred(position):
                    found += [
                        self._table(a, graph, t) for t in moment.tables if not (graph.tied and t == "token_table")
                    ]
                    found += [self._rows(a, graph, m.weight) for m in moment.writers]
                    constants = [c for c in moment.constants if not c.table]
                    found += [self._constant(role) for constant in constants for role in constant.roles]
        return found

    def _rows(self, a: Architecture, graph: ModelGraph, role: str) -> Site:
        rows = graph.shapes[role][:-1]
        count = torch.Size(rows).numel()
        letters: Expr = Integer(1)
        for letter in s.shape(a, role)[:-1]:
            letters *= letter

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            return {role: roles[role] + x.reshape(*rows, 1)}

        return Site(s.layer_of(role), s.total([(role, letters)]), count, act, shifts(count))

    def _table(self, a: Architecture, graph: ModelGraph, role: str) -> Site:
        if role != "type_table":
            return self._rows(a, graph, role)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            # Only the first row is in use.
            return {role: torch.cat([roles[role][:1] + x, roles[role][1:]])}

        return Site(None, Integer(1), 1, act, shifts(1))

    def _constant(self, role: str) -> Site:
        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            return {role: roles[role] + x}

        return Site(s.layer_of(role), s.total([(role, Integer(1))]), 1, act, shifts(1))

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        return Unseen("each writer's mean is unseen by itself")
