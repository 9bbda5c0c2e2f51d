"""The permutations and sign flips of parameter entries that keep a module's function at every θ, found and decided."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.primes import DEFAULT_PRIMES, check_primes
from symgauge.arithmetic.traced_value import Calculus
from symgauge.discovery.generators import Generator, LinkedViews
from symgauge.discovery.group_order import Connected, group_order
from symgauge.discovery.index_views import index_views, seen
from symgauge.discovery.permuted_indices import PermutedIndices
from symgauge.discovery.sameness import ExactValues, PlainValues
from symgauge.discovery.sign_flips import SignSpace, add_flips, tensor_flips
from symgauge.errors import Undecided
from symgauge.exact.agreement import check_agreement
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.parameter_function import Chosen, Counted, ParameterFunction
from symgauge.exact.point import random_point, with_rooted_embeddings
from symgauge.exact.probes import Inputs
from symgauge.threads import few_threads

_POINTS = 4
"""Points tried for one at which outputs are defined modulo every prime."""
_DIGITS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
Progress = Callable[[str], None]


@dataclass(frozen=True)
class DiscreteGroup:
    """A finite group of symmetries by its generators.

    ``order`` counts it modulo ``inside_continuous``: what the caller knows to be connected to the identity. A sign flip
    in the other component of a scaling group (−1 ∈ gl(1)) is a component of its own and does count.
    """

    generators: tuple[Generator, ...]
    inside_continuous: tuple[Generator, ...]
    """What a continuous symmetry already reaches: generators, or three-cycles where transpositions are another
    component (O(n))."""
    order: int
    factors: tuple[str, ...]
    """Such as ``S₄ on q.weight axis 0, …``."""
    families: tuple[LinkedViews, ...]
    failure_bound: float
    """Chance that one of the generators changes the function all the same: degree / p for each prime and generator."""
    primes: tuple[int, ...]
    seed: int
    tried: dict[str, int]
    """How many index views, float64 runs, exact decisions and negative controls there were."""
    notes: tuple[str, ...]
    seconds: float

    @property
    def description(self) -> str:
        return "; ".join(self.factors) or "no permutation or sign flip was found"


def discrete_group(
    module: nn.Module,
    inputs: Inputs,
    *,
    seed: int = 0,
    primes: Sequence[int] = DEFAULT_PRIMES,
    connected: Connected | None = None,
    parameters: Counted = "trained",
    outputs: Chosen = None,
    progress: Progress | None = None,
) -> DiscreteGroup:
    """Permutations of indices, and sign flips, that preserve the function of any module, with no description of it.

    Which modes of which tensors are permuted together is found in float64 (:mod:`symgauge.discovery.linkage`);
    every generator is then decided in exact arithmetic at one random θ, modulo each prime, on fresh inputs, and each
    tensor of it, put back alone, must change the function. What has no such form (a
    permutation of entries that is none of whole slices, a permutation with signs that is no product of both) is not
    looked for.

    Args:
        connected: says of a generator whether a continuous symmetry reaches it; by default none is.
        progress: told in words what is being done. The others: as for :func:`symgauge.dimension`.

    Raises:
        InvalidInput, UnsupportedOperation: as :func:`symgauge.dimension`.
        Undecided: no point was found at which outputs are defined in exact arithmetic.
    """
    began = time.perf_counter()
    primes = check_primes(primes)
    tell = progress or (lambda _: None)
    connected = connected or (lambda _: False)
    function = ParameterFunction(module, inputs, parameters, outputs)
    with few_threads(function.size):
        theta = random_point(function, seed)
        check_agreement(Evaluation(function, theta, Calculus(FiniteField(primes[0], seed))), seed)
        values = PlainValues(function, theta, seed + 1)
        theta, unseen = _seen_point(values, seed)
        operations = values.observed(theta)
        shapes = {name: p.shape for name, p in function.counted}
        views = seen(index_views(shapes, operations.cuts), unseen)
        tell("indices that are permuted together")
        search = PermutedIndices(values, theta, views, operations.choices)
        tell("sign flips")
        add_flips(search.found, theta, search.keeps)
        space = SignSpace()
        for flip in (flip for family in search.found for flip in family.all_flips()):
            space.add(flip.signs)
        whole = [flip for flip in tensor_flips(shapes, theta, search.keeps) if space.add(flip.signs)]
        tell("exact decisions")
        decided = _Decided(_exact(values, primes, seed, unseen), search)
        families = [family for family in map(decided.family, search.found) if family.permutations() or family.flips]
        whole = [flip for flip in whole if decided.holds(flip)]
    apart = [_apart(family, connected) for family in families]
    outside = [g for generators, _ in apart for g in generators] + [g for g in whole if not connected(g)]
    inside = [g for _, generators in apart for g in generators] + [g for g in whole if connected(g)]
    return DiscreteGroup(
        generators=tuple(outside),
        inside_continuous=tuple(inside),
        order=group_order(families, whole, connected),
        factors=(*(_said(family) for family in families), *(flip.name for flip in whole)),
        families=tuple(families),
        failure_bound=min(1.0, decided.count * decided.exact.failure_bound),
        primes=tuple(primes),
        seed=seed,
        tried={
            "views": sum(map(len, views.values())), "float64 runs": values.count,
            "exact decisions": decided.count, "controls": decided.controls,
        },
        notes=(*function.notes, *decided.notes),
        seconds=time.perf_counter() - began,
    )  # fmt: skip


class _Decided:
    """Generators as exact arithmetic and the negative controls leave them."""

    def __init__(self, exact: ExactValues, search: PermutedIndices) -> None:
        self.exact, self.search = exact, search
        self.count = self.controls = 0
        self.notes: list[str] = []

    def holds(self, generator: Generator) -> bool:
        """Whether the function stays, in exact arithmetic, and changes where one tensor is put back."""
        theta = self.search.theta
        controls = generator.controls(theta)
        self.controls += len(controls)
        if any(self.search.keeps(image) for image in controls):
            self.notes.append(f"left out, because a part of it does nothing: {generator.name}")
            return False
        self.count += 1
        if not self.exact.keeps(generator(self.exact.theta)):
            self.notes.append(f"holds in float64 and not in exact arithmetic, so it is left out: {generator.name}")
            return False
        return True

    def family(self, family: LinkedViews) -> LinkedViews:
        """The family with those classes of indices and flips that hold; a class that does not falls apart."""
        classes: list[list[int]] = []
        for members in family.classes:
            alone = dataclasses.replace(family, classes=[members])
            holds = all(self.holds(g) for g in alone.permutations())
            classes += [members] if holds else [[i] for i in members]
        flips = [flip for flip in family.flips if self.holds(family.flip(*flip))]
        return dataclasses.replace(family, classes=classes, flips=flips)


def _apart(family: LinkedViews, connected: Connected) -> tuple[list[Generator], list[Generator]]:
    """Generators of a family that are components of their own, and those that are connected to the identity."""
    outside: list[Generator] = []
    inside: list[Generator] = []
    for generator in (*family.permutations(), *(family.flip(*flip) for flip in family.flips)):
        (inside if connected(generator) else outside).append(generator)
    for members in family.classes:
        if len(members) > 2 and connected(three := family.cycle(members[:3])):
            inside.append(three)
            outside = [g for g in outside if g.name != family.cycle(members).name]
    return outside, inside


def _seen_point(values: PlainValues, seed: int) -> tuple[Tensor, Tensor]:
    """A random point, of a few that at which the outputs depend on the most entries, and those that they do not see.

    At some points a router never chooses an expert, of which nothing could be said there.
    """
    best = None
    for i in range(_POINTS):
        theta = random_point(values.function, seed + 7919 * i)
        unseen = values.unseen(theta)
        if best is None or len(unseen) < len(best[1]):
            best = theta, unseen
        if not len(unseen):
            break
    assert best is not None
    return best


def _exact(values: PlainValues, primes: Sequence[int], seed: int, unseen: Tensor) -> ExactValues:
    """Outputs at a fresh point, at which entries that the function does not see are 0.

    They may stay in place where all else is permuted: a key bias under softmax. A softmax inside the argument of
    another is told apart from the same one with all scores shifted, as relations of nested exponentials are unknown.
    """
    function = values.function
    for i in range(_POINTS):
        key = seed + 31 + 104729 * i
        theta = with_rooted_embeddings(function, _seen_point(values, key)[0], primes, key)
        theta[unseen] = 0
        exact = ExactValues(function, theta, primes, key)
        if exact.defined():
            return exact
    raise Undecided(
        f"no output of {function.name} is defined in exact arithmetic at {_POINTS} random points, so that no "
        "symmetry can be decided; pass another seed or shorter inputs"
    )


def _said(family: LinkedViews) -> str:
    """The factor in words."""
    names = [f"S{len(members)}".translate(_DIGITS) for members in family.classes if len(members) > 1]
    signs = len(family.all_flips())
    names += ["signs" if signs > 1 else "a sign"] if signs else []
    return f"{' × '.join(names)} on {family.said()}"
