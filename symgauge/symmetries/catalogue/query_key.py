"""Queries against keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sympy import Expr, Integer
from torch import Tensor

from symgauge.architecture import Architecture, Latent, Rotary
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.elements import commutant_pattern, full_pattern, invertible, near_identity
from symgauge.symmetries.examples import ATTENTION, LATENT, SHARED, WIDE
from symgauge.symmetries.heads import per_head, rows_of, times
from symgauge.wiring import Attention, LatentAttention, Map, Wiring


@dataclass(frozen=True)
class _Scores:
    """Queries and keys whose products make the scores: ``copies`` independent matrices act on them."""

    query: Map
    key: Map
    copies: int
    count: Expr
    pattern: Tensor

    def idle(self, a: Architecture, w: Wiring) -> int:
        """Directions of one matrix that move neither factor: heads wider than what they read (claims in 4.2)."""
        n = self.pattern.shape[0]
        if int(self.pattern.max()) < n * n:
            return 0
        query = a.heads // self.copies * rows_of(w, self.query)
        return max(0, n - query) * max(0, n - rows_of(w, self.key))

    def act(self, a: Architecture, roles: Roles, x: Tensor) -> dict[str, Tensor]:
        matrices = near_identity(x.reshape(self.copies, -1), self.pattern)
        inverse_transposed = torch.linalg.inv(matrices).mT
        return times(self.query, roles, per_head(a, matrices, self.copies)) | times(self.key, roles, inverse_transposed)


def _commutant(a: Architecture, rotary: Rotary | None) -> tuple[Expr, Tensor]:
    """Dimension in letters, and pattern, of what may act on channels that carry positions."""
    n, letter = (a.d_k, s.d_k) if a.latent is None else (a.latent.d_rope, s.d_r)
    if rotary is None:
        return letter**2, full_pattern(n)
    planes = sum(len(block.signs) for block in rotary.classes())
    if rotary.commutant_dimension == 2 * planes + (n - 2 * planes) ** 2 and planes == len(rotary.turns):
        return s.d_rot + (letter - s.d_rot) ** 2 if n > 2 * planes else letter, commutant_pattern(rotary)
    return Integer(rotary.commutant_dimension), commutant_pattern(rotary)


class QueryKey(Symmetry):
    name = "query-key"
    title = (
        "Queries are multiplied by A and keys by the inverse transpose of A, one A per key/value group: any invertible "
        "matrix, or with rotary encoding one that commutes with the rotations. The scores stay."
    )
    source = (Cites("tran2025equivariant", part="without rotary encoding"),)
    example = ATTENTION
    degenerate_cases = (
        DegenerateCase(
            "keys that heads share and that are wider than the stream leave room to each of these heads",
            lambda a: a.groups < a.heads and a.d_k > a.d_model,
            example=SHARED.replace(d_k=4),
            beside=SHARED,
        ),
        DegenerateCase(
            "key channels wider than the latent that they are made from leave parts of the queries' map unseen",
            lambda a: a.latent is not None and a.d_k - a.latent.d_rope > min(a.latent.query, a.latent.key_value),
            example=LATENT.replace(d_model=6, d_k=5, latent=Latent(4, 2, 2)),
            beside=LATENT,
        ),
        DegenerateCase(
            "keys wider than the stream share directions with biases and norms before them, which are counted twice",
            lambda a: a.d_k > a.d_model and (a.key_bias or a.norm == "layer"),
            example=WIDE.replace(d_k=5, key_bias=True),
            beside=WIDE.replace(d_k=5),
        ),
    )

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        found = []
        for sub in w.sublayers():
            if isinstance(sub, Attention) and not a.qk_norm:
                size, pattern = _commutant(a, sub.rotary)
                found.append(self._site(a, w, _Scores(sub.query, sub.key, a.groups, s.g, pattern), size))
            elif isinstance(sub, LatentAttention):
                assert a.latent is not None
                if nope := a.d_k - a.latent.d_rope:
                    scores = _Scores(sub.query_nope, sub.key_up, a.heads, s.h, full_pattern(nope))
                    found.append(self._site(a, w, scores, (s.d_k - s.d_r) ** 2))
                size, pattern = _commutant(a, a.rotary)
                found.append(self._site(a, w, _Scores(sub.query_rope, sub.key_rope, 1, Integer(1), pattern), size))
        return found

    def _site(self, a: Architecture, w: Wiring, scores: _Scores, size: Expr) -> Site:
        return Site(
            s.layer_of(scores.query.weight),
            scores.count * (size - scores.idle(a, w)),
            scores.copies * int(scores.pattern.max()),
            lambda roles, x: scores.act(a, roles, x),
            invertible(scores.pattern, scores.copies),
        )
