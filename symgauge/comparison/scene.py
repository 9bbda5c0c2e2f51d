"""The place where two models part: what a known mistake is held against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.comparison.acting import in_new_stream, moved_by
from symgauge.comparison.element import Element
from symgauge.comparison.pieces import Normal, Piece, normal
from symgauge.comparison.residuals import Judge, Residual
from symgauge.comparison.rounding import looks_like_rounding, stands_out
from symgauge.comparison.solving import solve_normal
from symgauge.model_graph import Attention, FeedForward


@dataclass(frozen=True)
class Diagnosis:
    """A sentence, and the tensor of B that it is about where that is another than the first unexplained one."""

    reason: str
    tensor: str | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """The first role that no gauge explains, with the piece that it belongs to (None for tables)."""

    judge: Judge
    element: Element
    residual: Residual
    piece: Piece | None
    own: Normal
    """A's roles in normal form, before anything moved them."""
    moved: Normal
    """The same, moved by the element."""
    theirs: Normal
    """B's roles in normal form."""
    allowed: float
    """‖prediction − B‖ / ‖B‖ that rounding may leave."""

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

    def explains(self, predicted: Tensor) -> bool:
        """Whether a prediction of the role meets B's to rounding: the rule that settles which mistake was made."""
        if predicted.shape != self.found().shape:
            return False
        size = torch.linalg.vector_norm(self.found()).clamp_min(1e-300)
        difference = predicted - self.found()
        value = float(torch.linalg.vector_norm(difference) / size)
        if value <= self.residual.exact:
            return not stands_out(difference, self.found(), self.residual.exact)
        return value <= self.allowed and looks_like_rounding(difference)

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


def scene_of(judge: Judge, element: Element, residual: Residual) -> Scene:
    """Read again what belongs to the role."""
    anatomy, allowed = judge.anatomy, max(residual.exact, residual.stored)
    if residual.role in anatomy.tables:
        own, theirs = (Normal({residual.role: side.read(residual.role)}, {}) for side in (judge.a, judge.b))
        moved = Normal({residual.role: own.roles[residual.role] @ element.tensors["stream"]}, {})
        return Scene(judge, element, residual, None, own, moved, theirs, allowed)
    piece = next(
        p for p in anatomy.pieces if residual.role in p.roles or residual.role.replace(".bias", ".weight") in p.roles
    )
    own, theirs = (normal(side, piece, anatomy) for side in (judge.a, judge.b))
    moved = moved_by(element, own, piece, judge.a, anatomy)
    seen = judge.seen(piece, moved), judge.seen(piece, theirs)
    return Scene(judge, element, residual, piece, own, *seen, allowed)
