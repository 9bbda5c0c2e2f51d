"""The exact dimension of a module's function-preserving fibre: P − generic rank of its Jacobian."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.arithmetic.jet import Calculus
from symgauge.arithmetic.primes import DEFAULT_PRIMES, check_primes
from symgauge.errors import InvalidInput
from symgauge.exact.acceptance import Acceptance
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.jacobian import JacobianRows
from symgauge.exact.point import own_point, random_point, with_rooted_embeddings
from symgauge.exact.probes import Inputs
from symgauge.exact.rank import Echelon
from symgauge.exact.result import FibreDimension, Output, PointRank
from symgauge.exact.threads import few_threads

_EXTRA = 12
"""Rows beyond the rank that must bring nothing new before the rank counts as saturated."""

Progress = Callable[[str, int, int], None]
"""Called as (stage, rank so far, parameters)."""


class _Search:
    """The growing rank at one prime."""

    def __init__(
        self, evaluation: Evaluation, output: Output, seed: int, rounds: int, progress: Progress | None
    ) -> None:
        self.columns = len(evaluation.theta)
        device = str(evaluation.theta.device)
        self.acceptance = Acceptance(evaluation, torch.Generator().manual_seed(seed + 1), rounds=rounds)
        self.rows = JacobianRows(evaluation, self.acceptance, output, self.columns, device, seed + 2)
        self.prime = evaluation.calculus.field.p
        self.progress = progress
        self.saturated = False

    @property
    def rank(self) -> int:
        return self.rows.echelon.rank

    def settle(self) -> None:
        """Add probes until two further batches, each a fifth of what was used before, bring nothing new."""
        rows, self.saturated = self.rows, False
        start = time.perf_counter()
        self.acceptance.prepare()
        rows.seconds["probing"] += time.perf_counter() - start
        enough = math.ceil(1.05 * (self.columns + _EXTRA) / rows.per_position)
        wanted, fruitless = max(2, enough, rows.positions // 2), 0
        while not self.saturated:
            added, gained = rows.grow(wanted)
            if self.progress is not None:
                self.progress(f"prime {self.prime}", self.rank, self.columns)
            if added == 0:
                return
            fruitless = fruitless + 1 if added >= _EXTRA and not gained else 0
            self.saturated = self.rank == self.columns or fruitless == 2
            wanted = max(2, math.ceil(_EXTRA * rows.positions / rows.rows), rows.positions // 5)

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
            slope=rows.slope,
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
    device: str = "cpu",
    rounds: int = 60,
    progress: Progress | None = None,
) -> FibreDimension:
    """Dimension of the set of parameters that give the same function as a generic point, in exact arithmetic.

    Args:
        module: any ``torch.nn.Module``, unmodified; run in evaluation mode. Tied parameters count once.
        inputs: :class:`Tokens`, :class:`Vectors` or :class:`Arrays`; the function is looked at on all such inputs.
        seed: everything random follows from it: the parameter point, probes, output directions, hashes.
        primes: distinct primes below 2³¹ that are 3 modulo 4; their ranks must agree.
        output: ``"logits"``: the output tensor as it is; ``"probabilities"``: up to a shift per position.
        point: ``"random"`` for the generic fibre, ``"own"`` for the fibre through the module's present parameters.
        device: where to compute; one code path for CPU and CUDA (the module's buffers must be there too).
        rounds: batches of candidate probes to try before giving up the search for new ones.
        progress: called with (stage, rank so far, parameters).

    Raises:
        InvalidInput: unusable primes, inputs, or parameters.
        UnsupportedOperation: the module uses an operation without a rule.
        Undecided: the point overflows float64, so that branches cannot be decided.
    """
    if not isinstance(module, nn.Module):
        raise InvalidInput(f"dimension needs a torch.nn.Module, not {type(module).__name__}")
    if not isinstance(inputs, get_args(Inputs)):
        raise InvalidInput(f"inputs must be symgauge.Tokens, symgauge.Vectors or symgauge.Arrays, not {type(inputs).__name__}")
    if output not in get_args(Output) or point not in ("random", "own"):
        raise InvalidInput(
            f"output must be 'logits' or 'probabilities' and point 'random' or 'own', not {output!r} and {point!r}"
        )
    primes = check_primes(primes)
    began = time.perf_counter()
    theta = own_point(module) if point == "own" else random_point(module, seed)
    with few_threads(len(theta)):
        if point == "random":
            theta = with_rooted_embeddings(module, inputs, theta, primes, seed, device)
        searches = []
        for i, prime in enumerate(primes):
            key = seed + 1000 * i
            evaluation = Evaluation(module, theta.to(device), Calculus(FiniteField(prime, key)), inputs)
            searches.append(_Search(evaluation, output, key, rounds, progress))
        for search in searches:
            search.settle()
        for search in searches:
            # A lower rank is more often a piece of the function not visited yet (a ReLU never active) than bad luck.
            if search.rank < max(s.rank for s in searches):
                search.settle()
        return _result(module, theta, searches, seed, output, time.perf_counter() - began)


def _result(
    module: nn.Module, theta: Tensor, searches: Sequence[_Search], seed: int, output: Output, seconds: float
) -> FibreDimension:
    points = tuple(search.point() for search in searches)
    best = max(range(len(points)), key=lambda i: points[i].rank)
    echelon, rank = searches[best].rows.echelon, points[best].rank
    names = tuple((name, p.numel()) for name, p in module.named_parameters())
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
        failure_bound=math.prod(min(1.0, p.rank * p.slope / p.prime) for p in points),
        seconds=seconds,
        points=points,
        theta=theta,
        names=names,
        echelon=echelon,
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
