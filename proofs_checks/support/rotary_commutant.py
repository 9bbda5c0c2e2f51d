"""What commutes with rotary rotations at standard frequencies."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

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


def record_standard_rotary_commutant(evidence: EvidenceLog) -> None:
    """What commutes with the rotations at standard frequencies; what channels that are not rotated would add."""
    record_standard_frequencies(evidence)
    interleaved, halves = (commutant_basis([FIRST, SECOND], layout=layout) for layout in ("interleaved", "rotate_half"))
    pairs = {"interleaved": ((0, 1), (2, 3)), "rotate_half": ((0, 2), (1, 3))}
    blocks = all(
        (e[i, j] == 0 or any(i in pair and j in pair for pair in pairs[layout]))
        and all(e[a, a] == e[b, b] and e[a, b] == -e[b, a] for a, b in pairs[layout])
        for layout, basis in (("interleaved", interleaved), ("rotate_half", halves))
        for e in (element.to_Matrix() for element in basis)
        for i in range(4)
        for j in range(4)
    )
    evidence.exact("blocks $aI_2+bJ$ on the planes, in both layouts", blocks, cases=len(interleaved) + len(halves))
    evidence.control("equal frequencies are not block-diagonal", len(commutant_basis([FIRST, FIRST])) > 4, kind="exact")
    partial = rope_commutant_dimension(standard_frequencies(16), unrotated=48)
    evidence.control(
        "with 16 of 64 channels rotated, as in GPT-NeoX, it is larger by far",
        kind="exact",
        figures={"dimension": at_least(partial, 2320)},
    )


def record_standard_frequencies(evidence: EvidenceLog, on: str = "statement") -> None:
    """No two planes turn alike at standard frequencies, and none by a half turn or not at all."""
    evidence.proof(
        r"$\mathrm{base}^{-2j/d_k}$ falls strictly with $j$, from $1$ to more than $0$, and $\cos a-\cos b = "
        r"-2\sin\frac{a+b}2\sin\frac{a-b}2\ne0$ for different $a,b$ in $[0,1]$: no two cosines "
        r"agree but those of one plane, and none belongs to a half turn or none at all, for every $d_k$ and base",
        frequencies_are_told_apart(),
        on=on,
    )
    sizes = [(d, base) for d in (4, 16, 64) for base in (10_000, 500_000)]
    found = [rope_commutant_dimension(standard_frequencies(d, base)) for d, base in sizes]
    evidence.exact(
        r"some sizes, frequencies as exact algebraic numbers over $2\pi$: dimension $d_k$",
        figures={"dimensions": equal(found, [d for d, _ in sizes])},
        on=on,
        cases=len(sizes),
    )


def frequencies_are_told_apart() -> bool:
    """base^(-x) is positive, 1 at x = 0 and falling for base > 1; cosines of angles in [0, 1] that differ do too."""
    excess, x = sp.Symbol("u", positive=True), sp.Symbol("x", nonnegative=True)
    frequency = (1 + excess) ** -x
    falls = bool(frequency.is_positive) and bool(frequency.diff(x).is_negative) and frequency.subs(x, 0) == 1
    a, b = sp.symbols("a b", real=True)
    # Both sines are of angles inside (-1, 1), and there the sine vanishes at 0 alone.
    product = -2 * sp.sin((a + b) / 2) * sp.sin((a - b) / 2)
    return falls and sp.simplify(sp.cos(a) - sp.cos(b) - product) == 0
