"""What is left of each tensor's difference once the element found has acted, against what rounding may leave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from symgauge.checkpoints.rows import Rows
from symgauge.comparison.element import Element
from symgauge.comparison.heads import attention_of, into_roles
from symgauge.comparison.latents import made_through
from symgauge.comparison.pieces import Anatomy, Normal, Piece, softmax_routers
from symgauge.comparison.rounding import SAFETY, looks_like_rounding, stands_out
from symgauge.comparison.sides import Side
from symgauge.comparison.stored_precision import Precision, precision_of
from symgauge.model_graph import Attention, LatentAttention

Level = Literal["exact", "stored", "unexplained"]
_A_FEW = 16.0
"""Unit roundoffs that are left by folding a factor into a tensor and out again, or mixing a head and mixing it back."""
MOST = 0.5
"""No rounding, however coarse, is held to leave less than half of a tensor."""


@dataclass(frozen=True)
class Residual:
    """‖moved A − B‖ / ‖B‖ of one role, and what it may be.

    ``exact`` is allowed for arithmetic as fine as the storage (float32 at the coarsest), ``stored`` for a storage
    coarser than that. ``level`` says within which of the two it lies. ``inherited`` is what the rounding of A may leave
    where A was rounded and B is what it was rounded from; the rounding of an A that B was made of leaves nothing.
    """

    role: str
    tensor: str
    value: float
    exact: float
    stored: float
    precision: str
    level: Level
    inherited: float = 0.0
    of_product: bool = False
    """Whether some of its heads were compared by the product of two factors alone."""
    of_sum: bool = False
    """Whether its neurons were compared by what those that react alike add together, and idle ones not at all."""

    def as_dict(self) -> dict[str, object]:
        """Plain data."""
        return {"tensor": self.tensor, "residual": self.value, "allowed": max(self.exact, self.stored),
                "precision": self.precision, "level": self.level}  # fmt: skip


class Judge:
    """Measures residuals, with the precision of every stored tensor looked up once."""

    def __init__(self, a: Side, b: Side, anatomy: Anatomy) -> None:
        self.a, self.b, self.anatomy = a, b, anatomy
        self._known: dict[tuple[int, str], Precision] = {}
        self._rounded: set[str] = set()
        """Roles whose residual is the rounding of A."""
        self.shifts: dict[str, Tensor] = {}
        """What trades of the element shift in B, so that it is held against A's image without them."""
        for side in (a, b):
            side.model.roles.watch = partial(self._note, side)

    @property
    def untraded(self) -> Side:
        """B without what roles of it have traded."""
        return self.b.shifted(self.shifts) if self.shifts else self.b

    def _note(self, side: Side, parameter: str, tensor: Tensor) -> None:
        key = (id(side), parameter)
        if key not in self._known:
            dtype = side.model.checkpoint.dtype(side.model.stored[parameter])
            self._known[key] = precision_of(tensor, dtype)

    def precision(self, side: Side, role: str) -> Precision | None:
        """What a role is stored in; None for biases that a side has not."""
        source = side.source(role)
        if source is None:
            return None
        key = (id(side), side.model.parameter_of(source))
        if key not in self._known:
            rows = side.model.rows(source) if len(side.graph.shapes.get(role, ())) == 2 else None
            if rows is None:
                side.read(role)
            else:
                self._known[key] = precision_of(rows.settled(), side.dtype(role))
        return self._known[key]

    def allowed(
        self, role: str, length: int, made_of: tuple[str, ...] = (), own: bool = False
    ) -> tuple[float, tuple[tuple[float, str], ...]]:
        """What arithmetic may leave, and what storage may: (allowed, precision) for B's alone, then with A's.

        With ``own`` the rounding of A counts in ``made_of`` only where it was seen in the role itself.
        """
        unit, name, squares = 0.0, "float64", [0.0, 0.0]
        tiers = []
        for r in (role, *made_of):
            both = [self.precision(side, r) for side in (self.b, self.a)]
            of_b, of_a = (p.noise if p is not None and p.low else 0.0 for p in both)
            counts = not own or r == role or r in self._rounded
            squares = [squares[0] + of_b**2, squares[1] + max(of_b, of_a if counts else 0.0) ** 2]
            unit = max([unit, *(p.unit for p in both if p is not None)])
        for square, sides in zip(squares, ((self.b,), (self.b, self.a)), strict=True):
            names = [p for s in sides for r in (role, *made_of) if (p := self.precision(s, r)) is not None]
            name = max(names, key=lambda p: p.noise).name if names else name
            tiers.append((SAFETY * square**0.5, name))
        return SAFETY * (unit or 2.0**-47) * max(length, 4) ** 0.5, tuple(tiers)

    def close(self, role: str, length: int, rounded_a: bool) -> float:
        """The largest residual that rounding of B may leave, or of both."""
        exact, tiers = self.allowed(role, length)
        return max(exact, tiers[rounded_a][0])

    def residual(
        self, role: str, moved: Tensor | Rows, target: Tensor | Rows, scale: float = 0.0, made_of: tuple[str, ...] = (),
        amplified: float = 1.0,
    ) -> Residual:  # fmt: skip
        """The residual of one role; ``made_of`` are further roles whose rounding enters."""
        ours, theirs = Rows.of(moved), Rows.of(target)
        difference = moved - target if isinstance(moved, Tensor) and isinstance(target, Tensor) else ours.minus(theirs)
        size = max(theirs.norm(), scale) or ours.norm() or 1.0
        value = Rows.of(difference).norm() / size
        exact, tiers = self.allowed(role, _length(target), made_of, own=target.dim() == 1)
        exact, stored, inherited = (min(amplified * x, MOST) for x in (exact, *(x for x, _ in tiers)))
        # A that was rounded differs from its origin by all of its rounding; smaller differences have another cause.
        least = inherited / SAFETY**2 if target.dim() > 1 else 0.0
        level: Level = "unexplained"
        if value <= exact and not stands_out(difference, target, exact, size / target.numel() ** 0.5):
            level = "exact"
        elif value <= max(stored, inherited) and looks_like_rounding(difference):
            level = "stored" if value <= stored or value >= least else "unexplained"
        from_a = level == "stored" and value > stored
        (self._rounded.add if from_a else self._rounded.discard)(role)
        precision = tiers[from_a][1]
        return Residual(
            role, self.b.name(role), value, exact, inherited if from_a else stored, precision, level, inherited
        )

    def alone(self, name: str, mine: Tensor, theirs: Tensor) -> Residual:
        """The residual of a tensor that no element moves."""
        return unmoved(name, mine, theirs, *(s.model.checkpoint.dtype(name) for s in (self.a, self.b)))

    def of_piece(self, piece: Piece, moved: Normal, target: Normal, amplified: dict[str, float]) -> list[Residual]:
        """The residuals of a piece, in the order in which a token meets its tensors."""
        moved, target = self.seen(piece, moved), self.seen(piece, target)
        through = () if piece.norm is None else tuple(r for r in (piece.norm.gain, piece.norm.offset) if r is not None)
        readers = {m.weight for m in piece.readers}
        order = [role for role in piece.roles if role in target.roles]
        order += [role for role in target.roles if role not in order]
        latents = {k: v for s in piece.sublayers if isinstance(s, LatentAttention) for k, v in made_through(s).items()}
        found = []
        for role in order:
            elsewhere = role in readers or role not in self.b.graph.shapes
            made_of = latents.get(role, through if elsewhere else ())
            if role.endswith(".bias"):
                weight = role.replace(".bias", ".weight")
                made_of = (weight, *through) if weight in readers else (weight,)
                if ".attention.output." in role:
                    made_of = (
                        *made_of,
                        role.replace("output", "value"),
                        role.replace("output.bias", "value.weight"),
                        *through,
                    )
            scale = max(moved.scale.get(role, 0.0), target.scale.get(role, 0.0))
            found.append(
                self.residual(role, moved.roles[role], target.roles[role], scale, made_of, amplified.get(role, 1.0))
            )
        return found

    def seen(self, piece: Piece, x: Normal) -> Normal:
        """A piece without what its function does not depend on: free biases, a common shift of a softmax router."""
        roles, scale = dict(x.roles), dict(x.scale)
        for s in piece.sublayers:
            if isinstance(s, Attention):
                p = attention_of(roles, s, self.b.architecture)
                if p.value_bias is not None and p.output_bias is not None and s.output.bias is not None:
                    written = p.value_bias.abs().unsqueeze(-2) @ p.replace(output=p.output.abs()).grouped_output()
                    scale[s.output.bias] = float(p.output_bias.norm() + written.norm())
                roles |= into_roles(p.without_free_biases(), s)
        for role in softmax_routers(self.b, piece):
            roles[role] = roles[role] - roles[role].mean(-1, keepdim=True)
        return Normal(roles, scale)

    def untouched(self, residuals: list[Residual], element: Element) -> tuple[list[Residual], frozenset[str]]:
        """Where most tensors are the same to the last bit, the others were not computed anew all together: of those
        that ``element`` does not move no more is rounding than a few products leave, whatever their length. The
        residuals so judged, and the roles that are the same."""
        same = frozenset(r.role for r in residuals if r.value == 0 and not (r.of_product or r.of_sum))
        if len(same) <= len(residuals) / 2:
            return residuals, frozenset()
        found = []
        for r in residuals:
            # What is summed from several tensors (a constant that no bias stands for) has the rounding of each.
            alone = r.role in self.b.graph.shapes and r.role not in self.shifts and not element.moves(r.role)
            units = [p.unit for side in (self.a, self.b) if alone and (p := self.precision(side, r.role)) is not None]
            exact = min(r.exact, _A_FEW * max(units)) if units else r.exact
            far = r.level == "exact" and r.value > exact
            found.append(replace(r, exact=exact, level="unexplained" if far else r.level))
        return found, same


