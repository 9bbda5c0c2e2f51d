"""GL acting between two linear factors of a head: queries against keys, values against outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sympy import Expr, Integer
from torch import Tensor

from symgauge.architecture import Architecture, Rotary
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.elements import commutant_pattern, full_pattern, invertible, near_identity
from symgauge.wiring import Attention, LatentAttention, Map, Wiring


def per_head(a: Architecture, x: Tensor, copies: int) -> Tensor:
    """One entry per head from one per group (or one for all heads): (copies, …) → (h, …)."""
    return x[torch.arange(a.heads, device=x.device) // (a.heads // copies)]


def times(m: Map, roles: Roles, right: Tensor) -> dict[str, Tensor]:
    """A map followed by ``right`` (heads, n, n); a map without a head axis takes the only matrix."""
    weight = roles[m.weight]
    changed = {m.weight: weight @ (right if weight.dim() == 3 else right[0])}
    if m.bias is not None:
        changed[m.bias] = (roles[m.bias].unsqueeze(-2) @ right).squeeze(-2)
    return changed


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
        query = a.heads // self.copies * _rows(w, self.query)
        return max(0, n - query) * max(0, n - _rows(w, self.key))

    def act(self, a: Architecture, roles: Roles, x: Tensor) -> dict[str, Tensor]:
        matrices = near_identity(x.reshape(self.copies, -1), self.pattern)
        inverse_transposed = torch.linalg.inv(matrices).mT
        return times(self.query, roles, per_head(a, matrices, self.copies)) | times(self.key, roles, inverse_transposed)


def _rows(w: Wiring, m: Map) -> int:
    """Rows of a map's matrix, its bias included."""
    return w.shapes[m.weight][-2] + (m.bias is not None)


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
    source = "gauge paper, Theorem 3.1, Theorem 3.3 and Corollary 3.4; the rotary classes completed as in claims CT-2"

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


class ValueOutput(Symmetry):
    name = "value-output"
    title = (
        "Values are multiplied by an invertible C, one per key/value group, and the rows of the output map of each "
        "head that reads them by its inverse. What the head writes stays."
    )
    source = "gauge paper, Theorem 3.1 and Corollary 3.4"

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
        idle = max(0, a.d_v - _rows(w, value)) * max(0, a.d_v - columns)
        size, coordinates = count * (s.d_v**2 - idle), copies * a.d_v**2
        return Site(s.layer_of(value.weight), size, coordinates, act, invertible(pattern, copies))
