"""Shifts that roles of different parts trade: a bias with another that is added beside it, a norm's offset with what
reads it and the next bias on the stream.

The families of symmetries know them all. They are tried on what no part of a model explains by itself: B is shifted to
where A's image is, site by site, and what is left is measured again.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symgauge.comparison.acting import moved_by
from symgauge.comparison.element import Element
from symgauge.comparison.pieces import Anatomy, Normal, normal
from symgauge.comparison.residuals import Judge, Residual
from symgauge.comparison.sides import Side
from symgauge.comparison.unembedding import is_unembedding
from symgauge.comparison.unfolding import unfolded
from symgauge.symmetries import families
from symgauge.symmetries.base import Site

_FAMILIES = (
    "layernorm-output-mean", "parallel-bias-shift", "norm-offset", "successive-bias-shift", "value-bias",
    "successive-value-bias-shift", "constant-value-shift",
)  # fmt: skip
"""Families that act by shifts, in the order in which their coordinates are found: what moves a weight comes first."""
_NOTHING = 1e-13
"""Coordinates that are rounding of float64."""
_LARGEST = 2048 * 2048
"""Entries up to which the map from coordinates to shifts is written down."""


@dataclass(frozen=True, eq=False)
class Trade:
    """One site of a family. ``roles`` are those it shifts; ``name`` is its part in an element."""

    name: str
    site: Site
    roles: tuple[str, ...]


class Image(Mapping[str, Tensor]):
    """A's image under an element as its model would store it, a piece at a time, but for tables and unembedding."""

    def __init__(self, side: Side, anatomy: Anatomy, element: Element) -> None:
        self._side, self._anatomy, self._element = side, anatomy, element
        self._owners = {role: piece for piece in anatomy.pieces if not is_unembedding(piece) for role in piece.roles}
        self._last: tuple[str, dict[str, Tensor]] = ("", {})

    def __getitem__(self, role: str) -> Tensor:
        piece = self._owners[role]
        if self._last[0] != piece.name:
            moved = moved_by(
                self._element, normal(self._side, piece, self._anatomy, centred=False), piece, self._side, self._anatomy
            )
            self._last = piece.name, unfolded(self._side, piece, moved, self._element)
        return self._last[1][role]

    def __iter__(self) -> Iterator[str]:
        return iter(self._owners)

    def __len__(self) -> int:
        return len(self._owners)


class _Read(Mapping[str, Tensor]):
    """The roles of a side as they are."""

    def __init__(self, side: Side) -> None:
        self._side = side

    def __getitem__(self, role: str) -> Tensor:
        return self._side.read(role)

    def __iter__(self) -> Iterator[str]:
        return iter(self._side.graph.shapes)

    def __len__(self) -> int:
        return len(self._side.graph.shapes)


def traded(judge: Judge, element: Element, residuals: list[Residual]) -> list[Residual]:
    """The residuals, those of roles that trade shifts measured after the shift; ``element`` notes its coordinates."""
    broken = {r.role for r in residuals if r.level == "unexplained"}
    found = list(residuals)
    for trades in _connected(list(_trades(judge.b, broken))) if broken else ():
        roles = {role for trade in trades for role in trade.roles}
        image = Image(judge.a, judge.anatomy, element)
        if broken & roles and roles <= {*image} and not any(trade.name in element.tensors for trade in trades):
            best = _unexplained(found)
            for alone in (False, True):
                coordinates, shifts = _fitted(trades, image, _Read(judge.b), judge.anatomy.centred, alone=alone)
                again = {r.role: r for r in _measured(judge, element, shifts)}
                left = [again.get(r.role, r) for r in found]
                if _unexplained(left) < best:
                    best, kept, chosen, moved = _unexplained(left), left, coordinates, shifts
            if best < _unexplained(found):
                found = kept
                named = zip((trade.name for trade in trades), chosen, strict=True)
                element.tensors.update({name: x for name, x in named if float(x.abs().max()) > _NOTHING})
                judge.shifts.update(moved)
    return found


def _unexplained(residuals: Sequence[Residual]) -> int:
    return sum(r.level == "unexplained" for r in residuals)


def shifts_of(side: Side, anatomy: Anatomy, element: Element) -> dict[str, Tensor]:
    """What an element's trades add to the roles of A's image, in the tensors that A's model stores."""
    if not any(is_trade(name) for name in element.tensors):
        return {}
    image: Mapping[str, Tensor] = Image(side, anatomy, element)
    named = [trade for trade in _trades(side, set(image)) if trade.name in element.tensors]
    now: ChainMap[str, Tensor] = ChainMap({}, image)  # type: ignore[arg-type]
    for trade in reversed(named):
        now.maps[0].update(trade.site.act(now, -element.tensors[trade.name]))
    shifts = {role: x - image[role] for role, x in now.maps[0].items()}
    # What a LayerNorm does not see of them is in the image already.
    return {role: x - x.mean(-1, keepdim=True) if role in anatomy.centred else x for role, x in shifts.items()}


def is_trade(name: str) -> bool:
    """Whether a part of an element holds the coordinates of a trade."""
    return name.rsplit(".", 1)[-1] in _FAMILIES


def trades_of(side: Side) -> dict[str, int]:
    """The names of all trades of a model, and how many coordinates each has."""
    return {trade.name: trade.site.coordinates for trade in _trades(side, set(side.graph.shapes))}


