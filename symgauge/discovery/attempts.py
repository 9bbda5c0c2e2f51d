"""One attempt to explain a fibre: a slice, an ansatz, and the algebra of symmetries found with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import nn

from symgauge.arithmetic.finite_field import Residues
from symgauge.discovery.alike_modes import AlikeModes
from symgauge.discovery.ansatz import Block, Term, absorptions, blocks_of, near_absorptions, own_actions, shears
from symgauge.discovery.derived import Derived, inverses, reciprocals
from symgauge.discovery.fields import Fields
from symgauge.discovery.lifting import lifted, translations
from symgauge.discovery.points import Points
from symgauge.discovery.products import ansatze
from symgauge.discovery.proving import proved
from symgauge.discovery.rational import pivots
from symgauge.discovery.representatives import sparsest
from symgauge.discovery.slices import held, is_offset, slices
from symgauge.discovery.solving import solve
from symgauge.discovery.structure import Constants, closed, independent, rescaled
from symgauge.discovery.taken_in import TakenIn, found_with, taken_in
from symgauge.discovery.translations import Modulo
from symgauge.discovery.unexplained_sets import lacking, unexplained_sets
from symgauge.errors import Undecided
from symgauge.exact.dimension import Progress, dimension
from symgauge.exact.probes import Inputs
from symgauge.exact.rank import Echelon
from symgauge.exact.result import FibreDimension
from symgauge.exact.supports import supports

_LARGEST = 2_500
"""Unknown coefficients up to which an ansatz is tried."""
_PRODUCTS = 20_000
"""Unknown coefficients of all ansätze with products of two tensors together."""
_MANY = 16
"""Tensors up to which all sets of three are looked at."""


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
    taken_in: tuple[TakenIn, ...] = ()
    """Symmetries that are not affine in the slice's parameters alone."""

    @property
    def left(self) -> int:
        """Directions of the slice's fibre that no field explains."""
        return self.fibre.nullity - self.known.rank


def attempts(
    whole: FibreDimension, module: nn.Module, inputs: Inputs, seed: int, progress: Progress | None
) -> Iterator[Attempt]:
    """From the cheapest: small ansätze on ever smaller slices, then large ones on the best of them.

    Large ones come last, and with nothing held only where there is nothing to hold: a gain can take in so much that the
    search is costly, and explains little. Where something is left, tensors take in what is computed from others; where
    something is left still, products of two.
    """
    slicer = _Slicer(whole, module, inputs, seed, progress)
    found: list[tuple[_Search, Attempt]] = []
    for frozen in slicer.slices():
        copy, fibre = slicer.made(frozen)
        search = _Search(frozen, copy, fibre, whole.primes, seed, progress)
        for attempt in search.small():
            yield attempt
        found.append((search, attempt))
    search, attempt = min(found[1:] or found, key=lambda pair: (pair[1].left, len(pair[1].frozen)))
    for stage in (search.with_reciprocals, search.large, search.with_inverses, search.with_products):
        for better in stage(attempt):
            yield (attempt := better)


class _Slicer:
    """Sets of vectors that can be held at plain values, with the fibre that is left."""

    def __init__(
        self, whole: FibreDimension, module: nn.Module, inputs: Inputs, seed: int, progress: Progress | None
    ) -> None:
        self.whole, self.module, self.inputs, self.seed, self.progress = whole, module, inputs, seed, progress
        self._made: dict[tuple[str, ...], tuple[nn.Module, FibreDimension] | None] = {(): (module, whole)}

    def slices(self) -> Iterator[tuple[str, ...]]:
        """Nothing, norms, all vectors: as many of these as can be held."""
        before: tuple[str, ...] = ()
        for wanted in slices(self.whole, self.module):
            frozen = self._largest(wanted, before)
            if not wanted or frozen != before:
                yield frozen
            before = frozen

    def _largest(self, wanted: tuple[str, ...], before: tuple[str, ...]) -> tuple[str, ...]:
        """All that are wanted, or those that can be held one after the other, factors before offsets."""
        if self._made_or_not(wanted):
            return wanted
        chosen = before
        rest = [name for name in wanted if name not in before]
        for names in ([n for n in rest if not is_offset(n)], *([n] for n in rest)):
            more = tuple(n for n in wanted if n in chosen or n in names)
            if more != chosen and self._made_or_not(more):
                chosen = more
        return chosen

    def made(self, frozen: tuple[str, ...]) -> tuple[nn.Module, FibreDimension]:
        """The module with these held, and its fibre."""
        found = self._made_or_not(frozen)
        assert found is not None
        return found

    def _made_or_not(self, frozen: tuple[str, ...]) -> tuple[nn.Module, FibreDimension] | None:
        """None where the orbits do not pass through the plain values: the fibre is then larger than it should be.

        One prime decides: a slice's nullity is never smaller than it should be, nor than it is modulo a prime.
        """
        if frozen not in self._made:
            whole = self.whole
            copy = held(self.module, frozen, [name for name, _ in whole.names])
            fibre = dimension(
                copy, self.inputs, seed=self.seed, primes=whole.primes[:1], output=whole.output,
                outputs=whole.function.outputs, progress=self.progress,
            )  # fmt: skip
            count = sum(size for name, size in whole.names if name in frozen)
            fits = not fibre.rank_doubt and fibre.nullity + count == whole.nullity
            self._made[frozen] = (copy, fibre) if fits else None
        return self._made[frozen]