def _length(x: Tensor | Rows) -> int:
    """Terms of the sums that made a tensor."""
    return max(x.shape[-2:]) if x.dim() > 1 else x.numel()


def unmoved(name: str, mine: Tensor, theirs: Tensor, *dtypes: str) -> Residual:
    """The residual of a tensor of one name in both, stored in these dtypes, that should be the same."""
    both = [precision_of(x, dtype) for x, dtype in zip((mine, theirs), dtypes, strict=True)]
    exact = arithmetic(theirs, *both)
    stored = min(SAFETY * max((p.noise for p in both if p.low), default=0.0), MOST)
    difference = mine - theirs
    size = float(torch.linalg.vector_norm(theirs)) or float(torch.linalg.vector_norm(mine)) or 1.0
    value = float(torch.linalg.vector_norm(difference)) / size
    level: Level = "unexplained"
    if value <= exact and not stands_out(difference, theirs, exact):
        level = "exact"
    elif value <= stored and looks_like_rounding(difference):
        level = "stored"
    return Residual(name, name, value, exact, stored, max(both, key=lambda p: p.noise).name, level)


def arithmetic(tensor: Tensor, *precisions: Precision) -> float:
    """What arithmetic as fine as the storage may leave of a tensor."""
    return SAFETY * max(p.unit for p in precisions) * max(_length(tensor), 4) ** 0.5
