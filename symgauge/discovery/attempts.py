"""One attempt to explain a fibre: a slice, an ansatz, and the algebra of symmetries found with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import nn

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.discovery.ansatz import Block, Term, absorptions, blocks_of, near_absorptions, own_actions, shears
from symgauge.discovery.fields import Fields
from symgauge.discovery.lifting import lifted, translations
from symgauge.discovery.points import Points
from symgauge.discovery.representatives import sparsest
from symgauge.discovery.slices import held, slices
from symgauge.discovery.solving import solve
from symgauge.discovery.structure import Constants, closed, independent, pivots
from symgauge.discovery.translations import Modulo
from symgauge.errors import Undecided
from symgauge.exact.dimension import Progress, dimension
from symgauge.exact.probes import Inputs
from symgauge.exact.rank import Echelon
from symgauge.exact.result import FibreDimension
from symgauge.exact.supports import supports

_LARGEST = 8_000
"""Unknown coefficients up to which an ansatz is tried."""
_FRESH = 2
"""Points at which what was found is proved anew, for each prime."""


@dataclass(frozen=True)
class Attempt:
    """The affine symmetries of a module with the tensors ``frozen`` held, and how much of its fibre they are."""

    frozen: tuple[str, ...]
    ansatz: str
    unknowns: int
    module: nn.Module
    """On the slice: a copy in which the frozen tensors do not count."""
    fibre: FibreDimension
    """Of the slice."""
    blocks: tuple[Block, ...]
    """The slice's tensors, in its θ."""
    translations: Fields
    """Constant symmetries of the slice."""
    fields: Fields
    """Symmetries that are independent modulo those that point along translations."""
    trivial: Fields
    """Those of the ansatz that point along translations."""
    constants: Constants = field(repr=False)
    """Structure constants, modulo the same."""
    known: Echelon = field(repr=False)
    """What the fields span at the fibre's point."""
    points: int
    failure_bound: float

    @property
    def left(self) -> int:
        """Directions of the slice's fibre that no field explains."""
        return self.fibre.nullity - self.known.rank


def attempts(
    whole: FibreDimension, module: nn.Module, inputs: Inputs, seed: int, progress: Progress | None
) -> Iterator[Attempt]:
    """From the cheapest: maps of single tensors on ever smaller slices, then tensors that take in others.

    With nothing held these are only tried where there is nothing to hold: a gain can take in so much that the search
    is costly, and explains little.
    """
    names = [name for name, _ in whole.names]
    made: list[Attempt] = []
    for frozen in slices(whole, module):
        copy = held(module, frozen, names)
        fibre = whole
        if frozen:
            count = sum(size for name, size in whole.names if name in frozen)
            fibre = dimension(
                copy, inputs, seed=seed, primes=whole.primes, output=whole.output, outputs=whole.function.outputs,
                progress=progress,
            )  # fmt: skip
            if fibre.rank_doubt or fibre.nullity + count != whole.nullity:
                continue  # the orbits do not pass through these values
        search = _Search(frozen, copy, fibre, seed, progress)
        made.append(search.of_single_tensors())
        yield made[-1]
        if frozen:
            yield from search.beyond(made[-1])
    if len(made) == 1:
        yield from _Search((), made[0].module, whole, seed, progress).beyond(made[0])


def _any(targets: Sequence[Block], sources: Sequence[Block]) -> Iterator[Term]:
    yield from absorptions(targets, sources)
    yield from shears(targets, sources)


