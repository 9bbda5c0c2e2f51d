"""Channels of a head that the map on one side leaves empty, and the map on the other side does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import torch
from sympy import Expr
from torch import Tensor

from symgauge.architecture import Architecture, Rotary
from symgauge.model_graph import Attention, Map, ModelGraph, graph_of
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry, Unseen
from symgauge.symmetries.catalogue.query_key import ScoreBlock, Scores, score_maps
from symgauge.symmetries.catalogue.value_output import Values, value_maps
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.elements import differences, shifts, spread
from symgauge.symmetries.examples import SHARED
from symgauge.symmetries.heads import per_head
from symgauge.symmetries.seen import Seen, empty, seen_by_readers, seen_of_writers
from symgauge.symmetries.value_constants import with_values, written_by

Unfilled = Callable[[Roles], Tensor]
"""Roles → (copies, n, ·), a basis of empty channels."""


_ALIKE = SHARED.replace(d_model=1, d_k=4, d_v=1, context=5, rotary=Rotary((Fraction(1, 7), Fraction(1, 7))))


class EmptyChannels(Symmetry):
    name = "empty-channels"
    title = (
        "Where a head has more channels than one of the maps that meet there fills, the other map is free on the rest: "
        "heads that share keys or values and are wider than the stream, or heads wider than a latent."
    )
    after = ("query-key", "value-output")
    example = SHARED.replace(d_v=4)
    degenerate_cases = (
        DegenerateCase(
            "planes that turn alike and are more than keys can fill leave room to each head that shares them",
            lambda a: any(
                block.beyond_bases > 0 and block.channels.kind == "complex"
                for scores, _ in score_maps(a, graph_of(a))
                for block in scores.blocks(a, graph_of(a))
            ),
            example=_ALIKE,
            beside=_ALIKE.replace(rotary=Rotary((Fraction(1, 7), Fraction(2, 7)))),
        ),
    )

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        of_scores = [
            self._scores(a, graph, scores, block)
            for scores, _ in score_maps(a, graph)
            for block in scores.blocks(a, graph)
            if block.beyond_bases > 0 and block.channels.kind == "real"
        ]
        return [*of_scores, *(self._values(a, graph, v) for v in value_maps(a, graph) if v.beyond_bases(a, graph) > 0)]

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        constant = a.attention == "softmax" and a.latent is None and (a.value_bias or a.norm_offset)
        if constant and role.endswith(("output.weight", "value.weight", "value.bias")):
            return super().unseen_alone(a, role)
        return Unseen("what one map puts into channels that the other leaves empty is not seen")

    def _scores(self, a: Architecture, graph: ModelGraph, scores: Scores, block: ScoreBlock) -> Site:
        seen, channels = seen_by_readers(a, graph), torch.tensor(block.channels.channels)
        m, constant, free = scores.key, block.key > seen[scores.key.weight].linear, scores.query
        if block.query < block.key:
            m, constant, free = scores.query, True, scores.key

        def unfilled(roles: Roles) -> Tensor:
            rows = seen[m.weight].functions(roles, m, constant=constant)[..., channels.to(roles[m.weight].device)]
            inner = empty(rows.reshape(scores.copies, -1, len(channels)))
            place = (channels.unsqueeze(-1) == torch.arange(scores.pattern.shape[0])).to(inner)
            return place.mT @ inner

        number = max(block.query, block.key) - len(channels)
        each = block.beyond_bases // number
        return self._into(graph, seen[free.weight], free, scores.copies, number, each, scores.count, unfilled)

    def _into(
        self,
        graph: ModelGraph,
        seen: Seen,
        free: Map,
        copies: int,
        number: int,
        each: int,
        count: Expr,
        unfilled: Unfilled,
    ) -> Site:
        """What ``number`` functions that a map reads put into its ``each`` empty channels, in every copy."""
        shape = graph.shapes[free.weight]
        heads, width = (shape[0] if len(shape) == 3 else 1), shape[-2] + (free.bias is not None)
        functions = [*range(seen.linear), *([width - 1] if seen.constant else [])]
        places = [head * width + row for head in range(heads // copies) for row in functions][-number:]

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            rows = spread(x.reshape(copies, each, number), places, heads // copies * width).mT
            shift = (rows @ unfilled(roles).mT).reshape(heads, width, shape[-1])
            changed = {free.weight: roles[free.weight] + shift[:, : shape[-2]].reshape(shape)}
            if free.bias is not None:
                changed[free.bias] = roles[free.bias] + shift[:, -1].reshape(roles[free.bias].shape)
            return changed

        coordinates = copies * number * each
        return Site(s.layer_of(free.weight), count * number * each, coordinates, act, shifts(coordinates))

    def _values(self, a: Architecture, graph: ModelGraph, values: Values) -> Site:
        seen, columns = seen_by_readers(a, graph)[values.value.weight], seen_of_writers(a, graph)[values.output]
        shape, linear, share = graph.shapes[values.output], a.attention == "linear", a.heads // values.copies
        filled = seen.linear + (seen.constant and linear)
        if filled > share * columns:

            def unfilled(roles: Roles) -> Tensor:
                rows = roles[values.output].mT
                rows = rows if columns == shape[-1] else differences(shape[-1], rows).mT @ rows
                return empty(rows.reshape(values.copies, -1, shape[1]))

            visible = seen if linear else replace(seen, constant=False)
            number, each = filled - a.d_v, a.d_v - share * columns
            return self._into(graph, visible, values.value, values.copies, number, each, values.count, unfilled)
        number, each = share * columns - a.d_v, a.d_v - filled
        places = [head * shape[-1] + column for head in range(share) for column in range(columns)][-number:]
        attentions = (sub for sub in graph.sublayers() if isinstance(sub, Attention))
        attention = next((sub for sub in attentions if sub.value == values.value), None)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            rows = seen.functions(roles, values.value, constant=True)
            written = spread(x.reshape(values.copies, each, number), places, share * shape[-1])
            shift = (empty(rows[:, :filled]) @ written).unflatten(-1, (share, shape[-1])).transpose(1, 2).reshape(shape)
            changed = {values.output: roles[values.output] + shift}
            if not seen.constant or linear or attention is None:
                return changed
            # What constant values write moves too; other constants take it back.
            more = (per_head(a, rows[:, -1:], values.copies) @ shift).sum(0)
            back = written_by(a, {**roles, **changed}, attention, -more)
            return {**changed, **with_values(roles, attention, seen.norm, back)}

        coordinates = values.copies * number * each
        return Site(s.layer_of(values.output), values.count * number * each, coordinates, act, shifts(coordinates))
