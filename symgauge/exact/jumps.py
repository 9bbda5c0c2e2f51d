"""Directions of the kernel that move where the function jumps.

A derivative does not see a jump. A kernel direction v is no symmetry if it moves where a threshold is crossed,
that is, unless the derivative of the threshold's distance along v vanishes wherever the distance does. Exactly that is
tested on samples: along a symmetry the derivative is the same multiple of the distance at every input (a rescaling), or
zero. A unit at which it is not counts against v.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from symgauge.arithmetic.finite_field import Residues, gathered
from symgauge.arithmetic.record import STEP, Jump, Record
from symgauge.exact.rank import Echelon


def jumping(record: Record, echelon: Echelon) -> tuple[int, tuple[str, ...]]:
    """(how many directions of the kernel move a jump, the sites they move)."""
    kernel = echelon.kernel()
    if not kernel.shape[0]:
        return 0, ()
    moved = Echelon(echelon.field, kernel.shape[0], echelon.pivots.device)
    sites = []
    for key, samples in record.jumps.items():
        if not record.sides[key].counts:
            continue
        before = moved.rank
        for unit in sorted({s.unit for s in samples}):
            rows = _moves([s for s in samples if s.unit == unit], kernel, echelon, key.operation == STEP)
            if rows is not None:
                moved.add(rows)
        if moved.rank > before:
            sites.append(f"{key.operation} in {key.module or 'the module'}")
    return moved.rank, tuple(sites)


def _moves(samples: Sequence[Jump], kernel: Residues, echelon: Echelon, step: bool) -> Residues | None:
    """Rows (…, nullity): what must vanish on a kernel vector that moves no jump of this unit."""
    field = echelon.field
    if len(samples) < 2 and not step:
        return None
    rows = gathered(torch.stack, [s.row for s in samples if s.row is not None])
    along = field.matmul(rows, kernel.map(lambda t: t.mT))  # (samples, nullity)
    if step:
        return along
    distance = gathered(torch.stack, [Residues(s.distance.re, s.distance.im) for s in samples]).map(
        lambda t: t[:, None].to(kernel.re.device)
    )
    # distance_i · along_j − distance_j · along_i vanishes for all i, j just when along is a multiple of it.
    first, rest = (along.map(lambda t, s=s: t[s]) for s in (slice(0, 1), slice(1, None)))  # type: ignore[misc]
    d_first, d_rest = (distance.map(lambda t, s=s: t[s]) for s in (slice(0, 1), slice(1, None)))  # type: ignore[misc]
    return field.sub(field.mul(rest, d_first), field.mul(first, d_rest))
