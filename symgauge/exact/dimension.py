"""The exact dimension of a module's function-preserving fibre: P − generic rank of its Jacobian."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.arithmetic.jet import Calculus, Jet
from symgauge.arithmetic.primes import DEFAULT_PRIMES, check_primes
from symgauge.errors import InvalidInput, Undecided
from symgauge.exact.acceptance import Acceptance, by_position
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.probes import Inputs, Tokens, Vectors
from symgauge.exact.rank import Echelon

Output = Literal["logits", "probabilities"]
_MEMORY = 1.5e8
"""Bytes that one array of tangents may take; probes are run in batches that keep to it."""
_PER_POSITION = 16
"""Random directions in which each position's output is looked at (all, if it is narrower)."""
_EXTRA = 12
"""Rows beyond the rank that must bring nothing new before the rank counts as saturated."""


@dataclass(frozen=True)
class PointRank:
    """What one prime saw at one parameter point."""

    prime: int
    rank: int
    saturated: bool
    exhausted: bool
    rows: int
    positions: int
    sequences: int
    tried: int
    slope: int
    seconds: dict[str, float]


@dataclass(frozen=True)
class FibreDimension:
    """The result of :func:`dimension`. ``nullity`` = ``parameters`` − ``rank`` is the dimension of the fibre."""

    parameters: int
    rank: int
    nullity: int
    by_tensor: dict[str, int]
    """Parameter name → dimension of the kernel's projection on that tensor: in how much of the kernel it takes part."""
    saturated: bool
    """Whether further probes brought nothing new, for every prime. If not, the rank is a lower bound only."""
    agree: bool
    """Whether all primes saw the same rank."""
    exhausted: bool
    """Whether the finite set of inputs was used up: then the rank is that of this set, whatever its size."""
    probes: int
    """Output positions used by the first prime, each giving a few rows."""
    primes: tuple[int, ...]
    seed: int
    output: Output
    failure_bound: float
    """Bound on the probability that the rank is too small, by bad luck of the random point; see docs/engine.md."""
    seconds: float
    points: tuple[PointRank, ...]
    theta: Tensor = field(repr=False)
    """The parameter point (P,) float64."""
    names: tuple[tuple[str, int], ...] = field(repr=False)
    echelon: Echelon = field(repr=False)
    """Row space of the Jacobian over the first prime."""

    def kernel(self) -> Residues:
        """A basis (nullity, P) of the kernel modulo the first prime."""
        return self.echelon.kernel()

    def require_decided(self) -> FibreDimension:
        """This result, or :class:`Undecided` if the primes disagree or the probes ran out before the rank settled."""
        if not self.agree:
            ranks = {p.prime: p.rank for p in self.points}
            raise Undecided(f"ranks differ between primes: {ranks}; repeat with another seed or more primes")
        if not self.saturated:
            raise Undecided(
                f"rank {self.rank} of {self.parameters} had not settled after {self.probes} probes; allow longer "
                "sequences, a larger vocabulary or more rounds"
            )
        return self

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON, without arrays."""
        return {
            "parameters": self.parameters,
            "rank": self.rank,
            "nullity": self.nullity,
            "by_tensor": self.by_tensor,
            "saturated": self.saturated,
            "agree": self.agree,
            "exhausted": self.exhausted,
            "probes": self.probes,
            "primes": list(self.primes),
            "seed": self.seed,
            "output": self.output,
            "failure_bound": self.failure_bound,
            "seconds": round(self.seconds, 3),
        }


def random_point(module: nn.Module, seed: int) -> Tensor:
    """A random parameter vector (P,): full 53-bit mantissas, so that its residues are as good as uniform."""
    count = sum(p.numel() for p in module.parameters())
    if not count:
        raise InvalidInput(f"{type(module).__name__} has no parameters, so there is no fibre to measure")
    generator = torch.Generator().manual_seed(seed)
    return 0.6 * torch.randn(count, generator=generator, dtype=torch.float64)


def _own_point(module: nn.Module) -> Tensor:
    from symgauge.layout import flatten

    theta, names = flatten(module)
    if not bool(torch.isfinite(theta).all()):
        bad = [n for n, p in module.named_parameters() if not bool(torch.isfinite(p).all())]
        raise InvalidInput(f"parameters {bad} hold NaN or infinite entries; the fibre of such a point is not defined")
    return theta


class _Rows:
    """Turns accepted probes into Jacobian rows and feeds them to an echelon form."""

    def __init__(
        self, evaluation: Evaluation, acceptance: Acceptance, output: Output, device: str, seed: int, columns: int
    ) -> None:
        self.evaluation, self.acceptance, self.output = evaluation, acceptance, output
        self.field = evaluation.calculus.field
        self.device = device
        self.echelon = Echelon(self.field, columns, device)
        self.generator = torch.Generator().manual_seed(seed)
        self.rows = self.positions = self.sequences = self.slope = 0
        self.seconds = {"probing": 0.0, "jacobian": 0.0, "rank": 0.0}

    def _directions(self, width: int, count: int) -> Tensor:
        """Random output directions (width, count); for probabilities they annihilate a common shift of the logits."""
        if self.output == "probabilities":
            d = torch.randint(1, self.field.p, (width - 1, count), generator=self.generator)
            return torch.cat([d, (self.field.p - d.sum(0) % self.field.p)[None]])
        if count >= width:
            return torch.eye(width, dtype=torch.int64)
        return torch.randint(1, self.field.p, (width, count), generator=self.generator)

    def _batch_size(self) -> int:
        widest = max(self.evaluation.calculus.widest, 1)
        return max(1, int(_MEMORY / (8 * widest * self.echelon.columns)))

    def grow(self, wanted: int, per_position: int) -> tuple[int, int]:
        """Add rows of about ``wanted`` new positions; returns (rows added, rank gained)."""
        start = time.perf_counter()
        found = self.acceptance.take(wanted)
        self.seconds["probing"] += time.perf_counter() - start
        added = gained = 0
        for i in range(0, len(found), self._batch_size()):
            chunk = found[i : i + self._batch_size()]
            start = time.perf_counter()
            rows = self._jacobian(chunk, per_position)
            middle = time.perf_counter()
            gained += self.echelon.add(rows)
            self.seconds["jacobian"] += middle - start
            self.seconds["rank"] += time.perf_counter() - middle
            added += rows.shape[0]
            self.sequences += len(chunk)
            self.positions += sum(len(p) for _, p in chunk)
        self.rows += added
        return added, gained

    def _jacobian(self, chunk: list[tuple[Tensor, list[int]]], per_position: int) -> Residues:
        batch = torch.stack([sequence for sequence, _ in chunk]).to(self.device)
        jet = self.evaluation(batch, tangents=True)
        _check(jet)
        self.slope = max(self.slope, jet.slope + 1)
        if jet.tangent is None:
            raise InvalidInput("the module's output does not depend on any of its parameters")
        sequence = torch.tensor([i for i, (_, ps) in enumerate(chunk) for _ in ps], device=self.device)
        position = torch.tensor([p for _, ps in chunk for p in ps], device=self.device)
        calculus = self.evaluation.calculus
        tangent = calculus.widen(jet.tangent, jet.span, (0, self.echelon.columns))
        picked = tangent.map(lambda t: torch.vmap(by_position)(t)[:, sequence, position])  # (P, positions, width)
        directions = self._directions(picked.shape[-1], per_position).to(self.device)
        projected = self.field.matmul(picked, Residues(directions))
        return projected.map(lambda t: t.reshape(t.shape[0], -1).mT.contiguous())


def _check(jet: Jet) -> None:
    if not bool(torch.isfinite(jet.shadow).all()):
        raise Undecided(
            "the float64 shadow of the output is not finite, so branches (ReLU, top-k, masks) cannot be trusted at "
            "this point; pass another seed"
        )


Progress = Callable[[str, int, int], None]
"""Called as (stage, rank so far, parameters)."""


class _Search:
    """The growing rank at one prime."""

    def __init__(
        self, module: nn.Module, inputs: Inputs, theta: Tensor, output: Output, prime: int, seed: int, device: str,
        rounds: int, progress: Progress | None,
    ) -> None:  # fmt: skip
        calculus = Calculus(FiniteField(prime, seed))
        evaluation = Evaluation(module, theta.to(device), calculus, inputs)
        self.acceptance = Acceptance(evaluation, torch.Generator().manual_seed(seed + 1), rounds=rounds)
        self.rows = _Rows(evaluation, self.acceptance, output, device, seed + 2, len(theta))
        self.prime, self.columns, self.progress = prime, len(theta), progress
        self.saturated = False

    @property
    def rank(self) -> int:
        return self.rows.echelon.rank

    def settle(self) -> None:
        """Add probes until a further batch, a third of what was used before, brings nothing new."""
        rows, self.saturated = self.rows, False
        wanted = max(2, math.ceil(1.05 * (self.columns + _EXTRA) / _PER_POSITION), rows.positions // 2)
        while not self.saturated:
            added, gained = rows.grow(wanted, _PER_POSITION)
            if self.progress is not None:
                self.progress(f"prime {self.prime}", self.rank, self.columns)
            if added == 0:
                return
            self.saturated = self.rank == self.columns or (added >= _EXTRA and not gained)
            wanted = max(2, math.ceil(_EXTRA * rows.positions / rows.rows), rows.positions // 3)

    def point(self) -> PointRank:
        rows = self.rows
        return PointRank(
            self.prime, self.rank, self.saturated, self.acceptance.done, rows.rows, rows.positions, rows.sequences,
            self.acceptance.tried, rows.slope, {k: round(v, 3) for k, v in rows.seconds.items()},
        )  # fmt: skip


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
        inputs: :class:`Tokens` or :class:`Vectors`; the function is looked at on all such inputs.
        seed: everything random follows from it: the parameter point, probes, output directions, hashes.
        primes: distinct primes below 2³¹ that are 3 modulo 4; their ranks must agree.
        output: ``"logits"``: the output tensor as it is; ``"probabilities"``: up to a shift per position.
        point: ``"random"`` for the generic fibre, ``"own"`` for the fibre through the module's present parameters.
        device: where to compute; one code path for CPU and CUDA.
        rounds: batches of candidate probes to try before giving up the search for new ones.
        progress: called with (stage, rank so far, parameters).

    Raises:
        InvalidInput: unusable primes, inputs, or parameters. UnsupportedOperation: an operation has no rule.
    """
    if not isinstance(inputs, (Tokens, Vectors)):
        raise InvalidInput(f"inputs must be symgauge.Tokens or symgauge.Vectors, not {type(inputs).__name__}")
    if output not in ("logits", "probabilities"):
        raise InvalidInput(f"output must be 'logits' or 'probabilities', not {output!r}")
    primes = check_primes(primes)
    began = time.perf_counter()
    theta = random_point(module, seed) if point == "random" else _own_point(module)
    searches = [
        _Search(module, inputs, theta, output, prime, seed + 1000 * i, device, rounds, progress)
        for i, prime in enumerate(primes)
    ]
    for search in searches:
        search.settle()
    for search in searches:
        # A lower rank is more often a piece of the function not visited yet (a ReLU never active) than bad luck mod p.
        if search.rank < max(s.rank for s in searches):
            search.settle()
    points = tuple(search.point() for search in searches)
    best = max(range(len(points)), key=lambda i: points[i].rank)
    echelon = searches[best].rows.echelon
    names = tuple((name, p.numel()) for name, p in module.named_parameters())
    rank = points[best].rank
    bound = math.prod(min(1.0, p.rank * p.slope / p.prime) for p in points)
    return FibreDimension(
        parameters=len(theta), rank=rank, nullity=len(theta) - rank, by_tensor=_by_tensor(echelon, names),
        saturated=all(p.saturated for p in points), agree=len({p.rank for p in points}) == 1,
        exhausted=points[best].exhausted, probes=points[best].positions, primes=primes, seed=seed, output=output,
        failure_bound=bound, seconds=time.perf_counter() - began, points=points, theta=theta, names=names,
        echelon=echelon,
    )  # fmt: skip


def _by_tensor(echelon: Echelon, names: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Rank of the kernel restricted to each parameter's columns."""
    kernel, start, result = echelon.kernel(), 0, {}
    for name, count in names:
        part = Echelon(echelon.field, count, echelon.pivots.device)
        part.add(kernel.map(lambda x, a=start, b=start + count: x[:, a:b].contiguous()))
        result[name] = part.rank
        start += count
    return result
