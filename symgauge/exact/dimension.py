"""The exact dimension of a module's function-preserving fibre: P − generic rank of its Jacobian."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.arithmetic.primes import DEFAULT_PRIMES, check_primes
from symgauge.arithmetic.record import STEP, pieces, thresholds
from symgauge.arithmetic.traced_value import Calculus
from symgauge.errors import InvalidInput
from symgauge.exact.acceptance import Acceptance
from symgauge.exact.agreement import check_agreement
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.jacobian import JacobianRows
from symgauge.exact.jumps import jumping
from symgauge.exact.parameter_function import Chosen, Counted, ParameterFunction
from symgauge.exact.point import fit_size, random_point, with_rooted_embeddings
from symgauge.exact.probes import Inputs, Tokens
from symgauge.exact.rank import Echelon
from symgauge.exact.result import FibreDimension, Output, PointRank
from symgauge.threads import few_threads

_EXTRA = 12
"""Rows beyond the rank that must bring nothing new before the rank counts as saturated."""

_AT_FIRST = 1.3
"""Rows of the first batch, for each parameter."""
_FURTHER = 0.4
"""Size of a further batch that must bring nothing new, in what was used before."""
_FURTHER_OF_FEW = 1.0
"""The same where usable inputs are few: what is rarely seen (a row for a pair of tokens) is missed more easily."""
_SPARE = 128
"""Positions in a further batch at least, where there are many: to look at them costs next to nothing."""

Progress = Callable[[str, int, int], None]
"""Called as (stage, rank so far, parameters)."""


_POINTS = 5
"""Points to choose from, where units of a piecewise function are rarely on one side."""
_CROSSINGS = 8
"""Times that inputs are sought which put such units on that side."""
_WATCHED = 192
"""Inputs by which points are compared."""
_OFTEN = 24
"""A unit's own parameters are seen where it is on: at so many places they are, for all but the widest layers."""
_SEEDS = 2**61
"""Seeds are taken modulo this, so that those that follow from one fit 64 bits too."""
_SCALES = (1.0, 8.0, 64.0)
"""Sizes in which vectors are tried when units on one side are to be crossed."""


