"""`discover`: the algebra of a module's symmetries, proved at its size, and how much of its fibre that is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from symgauge.accounting.fits import check_fibre
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.checks import check_choice, check_measuring
from symgauge.discovery.attempts import Attempt, attempts, best_attempt, bound_of, least_left, members, point_of
from symgauge.discovery.connected import ReachedBy
from symgauge.discovery.discrete import DiscreteGroup, discrete_group
from symgauge.discovery.extended import Computed, extension
from symgauge.discovery.flows import Flow, run
from symgauge.discovery.ideals import Ideal, ideals_of
from symgauge.errors import InvalidInput, Undecided
from symgauge.exact.dimension import Progress
from symgauge.exact.dimension import dimension as measure
from symgauge.exact.probes import Inputs
from symgauge.exact.rank import Echelon
from symgauge.exact.result import FibreDimension, Output
from symgauge.exact.supports import Supports, supports
from symgauge.measurement import witnessed
from symgauge.plain import prepare
from symgauge.private import private_copy
from symgauge.subjects import Subject, subject_of
from symgauge.subjects.target import Target
from symgauge.threads import few_threads


@dataclass(frozen=True)
class Discovery:
    """What :func:`discover` found. ``explained`` + ``unexplained`` is the fibre's dimension.

    Example:
        >>> import torch, symgauge
        >>> two = torch.nn.Sequential(torch.nn.Linear(3, 2, bias=False), torch.nn.Linear(2, 4, bias=False))
        >>> found = symgauge.discover(two, symgauge.Vectors(length=1, width=3))
        >>> [(ideal.algebra, ideal.action) for ideal in found.ideals], found.unexplained
        ([('gl(2)', '0.weight ↦ A ·; 1.weight ↦ · A⁻¹')], 0)
    """

    subject: Subject
    fibre: FibreDimension
    """Of the whole module."""
    attempt: Attempt = field(repr=False)
    """What explained the most: the slice, the ansatz, the fields and their structure constants."""
    whole: Attempt = field(repr=False)
    """What explained the most with nothing frozen."""
    tried: tuple[str, ...]
    """Every attempt, in words, with what it explained."""
    ideals: tuple[Ideal, ...]
    flows: tuple[Flow, ...]
    """The fields of all ideals, in their order, run on the module in float64."""
    rest: Supports
    """The tensors that the unexplained directions of the slice move, and the smallest sets that carry them."""
    discrete: DiscreteGroup | None
    """The permutations and signs of indices that keep the function; None if they were not asked for."""
    failure_bound: float
    """Bound on the chance that the nullity is too large or a field is no symmetry, by bad luck of random points."""
    seed: int
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def nullity(self) -> int:
        """The fibre's dimension."""
        return self.fibre.nullity

    @property
    def frozen(self) -> dict[str, int]:
        """Tensors that were held at plain values, each pure gauge → how many directions of the fibre that takes up."""
        return {name: count for name, count in self.fibre.names if name in self.attempt.frozen}

    @property
    def frozen_unmoved(self) -> int:
        """Directions of the frozen tensors that no affine symmetry of the whole module moves: they are gauge all the
        same, but what makes up for them is no affine function of the parameters."""
        columns: list[int] = []
        start = 0
        for name, count in self.fibre.names:
            columns += range(start, start + count) if name in self.attempt.frozen else ()
            start += count
        part = Echelon(self.whole.known.field, len(columns))
        part.add(self.whole.known.basis.map(lambda x: x[:, columns].contiguous()))
        return len(columns) - part.rank

    @property
    def algebra(self) -> int:
        """Dimension of the algebra of affine symmetries, on the slice."""
        return self.attempt.translations.count + self.attempt.fields.count

    @property
    def beyond_affine(self) -> int:
        """Dimension of the symmetries beyond them that take in tensors computed from others: 1/γ, W⁻¹, products."""
        return sum(more.fields.count for more in self.attempt.taken_in)

    @property
    def integrated(self) -> int:
        """Of these, how many move what they take in: their motions are no exponentials, and are integrated."""
        return sum(more.fields.count for more in self.attempt.taken_in if more.moving)

    @property
    def explained(self) -> int:
        """Directions of the fibre that frozen tensors and symmetries of the slice account for."""
        return self.nullity - self.unexplained

    @property
    def unexplained(self) -> int:
        """Directions of the fibre that no symmetry that was sought explains, on no slice that was tried."""
        return self.attempt.left

    @property
    def doubt(self) -> str:
        """Why what was found is not settled, in one sentence; empty if it is."""
        lost = [flow for flow in self.flows if not flow.holds]
        if lost and not self.fibre.doubt:
            return f"{len(lost)} of {len(self.flows)} symmetries did not keep the function, or not visibly, in float64"
        return self.fibre.doubt

    def __rich__(self) -> Any:
        from symgauge.printing.discovery import shown

        return shown(self)

    def __str__(self) -> str:
        from symgauge.printing.tables import as_text

        return as_text(self)

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON, without arrays."""
        rest = self.rest
        return {
            "parameters": self.fibre.parameters,
            "nullity": self.nullity,
            "frozen": self.frozen,
            "frozen_unmoved": self.frozen_unmoved,
            "algebra": self.algebra,
            "beyond_affine": self.beyond_affine,
            "integrated": self.integrated,
            "explained": self.explained,
            "unexplained": self.unexplained,
            "unexplained_tensors": {name: motion.can for name, motion in rest.unknown.items() if motion.can},
            "unexplained_sets": [found.as_dict() for found in rest.sets],
            "ideals": [ideal.as_dict() for ideal in self.ideals],
            "discrete_order": None if self.discrete is None else self.discrete.order,
            "discrete": None if self.discrete is None else list(self.discrete.factors),
            "tried": list(self.tried),
            "flows": {
                "run": len(self.flows),
                "kept": sum(flow.holds for flow in self.flows),
                "worst_ratio": max((flow.ratio for flow in self.flows), default=None),
                "weakest_control": min((flow.control for flow in self.flows), default=None),
            },
            "failure_bound": self.failure_bound,
            "primes": list(self.fibre.primes),
            "seed": self.seed,
            "points": self.attempt.points,
            "doubt": self.doubt,
            "notes": list(self.notes),
            "seconds": round(self.seconds, 3),
        }


def discover(
    target: Target,
    inputs: Inputs | None = None,
    *,
    seed: int = 0,
    primes: Sequence[int] = DEFAULT_PRIMES,
    output: Output = "logits",
    discrete: bool = True,
    rounds: int = 60,
    fibre: FibreDimension | None = None,
    progress: Progress | None = None,
) -> Discovery:
    """Find the continuous symmetries of a module that nobody described, and prove them at its size.

    A symmetry is sought among vector fields that are affine in the parameters and act on the modes of tensors
    (:mod:`symgauge.discovery.ansatz`). R(θ)X(θ) = 0 at random θ, R the Jacobian's rows, is linear in their
    coefficients; the solutions are lifted to ℚ, proved at fresh points modulo every prime, and run in float64. Where
    norms' gains are in the way, they are held at 1 (:mod:`symgauge.discovery.slices`). Where something is left, tensors
    may take in inverses (:mod:`symgauge.discovery.derived`), then products (:mod:`symgauge.discovery.products`).

    Args:
        target: whatever :func:`~symgauge.subjects.target.subject_of` takes.
        inputs: what to probe with, in place of the target's own.
        seed: of all that is random.
        primes: as for :func:`symgauge.dimension`.
        output: ``"probabilities"`` leaves a shift of all logits out.
        discrete: whether permutations and signs are looked for too.
        rounds: as for :func:`symgauge.dimension`.
        fibre: what :func:`symgauge.dimension` found at a random point, if it was measured before.
        progress: called with (stage, done, of all).

    Raises:
        InvalidInput, UnsupportedModel, UnsupportedOperation: as :func:`symgauge.dimension`.
        Undecided: the fibre's dimension is not settled, or a coefficient is too large to be trusted.

    Example:
        >>> import torch, symgauge
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        >>> found = symgauge.discover(net, symgauge.Vectors(length=1, width=2))
        >>> found.nullity, found.algebra, found.ideals[0].action, found.discrete.order
        (3, 3, '0.weight[0] ↦ t ·; 0.bias[0] ↦ t ·; 2.weight[:, 0] ↦ t⁻¹ ·', 6)
    """
    check_measuring(seed=seed, device="cpu", rounds=rounds, progress=progress)
    check_choice("output", output, ("logits", "probabilities"))
    began = time.perf_counter()
    subject = subject_of(target, inputs, seed=seed, parameters="unset")
    if fibre is None:
        fibre = measure(
            subject.module, subject.inputs, seed=seed, primes=primes, output=output, rounds=rounds, progress=progress
        )
    check_fibre(fibre, subject.module, output)
    if fibre.generic_rank is not None:
        raise InvalidInput("fibre was measured at the module's own point; symmetries are sought at random ones")
    if not fibre.rank_doubt and fibre.float_rank is None:
        # Symmetries found are a lower bound of the nullity; that it is no larger rests on the rank alone.
        fibre = witnessed(fibre)
    if fibre.rank_doubt:
        raise Undecided(fibre.rank_doubt)
    with few_threads(fibre.parameters):
        attempt, made = best_attempt(attempts(fibre, subject.module, subject.inputs, seed, progress))
        found = ideals_of(attempt)
        flows = _flows(attempt, found, subject.inputs, output, seed)
        rest = supports(attempt.fibre, members(attempt.fibre), attempt.known)
        group = _discrete(attempt, subject.inputs, fibre.primes, seed, progress) if discrete else None
    plain = least_left([each for each in made if not each.frozen])
    return Discovery(
        subject, fibre, attempt, plain, tuple(map(_in_words, made)), tuple(found), tuple(flows), rest, group,
        bound_of(attempt, fibre), seed, time.perf_counter() - began, (*subject.notes, *fibre.notes),
    )  # fmt: skip


def _flows(attempt: Attempt, found: Sequence[Ideal], inputs: Inputs, output: Output, seed: int) -> list[Flow]:
    """Every field of every ideal, run at the slice's point."""
    named = [(name, p.numel()) for name, p in attempt.module.named_parameters()]
    counted, places, start = dict(attempt.fibre.names), [], 0
    for name, size in named:
        if name in counted:
            places.append(torch.arange(start, start + size))
        start += size
    # The slice's θ is in the module's order.
    where: Tensor = torch.cat(places)
    module = private_copy(attempt.module)
    prepare(module, [name for name, _ in named], point_of(attempt))
    flows = []
    for ideal in found:
        behind = sum(each.size for each in ideal.derived)
        fields = ideal.fields.lifted_by(start + behind, torch.cat([where, torch.arange(start, start + behind)]))
        derived = partial(_behind, ideal.derived, where)
        flows += run(module, inputs, fields, output=output, seed=seed, derived=derived, moving=ideal.moving)
    return flows


def _behind(derived: Sequence[Computed], where: Tensor, theta: Tensor) -> Tensor:
    """Derived tensors at all of the module's parameters, of which the slice's are at ``where``."""
    return extension(derived, theta[where])


def _discrete(
    attempt: Attempt, inputs: Inputs, primes: Sequence[int], seed: int, progress: Progress | None
) -> DiscreteGroup:
    """The permutations and signs of the slice, modulo those that its algebra reaches."""
    if progress is not None:
        progress("permutations and signs", 0, 1)
    return discrete_group(
        attempt.module, inputs, seed=seed, primes=primes, outputs=attempt.fibre.function.outputs,
        connected=ReachedBy(attempt.fields, attempt.trivial),
    )  # fmt: skip


def _in_words(attempt: Attempt) -> str:
    held = f"with {', '.join(attempt.frozen)} held" if attempt.frozen else "with nothing held"
    return (
        f"{held}, {attempt.ansatz} ({attempt.unknowns:,} unknowns, {attempt.points} points): "
        f"{attempt.known.rank} of {attempt.fibre.nullity}"
    )