def _trades(side: Side, near: set[str]) -> Iterator[Trade]:
    """The trades of the layers in which the roles ``near`` are, and of those parts that are in none."""
    known = {family.name: family for family in families(side.architecture)}
    layers = {int(role.split(".")[1]) for role in near if role.startswith("layers.")}
    roles = _Read(side)
    for family in (known[name] for name in _FAMILIES if name in known):
        for site in family.sites(side.architecture, side.graph):
            if site.coordinates and (site.layer is None or site.layer in layers):
                moved = tuple(site.act(roles, torch.zeros(site.coordinates, dtype=torch.float64)))
                yield Trade(f"{moved[0]}.{family.name}", site, moved)


def _connected(trades: Sequence[Trade]) -> list[list[Trade]]:
    """Trades in the groups that share roles, each in the order given."""
    groups: list[list[Trade]] = []
    for trade in trades:
        joined = [group for group in groups if any(set(trade.roles) & set(other.roles) for other in group)]
        groups = [group for group in groups if not any(group is other for other in joined)]
        groups.append([*(other for group in joined for other in group), trade])
    return [sorted(group, key=trades.index) for group in groups]


def _fitted(
    trades: Sequence[Trade], image: Mapping[str, Tensor], theirs: Mapping[str, Tensor], centred: frozenset[str], *,
    alone: bool,
) -> tuple[list[Tensor], dict[str, Tensor]]:  # fmt: skip
    """Coordinates that bring B's roles nearest to A's image, and how they shift B's roles.

    Each trade is fitted on the roles that no later one shifts, or on the first of them ``alone``, so that a mistake in
    another does not spread; the mean of those that are ``centred`` is free.
    """
    now: ChainMap[str, Tensor] = ChainMap({}, theirs)  # type: ignore[arg-type]
    coordinates = []
    for number, trade in enumerate(trades):
        later = {role for other in trades[number + 1 :] for role in other.roles}
        own = [role for role in trade.roles if role not in later] or list(trade.roles)
        x = _nearest(trade.site, now, {role: image[role] for role in own[: 1 if alone else None]}, centred)
        now.maps[0].update(trade.site.act(now, x))
        coordinates.append(x)
    return coordinates, {role: x - theirs[role] for role, x in now.maps[0].items()}


def _nearest(site: Site, now: Mapping[str, Tensor], targets: Mapping[str, Tensor], centred: frozenset[str]) -> Tensor:
    """The coordinates (n,) with which a site's action, which is affine, brings roles nearest to ``targets``; each role
    is weighted by its size."""
    read = {role: now[role] for role in targets}
    sizes = {role: max(float(torch.linalg.vector_norm(x)), 1e-300) for role, x in targets.items()}

    def change(roles: Mapping[str, Tensor]) -> Tensor:
        changes = {role: (roles[role] - read[role]) / sizes[role] for role in targets}
        changes = {role: x - x.mean(-1, keepdim=True) if role in centred else x for role, x in changes.items()}
        return torch.cat([x.flatten() for x in changes.values()])

    def residues(x: Tensor) -> Tensor:
        return change(site.act(now, x))

    wanted = change(targets)
    zero = torch.zeros(site.coordinates, dtype=torch.float64)
    if site.coordinates * len(wanted) <= _LARGEST:
        matrix = torch.stack([residues(unit) for unit in torch.eye(site.coordinates, dtype=torch.float64)], 1)
        return torch.linalg.lstsq(matrix, wanted.unsqueeze(-1), driver="gelsd").solution.squeeze(-1)
    from scipy.sparse.linalg import LinearOperator, lsmr

    with torch.enable_grad():
        start = zero.requires_grad_()
        pulled = residues(start)

    def forward(v: Any) -> Any:
        return residues(torch.from_numpy(np.asarray(v, dtype=np.float64).ravel())).numpy()

    def backward(u: Any) -> Any:
        wrt = torch.from_numpy(np.asarray(u, dtype=np.float64).ravel())
        return torch.autograd.grad(pulled, start, wrt, retain_graph=True)[0].numpy()

    shape = (len(wanted), site.coordinates)
    operator = LinearOperator(shape, matvec=forward, rmatvec=backward, dtype=np.float64)
    return torch.from_numpy(lsmr(operator, wanted.numpy(), atol=1e-15, btol=1e-15)[0])


def _measured(judge: Judge, element: Element, shifts: Mapping[str, Tensor]) -> list[Residual]:
    """The residuals of all roles that are shifted, and of the constants that come of them in the normal form."""
    b = judge.b
    shifted = b.shifted(shifts)
    found = []
    for piece in judge.anatomy.pieces:
        own = {role for role in piece.roles if role in shifts}
        if own and not is_unembedding(piece):
            moved = moved_by(element, normal(judge.a, piece, judge.anatomy), piece, judge.a, judge.anatomy)
            theirs = _scaled(normal(shifted, piece, judge.anatomy), shifts, b)
            concerned = own | {role.replace(".weight", ".bias") for role in own}
            found += [r for r in judge.of_piece(piece, moved, theirs, {}) if r.role in concerned]
    return found


def _scaled(x: Normal, shifts: Mapping[str, Tensor], side: Side) -> Normal:
    """Rounding of a role that was shifted is that of what it was before."""
    scale = dict(x.scale)
    for role in shifts:
        if role in x.roles:
            scale[role] = max(scale.get(role, 0.0), float(torch.linalg.vector_norm(side.read(role))))
    return replace(x, scale=scale)
