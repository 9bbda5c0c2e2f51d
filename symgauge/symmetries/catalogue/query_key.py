"""Queries against keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sympy import Expr, Integer
from torch import Tensor

from symgauge.architecture import Architecture, Rotary, RotationClass
from symgauge.model_graph import Attention, LatentAttention, Map, ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.divided_sizes import queries_are_signs
from symgauge.symmetries.elements import commutant_pattern, full_pattern, invertible, near_identity
from symgauge.symmetries.examples import ATTENTION
from symgauge.symmetries.heads import per_head, times
from symgauge.symmetries.seen import beyond_bases, seen_by_readers
from symgauge.symmetries.softmax import unseen_key_channels


@dataclass(frozen=True)
class ScoreBlock:
    """Head channels that turn alike, and how many functions of what they read queries and keys put into them."""

    channels: RotationClass
    query: int
    key: int

    @property
    def beyond_bases(self) -> int:
        """What is free of queries and keys beyond changes of basis, as in :func:`seen.beyond_bases`."""
        if self.channels.kind == "complex":
            return 2 * beyond_bases(self.query, len(self.channels.signs), self.key)
        return beyond_bases(self.query, len(self.channels.channels), self.key)


@dataclass(frozen=True)
class Scores:
    """Queries and keys whose products make the scores: ``copies`` independent matrices act on them."""

    query: Map
    key: Map
    copies: int
    count: Expr
    pattern: Tensor
    rotary: Rotary | None
    """What turns the channels."""

    @property
    def bases(self) -> int:
        """Real dimension of the matrices that keep the scores of ``copies`` heads."""
        return int(self.pattern.max())

    def blocks(self, a: Architecture, graph: ModelGraph) -> list[ScoreBlock]:
        """The channels by the rotation that they share."""
        seen = seen_by_readers(a, graph)
        query, key = seen[self.query.weight], seen[self.key.weight]
        m, n = a.heads // self.copies * (query.linear + query.constant), self.pattern.shape[0]
        classes = (RotationClass("real", tuple(range(n))),) if self.rotary is None else self.rotary.classes()
        unseen = set(unseen_key_channels(a, self.rotary))
        return [ScoreBlock(c, m, key.linear + (key.constant and not set(c.channels) <= unseen)) for c in classes]

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


def score_maps(a: Architecture, graph: ModelGraph) -> list[tuple[Scores, Expr]]:
    """Queries and keys that are read by their products alone, and in letters how many matrices keep these."""
    found: list[tuple[Scores, Expr]] = []
    for sub in graph.sublayers():
        if isinstance(sub, Attention) and not a.qk_norm:
            size, pattern = _commutant(a, sub.rotary)
            found.append((Scores(sub.query, sub.key, a.groups, s.g, pattern, sub.rotary), size))
        elif isinstance(sub, LatentAttention):
            assert a.latent is not None
            if nope := a.d_k - a.latent.d_rope:
                plain = Scores(sub.query_nope, sub.key_up, a.heads, s.h, full_pattern(nope), None)
                found.append((plain, (s.d_k - s.d_r) ** 2))
            size, pattern = _commutant(a, a.rotary)
            found.append((Scores(sub.query_rope, sub.key_rope, 1, Integer(1), pattern, a.rotary), size))
    return found


_SIGNS = ATTENTION.replace(
    heads=1, groups=1, d_k=1, attention="linear", residual=True, norm="rms", placement="output", epsilon=0.0
)


class QueryKey(Symmetry):
    name = "query-key"
    title = (
        "Queries are multiplied by A and keys by the inverse transpose of A, one A per key/value group: any invertible "
        "matrix, or with rotary encoding one that commutes with the rotations. The scores stay."
    )
    source = (Cites("tran2025equivariant", part="without rotary encoding"),)
    after = ("key-bias", "layernorm-output-mean")
    example = ATTENTION
    degenerate_cases = (
        DegenerateCase(
            "without softmax a norm without ε sees of queries of one channel the sign alone",
            queries_are_signs,
            example=_SIGNS,
            beside=_SIGNS.replace(d_k=2),
        ),
    )

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        return [self._site(a, graph, scores, size) for scores, size in score_maps(a, graph)]

    def _site(self, a: Architecture, graph: ModelGraph, scores: Scores, size: Expr) -> Site:
        return Site(
            s.layer_of(scores.query.weight),
            scores.count * (size + sum(min(0, block.beyond_bases) for block in scores.blocks(a, graph))),
            scores.copies * scores.bases,
            lambda roles, x: scores.act(a, roles, x),
            invertible(scores.pattern, scores.copies),
        )
