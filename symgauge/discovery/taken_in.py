"""Symmetries by which parameters take in tensors computed from others: what affine fields leave unexplained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import Residues
from symgauge.discovery.ansatz import Block, Term, keeping_one
from symgauge.discovery.derived import Derived
from symgauge.discovery.extended import Computed, Extended
from symgauge.discovery.fields import Fields
from symgauge.discovery.lifting import lifted
from symgauge.discovery.moving import closed_at_points, moves_what_it_reads
from symgauge.discovery.points import Points
from symgauge.discovery.proving import proved
from symgauge.discovery.representatives import sparsest
from symgauge.discovery.solving import solve
from symgauge.discovery.structure import Constants, closed
from symgauge.discovery.translations import Modulo
from symgauge.exact.dimension import Progress
from symgauge.exact.rank import Echelon

_ALL = 256
"""Entries of a map that mixes all of two tensors."""


@dataclass(frozen=True)
class TakenIn:
    """Symmetries that affine ones do not span, on the space of (θ, derived tensors)."""

    derived: tuple[Computed, ...]
    fields: Fields
    trivial: Fields
    """Those of the ansatz that point along translations."""
    constants: Constants | None = field(repr=False)
    """Structure constants; None where brackets are no combinations of the fields with constant coefficients."""
    known: Echelon = field(repr=False)
    """What they span at the fibre's point, together with what was known before."""
    unknowns: int
    failure_bound: float
    moving: bool = False
    """Whether fields move what the derived tensors are computed from, so that these are no constants of the motion."""


def taken_in(
    derived: Sequence[Derived], targets: Sequence[Block], points: Points, translations: Fields, known: Echelon,
    most: int, progress: Progress | None,
) -> TakenIn | None:  # fmt: skip
    """What ``targets`` can do by constants and with these tensors; None if that is nothing beyond what is ``known``, or
    there are more than ``most`` unknowns.

    Tensors that the derived ones are computed from are no targets: the derived ones are constants of the motion.

    Raises :class:`Undecided` as searches for affine fields do.
    """
    bases = {each.base for each in derived}
    targets = [target for target in targets if target not in bases]
    more = [term for target in targets for each in derived for term in _terms(target, each)]
    terms = [*(Term(target, None) for target in targets), *more]
    return found_with(terms, derived, points, translations, known, most, progress) if more else None


def found_with(
    terms: Sequence[Term], derived: Sequence[Computed], points: Points, translations: Fields, known: Echelon,
    most: int, progress: Progress | None,
) -> TakenIn | None:  # fmt: skip
    """What fields of these terms do beyond what is ``known``; None if that is nothing, or there are too many unknowns.

    Raises :class:`Undecided` as searches for affine fields do.
    """
    if sum(term.size for term in terms) > most:
        return None
    there, prime = Extended(points, derived), points.primes[0]
    modulo = Modulo(Fields(there.size, translations.rows, translations.columns, translations.values))
    solutions = solve(terms, there, prime, progress)
    if not len(solutions.basis) or not _more(terms, solutions.basis, there, known):
        return None
    fields, trivial = lifted(terms, solutions.basis, there.size, prime, modulo)
    fields, known = _new(sparsest(fields, trivial), there, known)
    if not fields.count:
        return None
    moving = moves_what_it_reads(fields, [term.target for term in terms], derived)
    constants: Constants | None
    if moving:
        constants = closed_at_points(fields, there, modulo)
    else:
        fields, constants = closed(modulo.reduced(fields)[0], modulo)
    bound = proved(fields, there, there.used(prime))
    unknowns = sum(term.size for term in terms)
    return TakenIn(tuple(derived), fields, trivial, constants, known, unknowns, bound, moving)


def _terms(target: Block, source: Block) -> Iterator[Term]:
    """All maps of small tensors, and those that keep one mode of larger ones."""
    if target.size * source.size <= _ALL:
        yield Term(target, source)
    else:
        yield from keeping_one(target, source)


def _more(terms: Sequence[Term], solutions: Tensor, points: Extended, known: Echelon) -> bool:
    """Whether any solution (s, K) moves the fibre's point where nothing known does."""
    fibre, gf = points.fibre, known.field
    theta = points.extended(gf.lift(fibre.theta, exact=True).re, gf.p)
    moved, start = torch.zeros((len(solutions), fibre.parameters), dtype=torch.int64), 0
    for term in terms:
        maps = solutions[:, start : start + term.size].contiguous()
        moved = (moved + term.motion(maps, theta, fibre.parameters, gf)) % gf.p
        start += term.size
    return known.copy().add(Residues(moved)) > 0


def _new(fields: Fields, points: Extended, known: Echelon) -> tuple[Fields, Echelon]:
    """The fields that move the fibre's point where nothing known does, those with few terms first."""
    known, fibre = known.copy(), points.fibre
    p = known.field.p
    theta = points.extended(known.field.lift(fibre.theta, exact=True).re, p)
    moved = fields.at(theta, p)[:, : fibre.parameters]
    order = np.argsort((fields.values != 0).sum(1), kind="stable").tolist()
    keep = [i for i in order if known.add(Residues(moved[i : i + 1].contiguous()))]
    return fields.chosen(keep), known
