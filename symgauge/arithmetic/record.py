"""What a run saw of the pieces that a function is made of: on which side of each threshold every unit was.

A *site* is one threshold in the code (a ReLU, a clamp, a comparison), named by its module, operation and turn. Where a
unit is on one side for every input, the rank is that of a piece of the function. Where a function *jumps* at a
threshold (comparisons, top-k), a derivative does not see how parameters move the jump.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import Residues
from symgauge.arithmetic.interface import Element, Watcher
from symgauge.arithmetic.places import current

if TYPE_CHECKING:
    from symgauge.arithmetic.tape import Node

STEP = "rounding"
"""The operation of sites that jump in many places, wherever their distance from 0 is."""
_UNITS, _SAMPLES = 32, 4
"""Jumps are looked at in so many units of a site, at so many inputs each."""


class Key(NamedTuple):
    """A site: the module whose forward is running, the operation, and which of its turns there it is."""

    module: str
    operation: str
    turn: int


@dataclass
class Sides:
    """For each entry but the batch axis, how many inputs had it above (below) the threshold."""

    above: Tensor
    below: Tensor
    first: Tensor
    """The distances of the first run."""
    moves: bool = False
    """Whether they depend on the input; a threshold of parameters alone is a piece of parameter
    space, not of inputs."""
    ordered: bool = False
    """Whether one side is the only one there can be (the distance between the last chosen and the first not chosen)."""
    guard: bool = False
    """Whether the bound looks as if it were there against division by zero or overflow only; above is the safe side."""

    @property
    def counts(self) -> bool:
        """Whether inputs may cross it: not a guard that no entry met."""
        return self.moves and (not self.guard or bool(self.below.any()))

    def stuck(self, fewer: int = 1) -> tuple[int, Tensor, Tensor]:
        """(axis, above, below): along the axis of which most are, units on that side at fewer places than that."""
        best: tuple[int, Tensor, Tensor] | None = None
        axes = [a for a, n in enumerate(self.above.shape) if n > 1] or list(range(self.above.dim()))[-1:] or [0]
        for axis in reversed(axes):
            above, below = (
                x.movedim(axis, 0).reshape(x.shape[axis], -1).sum(1) if x.dim() else x.reshape(1)
                for x in (self.above, self.below)
            )
            # A distance that was never finite (a running maximum from −∞) is no threshold.
            off, on = (above < fewer) & (below > 0), (below < fewer) & (above > 0)
            if best is None or int((off | on).sum()) > int((best[1] | best[2]).sum()):
                best = axis, off, on
        assert best is not None
        return best


@dataclass
class Jump:
    """A sample of a threshold that the function may jump at: its distance, and that by each parameter."""

    unit: int
    distance: Residues
    node: Node | None
    entry: int
    """Which entry of the node's value the distance is; both until the run is over."""
    row: Residues | None = None
    """(P,), once the run is over."""


