"""What commutes with rotary rotations at standard frequencies."""

from __future__ import annotations

from fractions import Fraction

from proofs_checks.support.algebra.commutant import (
    CirclePoint,
    commutant_basis,
    rope_commutant_dimension,
    standard_frequencies,
)
from symgauge.claims import EvidenceLog, at_least, equal

# Angles with rational cosine other than 0, ±1/2, ±1 are irrational parts of a turn (Niven).
FIRST = CirclePoint(Fraction(3, 5), Fraction(4, 5))

SECOND = CirclePoint(Fraction(5, 13), Fraction(12, 13))


def record_standard_rotary_commutant(evidence: EvidenceLog, typically: bool = False) -> None:
    """What commutes with the rotations at standard frequencies, with all channels rotated and with some.

    typically: the statement is about standard encodings, which rotate all channels; that some rotate fewer is then no
    counterexample to it, but the control.
    """
    partial = rope_commutant_dimension(standard_frequencies(16), unrotated=48)
    bearing = "statement" if typically else "condition"
    if typically:
        evidence.control(
            "partial rotary, 16 of 64 channels, has more: $16 + 48^2$",
            kind="exact",
            figures={"dimension": at_least(partial, 65)},
        )
    else:
        evidence.exact(
            "partial rotary, 16 of 64 channels (as in GPT-NeoX)",
            figures={"dimension": equal(partial, 64)},
            counterexample=r"$d_k = 64$ with 16 rotated channels: $16 + 48^2 = 2320$",
        )
    sizes = [(d, base) for d in (4, 16, 64) for base in (10_000, 500_000)]
    found = [rope_commutant_dimension(standard_frequencies(d, base)) for d, base in sizes]
    evidence.proof(
        "standard frequencies as exact algebraic numbers over $2\\pi$: all classes are single planes",
        figures={"dimensions": equal(found, [d for d, _ in sizes])},
        on=bearing,
        cases=len(sizes),
    )
    interleaved, halves = (commutant_basis([FIRST, SECOND], layout=layout) for layout in ("interleaved", "rotate_half"))
    pairs = {"interleaved": ((0, 1), (2, 3)), "rotate_half": ((0, 2), (1, 3))}
    blocks = all(
        e.to_Matrix()[i, j] == 0
        for layout, basis in (("interleaved", interleaved), ("rotate_half", halves))
        for e in basis
        for i in range(4)
        for j in range(4)
        if not any(i in pair and j in pair for pair in pairs[layout])
    )
    evidence.exact("blocks on the planes, in both layouts", blocks, on=bearing, cases=len(interleaved) + len(halves))
    evidence.control("equal frequencies are not block-diagonal", len(commutant_basis([FIRST, FIRST])) > 4, kind="exact")
