"""Channels of a head that the map on one side leaves empty, and the map on the other side does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import torch
from sympy import Expr
from torch import Tensor

from symgauge.architecture import Architecture, Rotary
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.catalogue.query_key import ScoreBlock, Scores, score_maps
from symgauge.symmetries.catalogue.value_output import Values, value_maps
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.elements import differences, shifts
from symgauge.symmetries.examples import SHARED
from symgauge.symmetries.heads import per_head
from symgauge.symmetries.seen import empty, seen_by_readers, seen_of_writers
from symgauge.symmetries.value_constants import with_values, written_by
from symgauge.wiring import Attention, Map, Wiring, wire

Projection = Callable[[Roles], Tensor]
"""Roles → (copies, n, n), onto empty channels."""


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
                for scores, _ in score_maps(a, wire(a))
                for block in scores.blocks(a, wire(a))
            ),
            example=_ALIKE,
            beside=_ALIKE.replace(rotary=Rotary((Fraction(1, 7), Fraction(2, 7)))),
        ),
    )

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        of_scores = [
            self._scores(a, w, scores, block)
            for scores, _ in score_maps(a, w)
            for block in scores.blocks(a, w)
            if block.beyond_bases > 0 and block.channels.kind == "real"
        ]
        return [*of_scores, *(self._values(a, w, v) for v in value_maps(a, w) if v.beyond_bases(a, w) > 0)]

    def _scores(self, a: Architecture, w: Wiring, scores: Scores, block: ScoreBlock) -> Site:
        seen, channels = seen_by_readers(a, w), torch.tensor(block.channels.channels)
        m, constant, free = scores.key, block.key > seen[scores.key.weight].linear, scores.query
        if block.query < block.key:
            m, constant, free = scores.query, True, scores.key

        def empty_channels(roles: Roles) -> Tensor:
            rows = seen[m.weight].functions(roles, m, constant=constant)[..., channels.to(roles[m.weight].device)]
            inner = empty(rows.reshape(scores.copies, -1, len(channels)))
            embedding = (channels.unsqueeze(-1) == torch.arange(scores.pattern.shape[0])).to(inner.device) + 0.0
            return embedding.mT @ inner @ embedding

        return self._site(a, w, free, scores.copies, scores.count * block.beyond_bases, empty_channels)

    def _values(self, a: Architecture, w: Wiring, values: Values) -> Site:
        seen, seen_outputs = seen_by_readers(a, w)[values.value.weight], seen_of_writers(a, w)[values.output]
        size = values.count * values.beyond_bases(a, w)
        shape, linear = w.shapes[values.output], a.attention == "linear"

        def written(roles: Roles) -> Tensor:
            rows = roles[values.output].mT
            rows = rows if seen_outputs == shape[-1] else differences(shape[-1], rows).mT @ rows
            return empty(rows.reshape(values.copies, -1, shape[1]))

        if seen.linear > a.heads // values.copies * seen_outputs:
            return self._site(a, w, values.value, values.copies, size, written)

        attention = next(
            (sub for sub in w.sublayers() if isinstance(sub, Attention) and sub.value == values.value), None
        )

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            rows = seen.functions(roles, values.value, constant=True)
            projection = per_head(a, empty(rows[:, : seen.linear + (seen.constant and linear)]), values.copies)
            output = roles[values.output]
            shift = projection @ x.reshape(output.shape)
            changed = {values.output: output + shift}
            if not seen.constant or linear or attention is None:
                return changed
            # What constant values write moves too; other constants take it back.
            written = (per_head(a, rows[:, -1:], values.copies) @ shift).sum(0)
            back = written_by(a, {**roles, **changed}, attention, -written)
            return {**changed, **with_values(roles, attention, seen.norm, back)}

        count = torch.Size(shape).numel()
        return Site(s.layer_of(values.output), size, count, act, shifts(count))

    def _site(self, a: Architecture, w: Wiring, free: Map, copies: int, size: Expr, empty_channels: Projection) -> Site:
        """What ``free`` puts into empty channels."""
        roles_of = [free.weight] + ([free.bias] if free.bias is not None else [])
        sizes = [torch.Size(w.shapes[role]).numel() for role in roles_of]

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            projection, changed = empty_channels(roles), {}
            for role, part in zip(roles_of, x.split(sizes), strict=True):
                shift = part.reshape(roles[role].shape)
                heads = shift.reshape(-1, shift.numel() // shift.shape[-1] // _heads(w, free), shift.shape[-1])
                on = per_head(a, projection, copies) if len(heads) == a.heads else projection
                changed[role] = roles[role] + (heads @ on).reshape(shift.shape)
            return changed

        return Site(s.layer_of(free.weight), size, sum(sizes), act, shifts(sum(sizes)))


def _heads(w: Wiring, m: Map) -> int:
    shape = w.shapes[m.weight]
    return shape[0] if len(shape) == 3 else 1