@dataclass
class Record(Watcher):
    """What was seen of one evaluation; ``start`` before each run of the module."""

    sides: dict[Key, Sides] = field(default_factory=dict)
    jumps: dict[Key, list[Jump]] = field(default_factory=dict)
    branches: Counter[str] = field(default_factory=Counter)
    """Module → how often its Python code branched on a value that depends on parameters."""
    wanted: dict[Key, tuple[int, Tensor, Tensor]] | None = None
    """While inputs are sought that put stuck units on their other side: what :meth:`Sides.stuck` said of each site."""
    moving: bool = False
    """While a run only shows which thresholds depend on the input."""
    distinct: bool = False
    """While places at which all units of a site are the same (a first token, again and again) count once."""
    flips: Tensor | None = None
    """(batch,) inputs of the last run that put a wanted unit on its other side."""
    _turns: Counter[tuple[str, str]] = field(default_factory=Counter)
    batch: int = 1
    """Inputs of the present run."""
    widest: int = 0
    """Largest number of entries for each of them that a tensor had so far, for memory planning."""
    flats: dict[Key, Tensor] = field(default_factory=dict)
    """Which entries, the batch axis apart, a smooth function left constant at all inputs so far."""
    functions: set[str] = field(default_factory=set)
    """Functions so far whose values are hashes."""

    def start(self, batch: int, thresholds: bool = True) -> None:
        self._turns.clear()
        self.thresholds, self.batch = thresholds, max(1, batch)
        self.flips = None if self.wanted is None else torch.zeros(batch, dtype=torch.bool)

    def made(self, entries: int) -> None:
        self.widest = max(self.widest, entries // self.batch)

    def hashed(self, function: str) -> None:
        self.functions.add(function)

    def _key(self, operation: str) -> Key:
        self._turns[current(), operation] += 1
        return Key(current(), operation, self._turns[current(), operation])

    def side(self, operation: str, distance: Tensor, undefined: Tensor | None, guard: bool = False) -> None:
        """Note the sides of a threshold's ``distance`` (in float64; the batch on axis 0, alone or with positions)."""
        self._side(self._key(operation), distance, undefined, guard=guard)

    def _side(
        self, key: Key, distance: Tensor, undefined: Tensor | None, ordered: bool = False, guard: bool = False
    ) -> None:
        distance = distance.reshape(1) if distance.dim() == 0 else distance
        good = torch.isfinite(distance)
        if undefined is not None:
            good = good & ~undefined
        if self.distinct and distance.dim() > 1:
            places = distance.masked_fill(~good, torch.inf).reshape(-1, distance.shape[-1])
            distance = torch.unique(places, dim=0)
            good = torch.isfinite(distance)
        above, below = ((distance > 0) & good).cpu(), ((distance <= 0) & good).cpu()
        known = self.sides.get(key)
        if known is None:
            self.sides[key] = Sides(above.sum(0), below.sum(0), distance, ordered=ordered, guard=guard)
        else:
            known.moves |= known.first.shape != distance.shape or not torch.equal(known.first, distance)
            if self.moving:
                return
            known.above, known.below = (_merged(x, y.sum(0)) for x, y in ((known.above, above), (known.below, below)))
        if self.wanted is not None and self.flips is not None and key in self.wanted:
            axis, off, on = self.wanted[key]
            self.flips |= self._flipped(above, axis, off) | self._flipped(below, axis, on)

    def _flipped(self, there: Tensor, axis: int, stuck: Tensor) -> Tensor:
        """Which inputs of the batch have a stuck unit there."""
        nothing = torch.zeros(self.batch, dtype=torch.bool)
        if len(there) % self.batch or there.dim() < axis + 2 or there.shape[axis + 1] != len(stuck):
            return nothing
        units = there.movedim(axis + 1, -1)[..., stuck]
        return units.reshape(self.batch, -1).any(1)

    def flat(self, operation: str, there: Tensor) -> None:
        if not self.thresholds:
            return
        key, each = self._key(operation), there.reshape(1) if there.dim() == 0 else there
        always = each.all(0).cpu()
        known = self.flats.get(key)
        if known is not None:
            # Where shapes vary, as the numbers of routed tokens do, an operation is flat or it is not.
            always = known & always if known.shape == always.shape else known.all() & always.all()
        self.flats[key] = always

    @property
    def flat_units(self) -> int:
        """Entries at which smooth functions were constant for all inputs: masked, or saturated."""
        return sum(int(each.sum()) for each in self.flats.values())

    def jump(self, operation: str, distance: Element, ordered: bool = False, guard: bool = False) -> None:
        """Note a threshold that the function may jump at, with derivatives where the run has them."""
        key = self._key(operation)
        self._side(key, distance.reference, distance.undefined, ordered, guard)
        if distance.node is None or len(self.jumps.get(key, ())) >= _UNITS * _SAMPLES:
            return
        shape = distance.shape
        units = shape[-1] if shape else 1
        flat = torch.arange(max(distance.reference.numel(), 1)).reshape(-1, units)
        usable = torch.isfinite(distance.reference)
        if distance.undefined is not None:
            usable = usable & ~distance.undefined.expand(shape)
        usable = usable.reshape(-1, units).cpu()
        kept = self.jumps.setdefault(key, [])
        value = distance.value.map(lambda t: t.reshape(-1))
        for unit in range(min(units, _UNITS)):
            for entry in flat[usable[:, unit], unit][:_SAMPLES].tolist():
                kept.append(Jump(unit, value.map(lambda t, e=entry: t[e]), distance.node, entry))

    def without_rows(self) -> list[Jump]:
        """Samples of the run that was, whose derivatives are still to be taken."""
        return [jump for samples in self.jumps.values() for jump in samples if jump.row is None]


def _merged(known: Tensor, new: Tensor) -> Tensor:
    """Sums; where shapes vary, as the numbers of routed tokens do, by the last axis if that at least is the same."""
    if known.shape == new.shape:
        return known + new
    if known.dim() and new.dim() and known.shape[-1] == new.shape[-1]:
        return known.reshape(-1, known.shape[-1]).sum(0) + new.reshape(-1, new.shape[-1]).sum(0)
    return known.sum() + new.sum()


@dataclass(frozen=True)
class Piece:
    """A threshold at which some units were on one side for every probe."""

    module: str
    operation: str
    units: int
    never_above: tuple[int, ...]
    never_below: tuple[int, ...]

    def __str__(self) -> str:
        parts = [
            f"{len(stuck)} never {side}" for stuck, side in ((self.never_above, "above"), (self.never_below, "below"))
            if stuck
        ]  # fmt: skip
        return f"{self.operation} in {self.module or 'the module'}: of {self.units} units {' and '.join(parts)}"


def thresholds(record: Record) -> tuple[Piece, ...]:
    """The sites that inputs can cross, in the order of execution."""
    found = []
    for key, sides in record.sides.items():
        if sides.counts and not sides.ordered:
            _, off, on = sides.stuck()
            never = [tuple(torch.nonzero(x).flatten().tolist()) for x in (off, on)]
            found.append(Piece(key.module, key.operation, len(off), *never))
    return tuple(found)


def pieces(record: Record) -> tuple[Piece, ...]:
    """Those with units on one side."""
    return tuple(piece for piece in thresholds(record) if piece.never_above or piece.never_below)
