"""Sets of tensors that move, all others at rest, in ways that no known symmetry explains: where more is sought."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from symgauge.arithmetic.finite_field import Residues
from symgauge.exact.rank import Echelon
from symgauge.exact.result import FibreDimension
from symgauge.exact.supports import supports


def unexplained_sets(fibre: FibreDimension, known: Echelon, at_most: int) -> list[tuple[str, ...]]:
    """All sets of at most so many tensors; where these do not carry everything, larger ones of which no part would do.

    Of the latter one is found for each order in which tensors are let rest, one after the other, as long as something
    unexplained is left: what comes late in a module makes up for what comes early, and the other way round.
    """
    small = supports(fibre, at_most, known)
    found = [each.tensors for each in small.sets]
    if not small.left:
        return found
    kernel, spanned = fibre.kernel(), known.copy()
    names = [name for name, _ in fibre.names if fibre.by_tensor[name]]
    for members in found:
        spanned.add(_resting(fibre, kernel, [name for name in names if name not in members]))
    sizes = dict(fibre.names)
    largest = sorted(names, key=lambda name: -sizes[name])
    larger = dict.fromkeys(_least(fibre, kernel, order, spanned) for order in (largest, names[::-1], names))
    return [*found, *larger]


def lacking(names: Sequence[str], fibre: FibreDimension, known: Echelon) -> bool:
    """Whether these tensors move, all others at rest, in ways that are not known."""
    rest = _resting(fibre, fibre.kernel(), [name for name, _ in fibre.names if name not in names])
    return not bool(known.contains(rest).all())


def _least(fibre: FibreDimension, kernel: Residues, order: Sequence[str], spanned: Echelon) -> tuple[str, ...]:
    """The tensors that are left when each in this order rests that can."""
    members = list(order)
    for name in order:
        rest = _resting(fibre, kernel, [name])
        if not bool(spanned.contains(rest).all()):
            kernel = rest
            members.remove(name)
    return tuple(name for name, _ in fibre.names if name in members)


def _resting(fibre: FibreDimension, vectors: Residues, names: Sequence[str]) -> Residues:
    """A basis of the combinations of independent vectors (n, P) that leave these tensors alone."""
    columns, start = [torch.zeros(0, dtype=torch.int64)], 0
    for name, count in fibre.names:
        columns += [torch.arange(start, start + count)] if name in names else []
        start += count
    moved = Echelon(fibre.echelon.field, vectors.shape[0])
    moved.add(vectors.map(lambda x: x[:, torch.cat(columns)].mT.contiguous()))
    return fibre.echelon.field.matmul(moved.kernel(), vectors)
