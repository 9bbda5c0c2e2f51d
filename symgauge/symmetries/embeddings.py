"""Freedoms of the embedding tables and the unembedding that only the whole model has."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Output, Roles, Site, Symmetry
from symgauge.symmetries.constant_shifts import Gap
from symgauge.symmetries.elements import shifts
from symgauge.symmetries.spaces import Constant, spaces
from symgauge.wiring import Norm, Wiring


class UnusedTypes(Symmetry):
    name = "unused-types"
    title = "Rows of the token-type table other than the first are never read when every token has type 0."
    source = "derived here"

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        rows = a.token_types - 1
        if rows < 1 or "type_table" not in w.tables:
            return []

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            table = roles["type_table"]
            return {"type_table": torch.cat([table[:1], table[1:] + x.reshape(rows, a.d_model)])}

        count = rows * a.d_model
        return [Site(None, (s.n_types - 1) * s.d, count, act, shifts(count))]


class UnusedPositions(Symmetry):
    name = "unused-positions"
    title = "Rows of the position table before the first position's are never read."
    source = "derived here"

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        rows = a.unused_positions
        if not rows or "unused_positions" not in w.shapes:
            return []

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            return {"unused_positions": roles["unused_positions"] + x.reshape(rows, a.d_model)}

        return [Site(None, rows * s.d, rows * a.d_model, act, shifts(rows * a.d_model))]


class LogitShift(Symmetry):
    name = "logit-shift"
    title = (
        "Probabilities do not see a number added to all logits: the unembedding's columns and the head bias may move."
    )
    source = "claims CT-5; head bias derived here"
    outputs = ("probabilities",)

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        if w.head is None or a.logit_softcap is not None:
            return []
        found = []
        if not w.tied:
            found.append(self._columns(a, w, w.head.unembedding.weight))
        if w.head.unembedding.bias is not None:
            found.append(self._bias(w.head.unembedding.bias))
        return found

    def _columns(self, a: Architecture, w: Wiring, weight: str) -> Site:
        source = normed_by(a, w)
        # The null direction of a LayerNorm's readers has one of the d directions already.
        covered = source is not None and source.kind == "layer" and (source.offset is None or a.head_bias)
        count = a.d_model - covered

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            c = torch.cat([x, torch.zeros_like(x[:1])]) if covered else x
            return {weight: roles[weight] + c.unsqueeze(-1)}

        return Site(None, s.d - 1 if covered else s.d, count, act, shifts(count))

    def _bias(self, bias: str) -> Site:
        return Site(None, Integer(1), 1, lambda roles, x: {bias: roles[bias] + x}, shifts(1))


def normed_by(a: Architecture, w: Wiring) -> Norm | None:
    """The norm whose result the unembedding reads, if nothing is added in between."""
    last = spaces(a, w)[-1]
    return last.source if len(last.moments) == 1 else None


def _token_gap(a: Architecture, w: Wiring) -> tuple[Gap, Constant | None]:
    """What a shift of a tied token table meets on the stream, and another table that takes it back at once."""
    stream = spaces(a, w)[0]
    token = Constant(("token_table",), True, a.embedding_scale)
    first, *later = stream.moments
    if first.constants:
        return Gap(a, w, stream, token, first.constants[0], []), first.constants[0]
    gap = Gap(a, w, stream, token, None, [first])
    for moment in later:
        if moment.constants:
            gap.then = moment.constants[0]
            break
        gap.moments.append(moment)
    return gap, None


class TiedTokenShift(Symmetry):
    name = "tied-token-shift"
    title = (
        "A vector added to all rows of a tied token table moves all logits alike, which probabilities do not see; on "
        "the stream another table takes it back, or LayerNorms do not see it along 1."
    )
    source = "claims CT-5 (tied, probabilities); in general derived here"
    outputs = ("probabilities",)

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        if not w.tied or a.logit_softcap is not None:
            return []
        gap, _ = _token_gap(a, w)
        count, size = gap.size()
        if count == 0:
            return []

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            return gap.act(roles, gap.vector(roles, x))

        return [Site(None, size, count, act, shifts(count))]


class TiedNullDirection(Symmetry):
    name = "tied-null-direction"
    title = (
        "A tied token table read after a LayerNorm may move along 1/γ in all rows: logits change by a constant that "
        "the head bias takes back (none without an offset), and another table takes the shift off the stream."
    )
    source = "derived here"

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        return super().applies(a, output) and not (
            output == "probabilities" and TiedTokenShift().applies(a, "probabilities")
        )

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        if not w.tied or w.head is None:
            return []
        norm, bias = normed_by(a, w), w.head.unembedding.bias
        gap, _ = _token_gap(a, w)
        if norm is None or norm.kind != "layer" or gap.size()[0] < a.d_model:
            return []
        if norm.offset is not None and bias is None:
            return []

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            inverse = 1 / roles[norm.gain]
            changed = gap.act(roles, x * inverse)
            if norm.offset is not None and bias is not None:
                changed[bias] = roles[bias] - x / a.embedding_scale * (roles[norm.offset] * inverse).sum()
            return changed

        return [Site(None, Integer(1), 1, act, shifts(1))]
