"""Values against the output map."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sympy import Expr
from torch import Tensor

from symgauge.architecture import Architecture, Latent
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.elements import full_pattern, invertible, near_identity
from symgauge.symmetries.examples import ATTENTION, LATENT, SHARED, WIDE
from symgauge.symmetries.heads import per_head, rows_of, times
from symgauge.wiring import Attention, LatentAttention, Map, Wiring


class ValueOutput(Symmetry):
    name = "value-output"
    title = (
        "Values are multiplied by an invertible C, one per key/value group, and the rows of the output map of each "
        "head that reads them by its inverse. What the head writes stays."
    )
    source = (Cites("tran2025equivariant"),)
    example = ATTENTION
    degenerate_cases = (
        DegenerateCase(
            "values that heads share and that are wider than the stream leave room to each of these heads",
            lambda a: a.groups < a.heads and a.d_v > a.d_model,
            example=SHARED.replace(d_v=4),
            beside=SHARED,
        ),
        DegenerateCase(
            "value channels wider than the latent that they are made from leave parts of the output map unseen",
            lambda a: a.latent is not None and a.d_v > a.latent.key_value,
            example=LATENT.replace(d_v=3, latent=Latent(3, 2, 2)),
            beside=LATENT,
        ),
        DegenerateCase(
            "values wider than the stream share directions with biases and norms before them, which are counted twice",
            lambda a: a.d_v > a.d_model and (a.value_bias or a.norm == "layer"),
            example=WIDE.replace(d_v=5, value_bias=True, output_bias=True),
            beside=WIDE.replace(d_v=5),
        ),
    )

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        found = []
        for sub in w.sublayers():
            if isinstance(sub, Attention):
                found.append(self._site(a, w, sub.value, sub.output.weight, a.groups, s.g))
            elif isinstance(sub, LatentAttention):
                found.append(self._site(a, w, sub.value_up, sub.output.weight, a.heads, s.h))
        return found

    def _site(self, a: Architecture, w: Wiring, value: Map, output: str, copies: int, count: Expr) -> Site:
        pattern = full_pattern(a.d_v)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            matrices = near_identity(x.reshape(copies, -1), pattern)
            inverse = per_head(a, torch.linalg.inv(matrices), copies)
            return {output: inverse @ roles[output], **times(value, roles, matrices)}

        columns = a.heads // copies * a.d_model
        idle = max(0, a.d_v - rows_of(w, value)) * max(0, a.d_v - columns)
        size, coordinates = count * (s.d_v**2 - idle), copies * a.d_v**2
        return Site(s.layer_of(value.weight), size, coordinates, act, invertible(pattern, copies))
