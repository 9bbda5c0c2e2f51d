"""The larger ansatz: a tensor takes in products of two others, X = L · C · R, each a parameter or computed from one.

L and R stand where the target's own modes are acted on alike (:mod:`symgauge.discovery.alike_modes`); what is left of
their modes is summed over with the unknown constants C. The target itself may be R, as in W ↦ W + (E⁻¹C)·W, and so may
what a map makes of it, as in W ↦ W + (E⁻¹C)·(O·W).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from symgauge.discovery.alike_modes import AlikeModes, Kept
from symgauge.discovery.ansatz import Block, Term
from symgauge.discovery.derived import Derived, inverses, reciprocals
from symgauge.discovery.extended import Computed
from symgauge.discovery.multiplied import Product, bases, chain, product

_ALL = 256
"""Unknown constants of one term."""
_ENTRIES = 4_096
"""Products of two tensors' entries that are written out."""


@dataclass(frozen=True)
class Ansatz:
    """Terms for some targets, and the tensors behind the parameters that they read."""

    factors: tuple[Block, ...]
    terms: tuple[Term, ...]
    derived: tuple[Computed, ...]

    @property
    def size(self) -> int:
        """How many unknowns there are."""
        return sum(term.size for term in self.terms)


def ansatze(targets: Sequence[Block], blocks: Sequence[Block], start: int, modes: AlikeModes) -> list[Ansatz]:
    """One for each factor, or two, with which the targets can take in products; that with the fewest unknowns first.

    ``blocks`` are all tensors, ``start`` is where the parameters end.
    """
    computed = [replace(each, start=start) for each in (*reciprocals(blocks, start), *inverses(blocks, start))]
    factors: list[Block] = [*computed, *blocks]
    each = itertools.chain(((one,) for one in factors), itertools.combinations(factors, 2))
    found = [_with_factors(some, targets, start, modes) for some in each]
    return sorted((a for a in found if a is not None), key=_plainness)


def _plainness(ansatz: Ansatz) -> tuple[int, int, int]:
    """Few factors first, of these such as are computed: others are most often parts of affine fields."""
    return len(ansatz.factors), sum(not isinstance(each, Derived) for each in ansatz.factors), ansatz.size


def _with_factors(factors: tuple[Block, ...], targets: Sequence[Block], start: int, modes: AlikeModes) -> Ansatz | None:
    """None where they bring nothing that fewer factors do not."""
    terms = [Term(target, None) for target in targets]
    terms += [term for target in targets for factor in factors for term in _taking_in(target, factor, modes)]
    with_target = [term for target in targets for factor in factors for term in _times_target(target, factor, modes)]
    of_both: list[Term] = []
    if len(factors) > 1:
        one, other = factors
        of_both = [
            term
            for target in targets
            for terms in (
                _of_both(target, factors, modes),
                _times_chain(target, one, other, modes),
                _times_chain(target, other, one, modes),
            )
            for term in terms
        ]
    if not (of_both if len(factors) > 1 else with_target):
        return None
    terms = list(dict.fromkeys([*terms, *with_target, *of_both]))
    placed: dict[Block | None, Block] = {}
    read = dict.fromkeys(term.source for term in terms if isinstance(term.source, Derived | Product))
    for each in read:
        placed[each] = replace(each, start=start)
        start += each.size
    terms = [replace(term, source=placed.get(term.source, term.source)) for term in terms]
    return Ansatz(factors, tuple(terms), tuple(placed.values()))  # type: ignore[arg-type]


def _taking_in(target: Block, factor: Block, modes: AlikeModes) -> Iterator[Term]:
    """Terms with one factor that keep as many modes as can be kept."""
    if factor == target:
        return
    for count in range(len(target.shape), 0, -1):
        found = [
            Term(target, factor, kept)
            for among in itertools.combinations(range(len(target.shape)), count)
            for kept in modes.matchings(target, factor, among)
        ]
        if found:
            yield from filter(_small, found)
            return


def _times_target(target: Block, factor: Block, modes: AlikeModes) -> Iterator[Term]:
    """A factor stands in place of some of the target's modes, and its constants sum over these."""
    if factor == target or (isinstance(factor, Derived) and target.name in factor.bases):
        return
    everyone, source = range(len(target.shape)), product(factor, target, 0)
    for kept in _some(everyone):
        rest = tuple((m, len(factor.shape) + m) for m in everyone if m not in kept)
        yield from filter(_small, (Term(target, source, (*by, *rest)) for by in modes.matchings(target, factor, kept)))


def _times_chain(target: Block, factor: Block, map_: Block, modes: AlikeModes) -> Iterator[Term]:
    """As a factor times the target, of which that mode is replaced over which a map is applied to it first."""
    if target in (factor, map_) or isinstance(map_, Derived) or target.name in bases(factor):
        return
    width = len(factor.shape) + len(map_.shape) - 1
    for mode in range(len(target.shape)):
        rest = [m for m in range(len(target.shape)) if m != mode]
        kept = tuple((m, width + k) for k, m in enumerate(rest))
        for over in modes.summed(map_, target, mode):
            source = product(factor, chain(map_, target, (over, mode)), 0)
            for by in modes.matchings(target, factor, [mode]):
                yield from filter(_small, [Term(target, source, (*by, *kept))])


def _of_both(target: Block, pair: tuple[Block, ...], modes: AlikeModes) -> Iterator[Term]:
    """Each of the target's modes comes from one of two factors; where all come from one, the other is linked to it.

    Modes on which nothing acts (inputs, outputs) may come from the constants.
    """
    if target in pair:
        return
    source = product(pair[0], pair[1], 0)
    for free in dict.fromkeys([(), modes.at_rest(target)]):
        everyone = tuple(m for m in range(len(target.shape)) if m not in free)
        for kept in dict.fromkeys([(), *_some(everyone), everyone]):
            rest = [m for m in everyone if m not in kept]
            for one in modes.matchings(target, pair[0], kept):
                for other in modes.matchings(target, pair[1], rest):
                    if not (one and other) and not _linked(pair, one, other, modes):
                        continue
                    term = Term(target, source, (*one, *((i, len(pair[0].shape) + j) for i, j in other)))
                    yield from filter(_small, [term])


def _linked(pair: tuple[Block, ...], one: Kept, other: Kept, modes: AlikeModes) -> bool:
    """Whether the factor that gives no mode is linked to what is summed over of that which gives all."""
    giving, idle, kept = (pair[1], pair[0], other) if other else (pair[0], pair[1], one)
    return modes.linked(idle, giving, sorted(set(range(len(giving.shape))) - {mode for _, mode in kept}))


def _some(modes: Sequence[int]) -> list[tuple[int, ...]]:
    """All choices of some of them, but not all; of all where there is one."""
    return [c for n in range(1, max(2, len(modes))) for c in itertools.combinations(modes, n)]


def _small(term: Term) -> bool:
    return term.size <= _ALL and term.source is not None and term.source.size <= _ENTRIES
