"""The place where two models part: what a known mistake is held against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from symgauge.checkpoints import rows as blocks
from symgauge.comparison.acting import in_new_stream, moved_by
from symgauge.comparison.difference import Difference, StoredDifference
from symgauge.comparison.element import Element
from symgauge.comparison.idle_neurons import without_idle
from symgauge.comparison.pieces import Normal, Piece, normal
from symgauge.comparison.residuals import Judge, Residual
from symgauge.comparison.solving import solve_normal
from symgauge.comparison.unembedding import ROLE, folded
from symgauge.comparison.unembedding import moved as moved_unembedding
from symgauge.model_graph import Attention, FeedForward


@dataclass(frozen=True, eq=False)
class Scene(Difference):
    """The first role that no gauge explains, with the piece that it belongs to (None for tables)."""

    judge: Judge
    element: Element
    piece: Piece | None
    own: Normal
    """A's roles in normal form, before anything moved them."""
    moved: Normal
    """The same, moved by the element."""
    theirs: Normal
    """B's roles in normal form."""

    @property
    def role(self) -> str:
        return self.residual.role

    @property
    def stream(self) -> Tensor:
        return self.element.tensors["stream"]

    def expected(self) -> Tensor:
        """What the role would be in B if there were no mistake."""
        return self.moved.roles[self.role]

    def found(self) -> Tensor:
        """What it is in B."""
        return self.theirs.roles[self.role]

    def of_role(self, role: str) -> Scene:
        """The same piece seen at another of its roles."""
        return replace(self, residual=replace(self.residual, role=role))

    def channels(self) -> dict[str, tuple[int, ...]]:
        """Maps are (in, out), stacked heads (h, in, d) and (h, d, out)."""
        if self.piece is None:
            return {"rows": (0,)}
        if self.found().dim() == 2:
            return {"output channels": (1,), "input channels": (0,)}
        writes = ".output." in self.role
        return {
            "output channels": (2,) if writes else (0, 2), "input channels": (0, 1) if writes else (1,)
        }  # fmt: skip

    def matrix(self) -> Tensor | None:
        """Heads lie side by side."""
        difference = self.found() - self.expected()
        return self._joined(difference) if difference.dim() == 3 else difference if difference.dim() == 2 else None

    def transposed(self) -> Tensor | None:
        """Of A's tensor as it is stored, with the norm's gain folded into it."""
        source = self.judge.a.source(self.role)
        if self.piece is None or not self.role.endswith(".weight") or source is None:
            return None
        shape = self.judge.a.model.checkpoint.shape(self.judge.a.model.name_of(source))
        if len(shape) != 2 or shape[0] != shape[1]:
            return None
        raw = self.judge.a.read(self.role)
        turned = (self._joined(raw) if raw.dim() == 3 else raw).mT
        if raw.dim() == 3 and ".output." not in self.role:
            turned = turned.unflatten(1, (raw.shape[0], -1)).transpose(0, 1)
        back = turned.reshape(raw.shape)
        if self.piece.norm is not None and self.role in [m.weight for m in self.piece.readers]:
            back = self.judge.b.read(self.piece.norm.gain).unsqueeze(-1) * back
        return back

    def _joined(self, x: Tensor) -> Tensor:
        return x.flatten(0, 1) if ".output." in self.role else x.transpose(0, 1).flatten(1)

    def done_to_a_as_well(self, changes: dict[str, Tensor]) -> bool:
        """Whether nothing of the role is left unexplained once the same mistake is made in A's normal form, and heads
        and neurons are matched again."""
        assert self.piece is not None
        own = Normal({**self.own.roles, **changes}, self.own.scale)
        mine = in_new_stream(own, self.piece, self.stream, self.judge.anatomy.stream != "any")
        element = Element({"stream": self.stream})
        _, residuals = solve_normal(self.judge, self.piece, element, mine, self.theirs)
        return all(r.level != "unexplained" for r in residuals if r.role == self.role)

    def attention(self) -> Attention | None:
        """The attention layer that the role belongs to."""
        return next((s for s in self._sublayers() if isinstance(s, Attention) and self.role in _weights(s)), None)

    def feed_forward(self) -> FeedForward | None:
        """The feed-forward layer that the role belongs to."""
        layers = (s for s in self._sublayers() if isinstance(s, FeedForward))
        return next((f for f in layers if self.role in [m.weight for m in (*f.readers, f.writer)]), None)

    def _sublayers(self) -> Iterator[object]:
        yield from () if self.piece is None else self.piece.sublayers


def _weights(s: Attention) -> list[str]:
    return [m.weight for m in (*s.readers, s.output)]


def difference_of(judge: Judge, element: Element, residual: Residual) -> Difference:
    """The scene of a role; of a table that is read in blocks, the rows in which it differs most."""
    role, tables = residual.role, judge.anatomy.tables
    if role not in (*tables, ROLE) or judge.b.rows(role).is_one:
        return scene_of(judge, element, residual)
    allowed, stream = max(residual.exact, residual.stored), element.tensors["stream"]
    if role == ROLE:
        piece = judge.anatomy.pieces[-1]
        own = mine = moved_unembedding(judge.a, piece, element, judge.anatomy.stream != "any")
        theirs = folded(judge.b, piece)
    else:
        own, theirs = judge.a.rows(role), judge.b.rows(role)
        mine = own.map(lambda x: x @ stream)
    sizes = theirs.minus(mine).per_row(lambda x: torch.linalg.vector_norm(x, dim=-1))
    count = max(1, blocks.BLOCK * theirs.shape[0] // theirs.numel())
    chosen = sizes.topk(min(count, len(sizes))).indices.sort().values
    before, expected, found = (x.take(chosen) for x in (own, mine, theirs))
    if role == ROLE:
        return StoredDifference(residual, allowed, expected, found, chosen=chosen, length=len(sizes))
    normals = (Normal({role: x}, {}) for x in (before, expected, found))
    return Scene(residual, allowed, judge, element, None, *normals, chosen=chosen, length=len(sizes))


def scene_of(judge: Judge, element: Element, residual: Residual) -> Scene:
    """Read again what belongs to the role."""
    anatomy, allowed = judge.anatomy, max(residual.exact, residual.stored)
    if residual.role in anatomy.tables:
        own, theirs = (Normal({residual.role: side.read(residual.role)}, {}) for side in (judge.a, judge.b))
        moved = Normal({residual.role: own.roles[residual.role] @ element.tensors["stream"]}, {})
        return Scene(residual, allowed, judge, element, None, own, moved, theirs)
    piece = next(
        p for p in anatomy.pieces if residual.role in p.roles or residual.role.replace(".bias", ".weight") in p.roles
    )
    own, theirs = (normal(side, piece, anatomy) for side in (judge.a, judge.untraded))
    if residual.of_sum:
        own, theirs = (without_idle(judge, piece, x) or x for x in (own, theirs))
    moved = moved_by(element, own, piece, judge.a, anatomy)
    seen = judge.seen(piece, moved), judge.seen(piece, theirs)
    return Scene(residual, allowed, judge, element, piece, own, *seen)