def _any(targets: Sequence[Block], sources: Sequence[Block]) -> Iterator[Term]:
    yield from absorptions(targets, sources)
    yield from shears(targets, sources)


class _Search:
    """Attempts on one slice."""

    def __init__(
        self, frozen: tuple[str, ...], module: nn.Module, fibre: FibreDimension, primes: Sequence[int], seed: int,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        self.frozen, self.module, self.fibre, self.seed, self.progress = frozen, module, fibre, seed, progress
        self.blocks = blocks_of([(name, tuple(p.shape)) for name, p in fibre.function.counted])
        moving = [block for block in self.blocks if fibre.by_tensor[block.name]]
        self.points = Points(fibre, primes, seed)
        self.translations = translations(moving, self.points, fibre.primes[0], progress)
        self.modulo = Modulo(self.translations)
        self.moving = [block for block in moving if not self._idle(block)]
        """Tensors that take part in the kernel, and on which the function depends at all."""

    def _idle(self, block: Block) -> bool:
        """Whether the function depends on no entry of the tensor."""
        return self.modulo.inside(block) == block.size

    def small(self) -> Iterator[Attempt]:
        """Every tensor moves by itself and by constants; then vectors also take in tensors of their submodule."""
        first = self._solved("maps of one tensor", list(own_actions(self.moving)))
        yield first
        targets = self._unexplained(first)
        terms = [*own_actions(targets), *(near := list(near_absorptions(targets, self.blocks)))]
        if first.left and near:
            yield self._solved("and vectors that take in others of their submodule", terms, first)

    def large(self, before: Attempt) -> Iterator[Attempt]:
        """Tensors that take in others of any submodule: those that the unexplained directions move, then all."""
        targets = self._unexplained(before)
        done: set[frozenset[Term]] = set()
        for name, whose, kind in (
            ("vectors", targets, absorptions), ("tensors", targets, _any), ("tensors, anywhere,", self.moving, _any),
        ):  # fmt: skip
            terms = [*own_actions(whose), *kind(whose, self.blocks)]
            if sum(term.size for term in terms) <= _LARGEST and frozenset(terms) not in done:
                done.add(frozenset(terms))
                before = self._solved(f"and {name} that take in others", terms, before)
                yield before

    def with_reciprocals(self, before: Attempt) -> Iterator[Attempt]:
        """Tensors that take in one over a vector, such as what a gain that is no gauge is to its readers."""
        derived = tuple(reciprocals(self.blocks, self.fibre.parameters))
        alone = [(replace(each, start=self.fibre.parameters),) for each in derived]
        yield from self._taking_in("1/γ", [derived, *alone] if len(derived) > 1 else alone, before)

    def with_inverses(self, before: Attempt) -> Iterator[Attempt]:
        """Tensors that take in the inverse of a matrix."""
        yield from self._taking_in("W⁻¹", ([each] for each in inverses(self.blocks, self.fibre.parameters)), before)

    def _taking_in(self, what: str, each: Iterable[Sequence[Derived]], before: Attempt) -> Iterator[Attempt]:
        targets = self._unexplained(before)
        search = partial(taken_in, points=self.points, translations=self.translations, most=_LARGEST)
        for derived in each:
            try:
                found = search(derived, targets, known=before.known, progress=self.progress)
            except Undecided:  # what cannot be told here takes nothing from what is known
                continue
            if found is not None:
                before = _with(before, found, f"{before.ansatz} and {what}", found.unknowns)
                yield before
                targets = self._unexplained(before)

    def with_products(self, before: Attempt) -> Iterator[Attempt]:
        """Tensors that take in products of two others, for each set of tensors that moves in ways not explained."""
        modes = AlikeModes(before.fields, self.fibre.primes[0])
        search = partial(found_with, points=self.points, translations=self.translations, most=_LARGEST, progress=None)
        said, ways, unknowns, left_out = f"{before.ansatz} and products of two tensors", 0, 0, 0
        for names in unexplained_sets(before.fibre, before.known, members(before.fibre)):
            every = ansatze([b for b in self.moving if b.name in names], self.blocks, self.fibre.parameters, modes)
            for number, ansatz in enumerate(every):
                if not before.left or not lacking(names, before.fibre, before.known):
                    break
                if ansatz.size > _LARGEST or unknowns + ansatz.size > _PRODUCTS:
                    left_out += 1
                    continue
                ways, unknowns = ways + 1, unknowns + ansatz.size
                if self.progress is not None:
                    self.progress("products of two tensors", number, len(every))
                try:
                    found = search(ansatz.terms, ansatz.derived, known=before.known)
                except Undecided:
                    continue
                if found is not None:
                    before = _with(before, found, f"{said} in {ways:,} ways", unknowns)
                    yield before
        if before.left and ways + left_out:
            larger = f", {left_out:,} with more unknowns left out" if left_out else ""
            yield replace(before, ansatz=f"{said} in {ways:,} ways{larger}", unknowns=unknowns)

    def _unexplained(self, before: Attempt) -> list[Block]:
        """Tensors of the smallest sets that carry the unexplained directions; all, where these are not small."""
        found = supports(before.fibre, members(before.fibre), before.known)
        named = {name for group in found.sets for name in group.tensors}
        return self.moving if found.left else [block for block in self.moving if block.name in named]

    def _solved(self, ansatz: str, terms: Sequence[Term], before: Attempt | None = None) -> Attempt:
        """The algebra of all fields of these terms, and those found before."""
        fibre, first = self.fibre, self.fibre.primes[0]
        solutions = solve(terms, self.points, first, self.progress)
        fields, trivial = lifted(terms, solutions.basis, fibre.parameters, first, self.modulo)
        short = sparsest(fields, trivial)
        if before is not None:
            short = independent([*before.fields.matrices(), *short.matrices()], fibre.parameters)
            trivial = independent([*before.trivial.matrices(), *trivial.matrices()], fibre.parameters)
        reduced, factors = self.modulo.reduced(short)
        keep = pivots(reduced.values.T) if reduced.count else []
        fields, constants = closed(reduced.chosen(keep), self.modulo)
        if fields.count == len(keep):
            fields, constants = short.chosen(keep), rescaled(constants, [factors[k] for k in keep])
        # Otherwise brackets led to more symmetries, which is rare: all are read as they are told apart.
        used = self.points.used(first)
        bound = sum(proved(each, self.points, used) for each in (fields, self.translations))
        bound += sum(each.failure_bound for each in before.taken_in) if before is not None else 0
        known = Echelon(fibre.echelon.field, fibre.parameters) if before is None else before.known.copy()
        for each in (self.translations, fields):
            known.add(Residues(each.at(known.field.lift(fibre.theta, exact=True).re, known.field.p)))
        return Attempt(
            self.frozen, ansatz, sum(t.size for t in terms), self.module, fibre, tuple(self.blocks),
            self.translations, fields, trivial, constants, known, solutions.points, bound,
            () if before is None else before.taken_in,
        )  # fmt: skip


def _with(before: Attempt, found: TakenIn, ansatz: str, unknowns: int) -> Attempt:
    """An attempt and the symmetries that tensors have beyond it by what they take in."""
    return replace(
        before, ansatz=ansatz, unknowns=unknowns, known=found.known, taken_in=(*before.taken_in, found),
        failure_bound=before.failure_bound + found.failure_bound,
    )  # fmt: skip


def members(fibre: FibreDimension) -> int:
    """How large sets of tensors are sought that carry unexplained directions: there are many of three."""
    return 3 if sum(map(bool, fibre.by_tensor.values())) <= _MANY else 2


def best_attempt(found: Iterator[Attempt]) -> tuple[Attempt, list[Attempt]]:
    """The first that explains all, or the one that leaves the least; and all that were made."""
    made: list[Attempt] = []
    for attempt in found:
        made.append(attempt)
        if attempt.left == 0:
            return attempt, made
    return least_left(made), made


def least_left(made: Sequence[Attempt]) -> Attempt:
    """The attempt that leaves the least, of equal ones that with the least effort."""
    return min(made, key=lambda a: (a.left, len(a.frozen), a.unknowns))


def point_of(attempt: Attempt) -> torch.Tensor:
    """All parameters of the slice's module at the fibre's point, in its own order."""
    values = {}
    start = 0
    for name, count in attempt.fibre.names:
        values[name] = attempt.fibre.theta[start : start + count]
        start += count
    return torch.cat([values.get(name, p.detach().reshape(-1)) for name, p in attempt.module.named_parameters()])


def bound_of(attempt: Attempt, whole: FibreDimension) -> float:
    """The chance that the nullity is too large or a field is none: bounds of both. That of a slice follows."""
    return min(1.0, attempt.failure_bound + whole.failure_bound)
