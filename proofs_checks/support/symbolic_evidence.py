"""Turning the symbolic oracle's results into evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sympy as sp

from symgauge.claims import EvidenceLog, at_least, at_most
from symgauge.symbolic.identities import identity
from symgauge.symbolic.proof import NotProved


def proves(attempt: Callable[[], object]) -> bool:
    """Whether the attempt proves what it sets out to (it raises NotProved otherwise)."""
    try:
        attempt()
    except NotProved:
        return False
    return True


def is_zero(*matrices: sp.Matrix) -> bool:
    """Whether all the exact matrices vanish; there has to be one."""
    if not matrices:
        raise AssertionError("is_zero was given no matrix")
    return all(sp.simplify(entry) == 0 for matrix in matrices for entry in matrix)


def largest(matrix: sp.Matrix) -> float:
    """The largest absolute entry, as a float for a figure."""
    return float(max(abs(sp.N(entry, 30)) for entry in matrix))


def record_identity(evidence: EvidenceLog, name: str, *, on: str = "statement", only: str | Sequence[str] = ()) -> None:
    """Proof for every size, an explicit instance without the prover, and the broken twin: unprovable and refuted."""
    record = identity(name)
    evidence.proof(f"for every size: {record.statement}", proves(record.prove), on=on, only=only)
    gaps = [record.difference_at_instance(seed) for seed in (0, 1)]
    rational = all(entry.is_Rational for gap in gaps for entry in gap)
    worst = max(map(largest, gaps))
    note = "general rational matrices (determinants negative), two instances"
    if rational:
        evidence.exact(note, worst == 0, on=on, cases=2, only=only)
    else:
        evidence.numeric(
            f"{note}, 50 digits", on=on, figures={"largest difference": at_most(worst, 1e-40)}, cases=2, only=only
        )
    evidence.control(f"no proof with {record.how_broken}", not proves(record.prove_broken), kind="proof", only=only)
    change = largest(record.refute_broken().difference)
    evidence.control(f"an instance with {record.how_broken}", figures={"change": at_least(change, 1e-3)}, only=only)
