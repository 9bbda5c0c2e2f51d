"""Tensors of two checkpoints paired by name, and what is left of each."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.checkpoints.names import is_parameter
from symgauge.comparison.difference import StoredDifference
from symgauge.comparison.mistakes import diagnose
from symgauge.comparison.residuals import Residual, arithmetic, unmoved
from symgauge.comparison.rounding import SAFETY
from symgauge.comparison.stored_precision import precision_of
from symgauge.comparison.undescribed.side import Side
from symgauge.errors import InvalidInput


@dataclass(frozen=True)
class Paired:
    """Residuals of the tensors that both have in one shape, and sentences about those that they have not."""

    residuals: tuple[Residual, ...]
    apart: dict[str, str]
    """Name → which side lacks it, or the two shapes; B's order."""
    left_out: tuple[str, ...]
    """Buffers of older versions that only one has, and no function depends on."""

    @property
    def broken(self) -> list[Residual]:
        return [r for r in self.residuals if r.level == "unexplained"]

    @property
    def differing(self) -> str | None:
        """The first that differs by more than rounding, by its name."""
        return next((r.role for r in self.broken), next(iter(self.apart), None))


def pair(a: Side, b: Side) -> Paired:
    """Every tensor of one held against that of the other, read one at a time.

    Raises :class:`InvalidInput` where no name is common.
    """
    residuals, apart, left_out = [], {}, []
    for name in [*b.names, *(n for n in a.names if n not in b.names)]:
        if name in a.names and name in b.names:
            if a.shape(name) != b.shape(name):
                apart[name] = f"{name} has shape {a.shape(name)} in A and {b.shape(name)} in B"
            else:
                residuals.append(_residual(a, b, name))
            continue
        its, lacking = (a, "B") if name in a.names else (b, "A")
        if is_parameter(its.checkpoint, its.names[name]):
            apart[name] = f"{name} is missing in {lacking}"
        else:
            left_out.append(name)
    if not residuals and not (a.module is not None and b.module is not None):
        raise InvalidInput(
            f"{a.checkpoint.source} and {b.checkpoint.source} have no tensor of one name and shape, so nothing can be "
            "compared"
        )
    return Paired(tuple(residuals), apart, tuple(left_out))


def _residual(a: Side, b: Side, name: str) -> Residual:
    stored = [side.checkpoint.stored(side.names[name]) for side in (a, b)]
    tensor = b.names[name]
    if torch.equal(*stored) and stored[0].dtype == stored[1].dtype:
        return Residual(name, tensor, 0.0, 2.0**-53, 0.0, b.dtype(name), "exact")
    if not all(side.checkpoint[side.names[name]].is_floating for side in (a, b)):
        share = float((stored[0] != stored[1]).double().mean())
        return Residual(name, tensor, share, 2.0**-53, 0.0, b.dtype(name), "unexplained" if share else "exact")
    found = unmoved(name, a.read(name), b.read(name), a.dtype(name), b.dtype(name))
    return Residual(**{**vars(found), "tensor": tensor})


def reason(a: Side, b: Side, residual: Residual) -> str:
    """What is known of a tensor that differs: a mistake that needs no architecture, or only by how much."""
    allowed = max(residual.exact, residual.stored)
    difference = StoredDifference(residual, allowed, a.read(residual.role), b.read(residual.role))
    size = f"(differs by {residual.value:.2g} of its size, allowed {allowed:.2g})"
    return f"{diagnose(difference).reason} {size}"


def roundings(b: Side, paired: Paired) -> tuple[dict[str, float], dict[str, float]]:
    """Relative sizes by name of B's tensors, of rounding at the precision stored and at that of arithmetic."""
    known = {r.role: r for r in paired.residuals if r.value or r.stored}
    stored, exact = {}, {}
    for name in b.names:
        if not b.checkpoint[b.names[name]].is_floating:
            continue
        if name in known:
            exact[name], most = known[name].exact, known[name].stored
        else:
            tensor = b.read(name)
            precision = precision_of(tensor, b.dtype(name))
            exact[name], most = arithmetic(tensor, precision), SAFETY * precision.noise
        stored[name] = max(most, exact[name]) / SAFETY
        exact[name] /= SAFETY
    return stored, exact


def masks(a: Side, b: Side, paired: Paired) -> dict[str, Tensor | None]:
    """For each tensor that differs which of its numbers do, or None where only one side has it."""
    found: dict[str, Tensor | None] = dict.fromkeys(paired.apart)
    for r in paired.broken:
        mine, theirs = a.read(r.role), b.read(r.role)
        found[r.role] = (mine - theirs).abs() > r.exact * theirs.square().mean().sqrt()
    return found