class _Search:
    """Attempts on one slice."""

    def __init__(
        self, frozen: tuple[str, ...], module: nn.Module, fibre: FibreDimension, seed: int, progress: Progress | None
    ) -> None:
        self.frozen, self.module, self.fibre, self.seed, self.progress = frozen, module, fibre, seed, progress
        self.blocks = blocks_of([(name, tuple(p.shape)) for name, p in fibre.function.counted])
        moving = [block for block in self.blocks if fibre.by_tensor[block.name]]
        self.points = Points(fibre, seed)
        self.translations = translations(moving, self.points, fibre.primes[0], progress)
        self.modulo = Modulo(self.translations)
        self.moving = [block for block in moving if not self._idle(block)]
        """Tensors that take part in the kernel, and on which the function depends at all."""

    def _idle(self, block: Block) -> bool:
        """Whether the function depends on no entry of the tensor."""
        return self.modulo.inside(block) == block.size

    def of_single_tensors(self) -> Attempt:
        """Every tensor that takes part in the kernel moves by itself and by constants."""
        return self._solved("maps of one tensor", list(own_actions(self.moving)))

    def beyond(self, before: Attempt) -> Iterator[Attempt]:
        """Tensors that take in others: those that the unexplained directions need, then all."""
        found = supports(before.fibre, known=before.known)
        named = {name for group in found.sets for name in group.tensors}
        few = [block for block in self.moving if block.name in named] if not found.left else self.moving
        wider = [
            ("and vectors that take in others of their submodule", few, near_absorptions),
            ("and vectors that take in others", few, absorptions),
            ("and vectors that take in others, anywhere", self.moving, absorptions),
            ("and tensors that take in others", few, _any),
            ("and tensors that take in others, anywhere", self.moving, _any),
        ]  # fmt: skip
        done: set[frozenset[Term]] = set()
        for name, targets, kind in wider:
            terms = [*own_actions(targets), *kind(targets, self.blocks)]
            if sum(term.size for term in terms) <= _LARGEST and frozenset(terms) not in done:
                done.add(frozenset(terms))
                before = self._solved(name, terms, before)
                yield before

    def _solved(self, ansatz: str, terms: Sequence[Term], before: Attempt | None = None) -> Attempt:
        """The algebra of all fields of these terms, and those found before."""
        fibre, first = self.fibre, self.fibre.primes[0]
        solutions = solve(terms, self.points, first, self.progress)
        fields, trivial = lifted(terms, solutions.basis, fibre.parameters, first, self.modulo)
        short = sparsest(fields, trivial)
        if before is not None:
            short = independent([*before.fields.matrices(), *short.matrices()], fibre.parameters)
        reduced = self.modulo.reduced(short)
        keep = pivots(reduced.values.T) if reduced.count else []
        whole, constants = closed(reduced.chosen(keep), self.modulo)
        # Brackets that lead to more symmetries are rare; they are read as they come then.
        fields = short.chosen(keep) if whole.count == len(keep) else whole
        bound = sum(_proved(each, self.points, solutions.points) for each in (fields, self.translations))
        known = Echelon(fibre.echelon.field, fibre.parameters)
        for each in (self.translations, fields):
            known.add(Residues(each.at(known.field.lift(fibre.theta, exact=True).re, known.field.p)))
        return Attempt(
            self.frozen, ansatz, sum(t.size for t in terms), self.module, fibre, tuple(self.blocks),
            self.translations, fields, trivial, constants, known, solutions.points, bound,
        )  # fmt: skip


def _proved(fields: Fields, points: Points, used: int) -> float:
    """Check R(θ)X(θ) = 0 at fresh points for every prime; the chance that one that is none passes them all.

    Raises:
        Undecided: it fails, so that the lift from the first prime was wrong.
    """
    bound, degree = 1.0, 0
    for prime in points.fibre.primes:
        field_ = FiniteField(prime)
        for number in range(used, used + _FRESH):
            point = points.point(number, prime)
            vectors = fields.at(point.theta, prime).mT.contiguous()
            if fields.count and bool(field_.matmul(Residues(point.rows), Residues(vectors)).re.any()):
                raise Undecided(
                    f"what was found modulo {points.fibre.primes[0]} is no symmetry modulo {prime}; pass another seed"
                )
            degree = point.degree + 1
            bound *= min(1.0, degree / prime)
    return min(1.0, fields.count * bound) if fields.count else 0.0


def best_attempt(found: Iterator[Attempt]) -> tuple[Attempt, list[Attempt]]:
    """The first that explains all, or the one that explains the most; and all that were made."""
    made: list[Attempt] = []
    for attempt in found:
        made.append(attempt)
        if attempt.left == 0:
            return attempt, made
    return min(made, key=lambda a: (a.left, len(a.frozen), a.unknowns)), made


def point_of(attempt: Attempt) -> torch.Tensor:
    """All parameters of the slice's module at the fibre's point, in its own order."""
    values = {}
    start = 0
    for name, count in attempt.fibre.names:
        values[name] = attempt.fibre.theta[start : start + count]
        start += count
    return torch.cat([values.get(name, p.detach().reshape(-1)) for name, p in attempt.module.named_parameters()])


def bound_of(attempt: Attempt, whole: FibreDimension) -> float:
    """The chance that the nullity is too large or a field is none: bounds of both."""
    return min(1.0, attempt.failure_bound + max(whole.failure_bound, attempt.fibre.failure_bound))
