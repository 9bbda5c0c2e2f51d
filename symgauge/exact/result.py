"""What an exact computation returns: rank, nullity, and everything that is needed to judge and repeat it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

from symgauge.arithmetic.finite_field import Residues
from symgauge.errors import Undecided
from symgauge.exact.rank import Echelon

Output = Literal["logits", "probabilities"]


@dataclass(frozen=True)
class PointRank:
    """What one prime saw. ``tried`` counts candidate sequences, ``slope`` bounds the degree of Jacobian entries."""

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
    """The result of :func:`symgauge.dimension`. ``nullity`` = ``parameters`` − ``rank`` is the fibre's dimension."""

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
    seconds: float
    points: tuple[PointRank, ...]
    theta: Tensor = field(repr=False)
    """The parameter point (P,) float64."""
    names: tuple[tuple[str, int], ...] = field(repr=False)
    echelon: Echelon = field(repr=False)
    """Row space of the Jacobian over the prime with the highest rank."""

    def kernel(self) -> Residues:
        """A basis (nullity, P) of the kernel, modulo the prime with the highest rank."""
        return self.echelon.kernel()

    @property
    def doubt(self) -> str:
        """Why the rank is not settled, in one sentence; empty if it is."""
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
        return ""

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
            "seconds": round(self.seconds, 3),
        }
