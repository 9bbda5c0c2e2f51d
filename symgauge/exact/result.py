"""What an exact computation returns: rank, nullity, and everything that is needed to judge and repeat it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor

from symgauge.arithmetic.finite_field import Residues
from symgauge.arithmetic.record import Piece
from symgauge.errors import Undecided
from symgauge.exact.parameter_function import ParameterFunction
from symgauge.exact.rank import Echelon

Output = Literal["logits", "probabilities"]


@dataclass(frozen=True)
class PointRank:
    """What one prime saw. ``tried`` counts candidate sequences, ``derivative_degree`` bounds Jacobian entries."""

    prime: int
    rank: int
    saturated: bool
    exhausted: bool
    rows: int
    positions: int
    sequences: int
    tried: int
    derivative_degree: int
    seconds: dict[str, float]


@dataclass(frozen=True)
class FibreDimension:
    """The result of :func:`symgauge.dimension`. ``nullity`` = ``parameters`` − ``rank`` is the fibre's dimension.

    Example:
        >>> import torch, symgauge
        >>> fibre = symgauge.dimension(torch.nn.Linear(3, 2), symgauge.Vectors(length=1, width=3))
        >>> fibre.parameters, fibre.rank, fibre.nullity, fibre.failure_bound < 1e-9
        (8, 8, 0, True)
        >>> fibre.require_decided() is fibre
        True
    """

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
    """Whether every input of a finite set was looked at."""
    probes: int
    """Output positions used by the prime with the highest rank, each giving a few rows."""
    primes: tuple[int, ...]
    seed: int
    output: Output
    failure_bound: float
    """Bound on the probability that the rank is too small, by bad luck of the random point; see docs/engine.md."""
    conditional_on: tuple[str, ...]
    """Functions whose values are uninterpreted elements of the field: the bound supposes that those of unrelated
    arguments are unrelated, and that relations between them are the ones that the engine keeps (docs/engine.md)."""
    seconds: float
    notes: tuple[str, ...]
    """What a reader must know: parameters that were held, outputs that were left out, branches that were taken."""
    pieces: tuple[Piece, ...]
    """Thresholds at which units were on one side for every probe: the rank is that of this piece of the function."""
    thresholds: tuple[Piece, ...]
    """All thresholds that inputs can cross, in the order of execution, crossed or not."""
    jumping: int
    """Directions of the kernel that move where the function jumps, and so change it although no derivative says so."""
    jumps: tuple[str, ...]
    """The thresholds that they move."""
    generic_rank: int | None
    """For the module's own point: the rank at a random point."""
    points: tuple[PointRank, ...]
    theta: Tensor = field(repr=False)
    """The parameter point (P,) float64."""
    names: tuple[tuple[str, int], ...] = field(repr=False)
    echelon: Echelon = field(repr=False)
    """Row space of the Jacobian over the prime with the highest rank."""
    function: ParameterFunction = field(repr=False)
    """The private copy that was measured, and how it is called."""
    inputs: Tensor = field(repr=False)
    """The inputs that the rank rests on, (N, …)."""
    float_rank: int | None = None
    """The rank that a second witness found: singular values of the plain module's float64 Jacobian
    at the same point."""
    gap: float | None = None
    """How far its smallest kept singular value is above the rest."""
    at_least: int = 0
    """How many of its singular values stand far above noise: the rank is no smaller, whether there is a gap or not."""
    witness: str = "no second witness was asked"
    """Why there is no second witness, or empty."""

    def kernel(self) -> Residues:
        """A basis (nullity, P) of the kernel, modulo the prime with the highest rank."""
        return self.echelon.kernel()

    @property
    def doubt(self) -> str:
        """Why the nullity is not decided as the generic fibre's dimension, in one sentence; empty if it is."""
        if self.rank_doubt or not self.pieces:
            return self.rank_doubt
        return (
            "units were on one side of a threshold at every probe "
            f"({'; '.join(map(str, self.pieces))}), so {self.nullity} "
            "is the dimension on this piece of the function, an upper bound of the generic one; other inputs, or "
            "another seed, may reach the other side"
        )

    @property
    def rank_doubt(self) -> str:
        """Why the nullity is not that of this piece of the function, in one sentence; empty if it is."""
        ranks = ", ".join(f"{p.rank} modulo {p.prime}" for p in self.points)
        if not self.saturated:
            # Named first: where probes ran out the primes disagree too, and another seed would not help.
            tried, usable = max(p.tried for p in self.points), min(p.positions for p in self.points)
            all_of_them = f"all {tried} inputs of this vocabulary and length were tried"
            return (
                f"the rank had not settled when usable probes ran out ({ranks}; "
                f"{all_of_them if self.exhausted else 'no more were found'}, {usable} positions were usable), so "
                f"{self.rank} is a lower bound; use a larger vocabulary, longer sequences or more rounds"
            )
        if not self.agree:
            return f"the primes disagree ({ranks}); repeat with another seed or more primes"
        if self.float_rank is not None and self.float_rank != self.rank:
            return (
                f"the second witness contradicts: the exact rank is {self.rank}, but the float64 "
                "Jacobian of the plain module "
                f"at the same point has rank {self.float_rank}, with a gap of {self.gap:.0e}; "
                "functions in this module are "
                "related in a way that the exact engine does not know"
            )
        if self.at_least > self.rank:
            return (
                f"the second witness contradicts: the exact rank is {self.rank}, but {self.at_least} "
                "singular values of the "
                "plain module's float64 Jacobian at the same point are far from zero; probes of the exact run missed a "
                "piece of the function, so pass more rounds, longer inputs or another seed"
            )
        if self.jumping:
            return (
                f"{self.jumping} directions of the kernel move where the function jumps "
                f"({'; '.join(self.jumps)}), which no "
                f"derivative sees, so the fibre's dimension is between {self.nullity - self.jumping} and {self.nullity}"
            )
        return ""

    @property
    def singular(self) -> bool:
        """Whether the module's own point has a lower rank than a random one: the nullity is then an
        upper bound only."""
        return self.generic_rank is not None and self.rank < self.generic_rank

    def __rich__(self) -> Any:
        from symgauge.printing.fibre import shown

        return shown(self)

    def require_decided(self) -> FibreDimension:
        """This result, or :class:`~symgauge.errors.Undecided` with the reason for doubt."""
        if self.doubt:
            raise Undecided(self.doubt)
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
            "conditional_on": list(self.conditional_on),
            "notes": list(self.notes),
            "pieces": [str(piece) for piece in self.pieces],
            "jumping": self.jumping,
            "generic_rank": self.generic_rank,
            "upper_bound_only": self.singular,
            "float_rank": self.float_rank,
            "gap": self.gap,
            "at_least": self.at_least,
            "witness": self.witness,
            "doubt": self.doubt,
            "seconds": round(self.seconds, 3),
        }
