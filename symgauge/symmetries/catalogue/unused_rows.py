"""Rows of tables that nothing reads."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry, Unseen
from symgauge.symmetries.elements import shifts
from symgauge.symmetries.examples import POST_LN, PRE_LN


class UnusedTokenTypes(Symmetry):
    name = "unused-token-types"
    title = "Rows of the token-type table other than the first are never read when every token has type 0."
    example = POST_LN.replace(token_types=2)

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        rows = a.token_types - 1
        if rows < 1 or "type_table" not in graph.tables:
            return []

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            table = roles["type_table"]
            return {"type_table": torch.cat([table[:1], table[1:] + x.reshape(rows, a.d_model)])}

        count = rows * a.d_model
        return [Site(None, (s.n_types - 1) * s.d, count, act, shifts(count))]

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        return Unseen("the rows are never read")


class UnusedPositions(Symmetry):
    name = "unused-positions"
    title = "Rows of the position table before the first position's are never read."
    example = PRE_LN.replace(unused_positions=2)

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        rows = a.unused_positions
        if not rows or "unused_positions" not in graph.shapes:
            return []

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            return {"unused_positions": roles["unused_positions"] + x.reshape(rows, a.d_model)}

        return [Site(None, rows * s.d, rows * a.d_model, act, shifts(rows * a.d_model))]

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        return Unseen("the rows are never read", wholly=True)