class _Search:
    """The growing rank at one prime."""

    def __init__(
        self,
        evaluation: Evaluation,
        output: Output,
        seed: int,
        rounds: int,
        progress: Progress | None,
        generic: Evaluation | None = None,
    ) -> None:
        self.evaluation = evaluation
        self.columns = len(evaluation.theta)
        device = str(evaluation.theta.device)
        self.acceptance = Acceptance(
            evaluation, torch.Generator().manual_seed(seed + 1), rounds=rounds, generic=generic
        )
        self.rows = JacobianRows(evaluation, self.acceptance, output, self.columns, device, seed + 2)
        self.prime = evaluation.calculus.field.p
        self.progress = progress
        self.saturated = False

    @property
    def rank(self) -> int:
        return self.rows.echelon.rank

    def settle(self) -> None:
        """Add probes until a further batch, two fifths of what was used before or as large, brings nothing new."""
        rows, self.saturated = self.rows, False
        start = time.perf_counter()
        self.acceptance.prepare()
        rows.seconds["probing"] += time.perf_counter() - start
        enough = math.ceil(_AT_FIRST * (self.columns + _EXTRA) / rows.per_position)
        lacking, idle = max(2, enough, rows.positions // 2), 0
        while self.rank < self.columns:
            before = rows.positions
            added, gained = rows.grow(lacking)
            if self.progress is not None:
                self.progress(f"prime {self.prime}", self.rank, self.columns)
            if added == 0:
                # All values that there are, at all positions and in all directions, leave nothing to be settled.
                self.saturated = self.acceptance.complete
                while self.saturated and rows.used and rows.again():
                    pass
                return
            if gained:
                spare = min(_SPARE, self.acceptance.available // 4)
                further = int((_FURTHER if spare == _SPARE else _FURTHER_OF_FEW) * rows.positions)
                lacking = max(2, math.ceil(_EXTRA * rows.positions / rows.rows), further, spare)
                idle = 0
                continue
            # A short search brings less than was asked for: several together make the batch, or all that is left does.
            lacking, idle = lacking - (rows.positions - before), idle + added
            if idle >= _EXTRA and (lacking <= 0 or self.acceptance.done):
                break
            lacking = max(2, lacking)
        self.saturated = self.rank == self.columns or not self.acceptance.misses_a_token

    def cross(self) -> None:
        """Add inputs that put units of a piecewise function on a side where they were rarely, while there are any."""
        record = self.evaluation.record
        if record.sides:
            record.moving = True
            self.evaluation(self.evaluation.inputs.draw(2, self.acceptance.generator), watched=True)
            record.moving = False
        scales = _SCALES[:1] if isinstance(self.evaluation.inputs, Tokens) else _SCALES
        for fewer in (1, _OFTEN):
            for _ in range(_CROSSINGS):
                if not self.acceptance.flipping(record, fewer, scales):
                    break
                if not self._grown() and fewer > 1:
                    break

    def share(self, other: _Search) -> None:
        """Look at what another prime looked at, as far as it is usable here."""
        used = [sequence for sequence, _ in other.rows.used]
        if self.acceptance.prefer(torch.stack(used)):
            self._grown()

    def _grown(self) -> bool:
        before = self.rank
        self.rows.grow(2)
        if self.rank > before:
            self.settle()
        return self.rank > before

    def point(self) -> PointRank:
        rows = self.rows
        return PointRank(
            prime=self.prime,
            rank=self.rank,
            saturated=self.saturated,
            exhausted=self.acceptance.done,
            rows=rows.rows,
            positions=rows.positions,
            sequences=rows.sequences,
            tried=self.acceptance.tried,
            derivative_degree=rows.derivative_degree,
            seconds={stage: round(seconds, 3) for stage, seconds in rows.seconds.items()},
        )


def dimension(
    module: nn.Module,
    inputs: Inputs,
    *,
    seed: int = 0,
    primes: Sequence[int] = DEFAULT_PRIMES,
    output: Output = "logits",
    point: Literal["random", "own"] = "random",
    parameters: Counted = "trained",
    outputs: Chosen = None,
    device: str = "cpu",
    rounds: int = 60,
    progress: Progress | None = None,
) -> FibreDimension:
    """Dimension of the set of parameters that give the same function as a generic point, in exact arithmetic.

    Args:
        module: any ``torch.nn.Module``; a private copy is run, in evaluation mode. Tied parameters count once.
        inputs: :class:`Tokens`, :class:`Vectors` or :class:`Arrays`; the function is looked at on all such inputs.
        seed: everything random follows from it: the parameter point, probes, output directions, hashes.
        primes: distinct primes p below 2³¹ with (p − 1)/2 prime; their ranks must agree.
        output: ``"logits"``: the output tensors as they are; ``"probabilities"``: up to a shift per position.
        point: ``"random"`` for the generic fibre, ``"own"`` for the fibre through the module's present parameters.
        parameters: ``"trained"``: those with ``requires_grad=False`` are held at their values; ``"all"``: no.
        outputs: which outputs count, by name or number; by default ``logits`` where there is one, else all tensors.
        device: where to compute; one code path for CPU and CUDA.
        rounds: batches of candidate probes to try before giving up the search for new ones.
        progress: called with (stage, rank so far, parameters).

    Raises:
        InvalidInput: unusable primes, inputs, or parameters; a module that is no function of one input.
        UnsupportedOperation: the module uses an operation without a rule, or cannot be followed.
        Undecided: the point overflows float64, so that branches cannot be decided.
    """
    if not isinstance(module, nn.Module):
        raise InvalidInput(f"dimension needs a torch.nn.Module, not {type(module).__name__}")
    if not isinstance(inputs, get_args(Inputs)):
        raise InvalidInput(f"inputs must be symgauge.Tokens, Vectors or Arrays, not {type(inputs).__name__}")
    for name, value, words in (
        ("output", output, get_args(Output)), ("point", point, ("random", "own")),
        ("parameters", parameters, get_args(Counted)),
    ):  # fmt: skip
        if value not in words:
            raise InvalidInput(f"{name} must be {' or '.join(map(repr, words))}, not {value!r}")
    primes = check_primes(primes)
    began = time.perf_counter()
    function = ParameterFunction(module, inputs, parameters, outputs, device)
    asked, seed = seed, seed % _SEEDS
    with few_threads(function.size):
        if point == "own":
            theta = function.own_point()
            check_agreement(_evaluation(function, theta, primes[0], seed, device), seed)
        else:
            theta = _random_point(function, primes, seed, device)

        generic_theta = None if point == "random" else _random_point(function, primes, seed, device)

        def search(i: int, theta: Tensor) -> _Search:
            key = seed + 1000 * i
            evaluation = _evaluation(function, theta, primes[i], key, device)
            other = None
            if generic_theta is not None and theta is not generic_theta:
                other = _evaluation(function, generic_theta, primes[i], key, device)
            found = _Search(evaluation, output, key, rounds, progress, other)
            found.settle()
            found.cross()
            return found

        searches = [search(i, theta) for i in range(len(primes))]
        for each in searches:
            # A lower rank is more often a piece of the function not visited yet (a ReLU never active) than bad luck.
            best = max(searches, key=lambda s: s.rank)
            if each.rank < best.rank:
                each.share(best)
                each.settle()
        generic = None if generic_theta is None else search(0, generic_theta).rank
        return _result(function, theta, searches, asked, output, time.perf_counter() - began, generic)


def _evaluation(function: ParameterFunction, theta: Tensor, prime: int, key: int, device: str) -> Evaluation:
    return Evaluation(function, theta.to(device), Calculus(FiniteField(prime, key)))


def _random_point(function: ParameterFunction, primes: Sequence[int], seed: int, device: str) -> Tensor:
    """A random point; of a piecewise function, that of a few at which the most units are well on both sides."""
    first = random_point(function, seed)
    evaluation = _evaluation(function, first, primes[0], seed, device)
    check_agreement(evaluation, seed)
    batch = function.inputs.draw(_WATCHED, torch.Generator().manual_seed(seed))
    fit_size(function, evaluation, batch)
    first = with_rooted_embeddings(function, random_point(function, seed), primes, seed, device)
    if not evaluation.record.sides:
        return first
    best, fewest = first, (math.inf, math.inf)
    for i in range(_POINTS):
        other = seed + 7919 * i
        theta = with_rooted_embeddings(function, random_point(function, other), primes, other, device) if i else first
        record = _evaluation(function, theta, primes[0], seed, device).watch(batch)
        stuck = sum(len(p.never_above) + len(p.never_below) for p in pieces(record))
        crossed = [sides.stuck(_OFTEN) for sides in record.sides.values() if sides.counts and not sides.ordered]
        rare = sum(int((above | below).sum()) for _, above, below in crossed)
        if (stuck, rare) < fewest:
            best, fewest = theta, (stuck, rare)
        if not any(fewest):
            break
    return best


def _result(
    function: ParameterFunction,
    theta: Tensor,
    searches: Sequence[_Search],
    seed: int,
    output: Output,
    seconds: float,
    generic: int | None,
) -> FibreDimension:
    points = tuple(search.point() for search in searches)
    best = max(range(len(points)), key=lambda i: points[i].rank)
    search = searches[best]
    echelon, rank, record = search.rows.echelon, points[best].rank, search.evaluation.record
    names = tuple((name, p.numel()) for name, p in function.counted)
    used = [sequence for sequence, _ in search.rows.used]
    moving, sites = jumping(record, echelon)
    notes = list(function.notes)
    for module, _ in record.branches.items():
        notes.append(
            f"Python code branches on a value that depends on parameters, in {module}; the float64 "
            "reference decided it, "
            "and the result is that of the branch taken"
        )
    rounded = {key.module for key, s in record.sides.items() if key.operation == STEP and not s.moves}
    for module in sorted(rounded):
        notes.append(
            f"parameters are rounded in {module}: the function does not change while each stays within its step, and "
            "they count as free there; a straight-through estimate is no derivative of it"
        )
    if lost := search.acceptance.not_finite:
        notes.append(
            f"at {lost} of {search.acceptance.looked} output positions {function.name} gives no finite number in "
            "float64 (overflow, 0/0); nothing was looked at there"
        )
    return FibreDimension(
        parameters=len(theta),
        rank=rank,
        nullity=len(theta) - rank,
        by_tensor=touched(echelon, echelon.kernel(), names),
        saturated=all(p.saturated for p in points),
        agree=len({p.rank for p in points}) == 1,
        exhausted=points[best].exhausted,
        probes=points[best].positions,
        primes=tuple(p.prime for p in points),
        seed=seed,
        output=output,
        # A non-zero minor larger than the rank found has at most P rows; the rank found may be the wrong one.
        failure_bound=math.prod(min(1.0, len(theta) * p.derivative_degree / p.prime) for p in points),
        conditional_on=tuple(sorted(record.functions)),
        seconds=seconds,
        notes=tuple(notes),
        pieces=pieces(record),
        thresholds=thresholds(record),
        jumping=moving,
        jumps=sites,
        generic_rank=generic,
        points=points,
        theta=theta,
        names=names,
        echelon=echelon,
        function=function,
        inputs=torch.stack(used) if used else function.inputs.draw(0, torch.Generator()),
    )


def touched(echelon: Echelon, vectors: Residues, names: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Rank of a set of parameter vectors restricted to each tensor's columns: in how many of them it takes part."""
    result, start = {}, 0
    for name, count in names:
        part = Echelon(echelon.field, count, echelon.pivots.device)
        part.add(Residues(*(x[:, start : start + count].contiguous() for x in vectors.parts())))
        result[name] = part.rank
        start += count
    return result
