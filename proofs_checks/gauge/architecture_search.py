"""Drawn architectures against the formula: equal, named by a degenerate case, undecided, or a deviation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from symgauge import subject_of
from symgauge.architecture import Architecture
from symgauge.errors import Undecided
from symgauge.exact.dimension import dimension
from symgauge.exact.result import FibreDimension
from symgauge.strategies import arbitrary_architecture
from symgauge.symmetries import dimension as formula
from symgauge.symmetries.group import every_degenerate_case
from symgauge.symmetries.symbols import evaluate

Outcome = Literal["equal", "named, and larger", "named, and smaller", "named, though equal", "undecided", "deviates"]
ATTEMPTS = (0, 1)
"""Seeds of the point and the probes: a second one where the first does not decide."""
BEFORE_A_DEVIATION = range(1, 5)
"""More of them, before an architecture is said to deviate: units that are off, on or saturated at all inputs of a point
are free there, and at a general point they are not."""


def unreached(fibre: FibreDimension) -> list[str]:
    """Tensors that no probe's output depends on: an expert that is never chosen."""
    start, result = 0, []
    for name, count in fibre.names:
        if not any(bool(x[:, start : start + count].any()) for x in fibre.echelon.basis.parts()):
            result.append(name)
        start += count
    return result


@cache
def measured(a: Architecture) -> int | None:
    """The exact nullity at a point where units are on both sides and every expert is chosen; None if none is found.

    A rectified unit may be on at too few inputs to be seen whole: of two points the smaller nullity counts then.
    """
    found = (_at(a, seed) for seed in ATTEMPTS)
    decided = (nullity for nullity in found if nullity is not None)
    return min(decided, default=None) if a.activation in ("relu", "relu2") else next(decided, None)


def _at(a: Architecture, seed: int) -> int | None:
    subject = subject_of(a, seed=seed)
    try:
        fibre = dimension(subject.module, subject.inputs, seed=seed)
    except Undecided:
        return None
    return None if fibre.doubt or (a.experts is not None and unreached(fibre)) else fibre.nullity


def named(a: Architecture) -> list[str]:
    """The degenerate cases that sizes and parts decide; those that the point decides, `measured` has looked at."""
    return [case.reason for case in every_degenerate_case() if not case.of_point and case.met(a)]


@dataclass
class Search:
    """What a search came to. ``deviations``: replay line, architecture, exact nullity, formula."""

    counts: Counter[Outcome] = field(default_factory=Counter)
    deviations: list[str] = field(default_factory=list)


def known(a: Architecture) -> int:
    """What the known families add up to."""
    return evaluate(formula(a), a)


def search(seeds: Iterable[int], predicted: Callable[[Architecture], int] = known) -> Search:
    """Draw an architecture for each seed, measure it, and compare."""
    found = Search()
    for seed in seeds:
        a = arbitrary_architecture(seed)
        nullity, reasons = measured(a), named(a)
        if nullity is not None and nullity != predicted(a) and not reasons:
            nullity = min([nullity, *(n for n in (_at(a, more) for more in BEFORE_A_DEVIATION) if n is not None)])
        if nullity is None:
            found.counts["undecided"] += 1
        elif nullity == predicted(a):
            found.counts["named, though equal" if reasons else "equal"] += 1
        elif reasons:
            found.counts["named, and larger" if nullity > predicted(a) else "named, and smaller"] += 1
        else:
            found.counts["deviates"] += 1
            found.deviations.append(
                f"arbitrary_architecture({seed}) = {a!r}: nullity {nullity}, formula {predicted(a)}"
            )
    return found
