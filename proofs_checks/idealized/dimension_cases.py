"""The grid on which the corrected dimension is checked: (d, H, L, |V|, residual, inputs, seed, length).

Seeds are the first at which the least nullity is met. At other seeds a neuron may see too few inputs on one side of its
kink; the nullity is larger there.
"""

from __future__ import annotations

from proofs_checks.idealized.exact_fibres import Case

VECTORS = (
    Case(2, 1, 1, 2, True, "real", 0),
    Case(2, 1, 1, 2, False, "real", 1),
    Case(2, 2, 1, 3, True, "real", 3),
    Case(3, 1, 1, 3, False, "real", 0),
    Case(3, 3, 1, 4, True, "real", 1),
    Case(3, 3, 1, 4, False, "real", 0),
    Case(4, 1, 1, 4, True, "real", 0),
    Case(4, 1, 1, 4, False, "real", 0),
    Case(4, 2, 1, 4, True, "real", 0),
    Case(4, 2, 1, 4, False, "real", 0),
    Case(4, 2, 1, 7, True, "real", 0),
    Case(4, 2, 1, 7, False, "real", 0),
    Case(4, 4, 1, 5, True, "real", 0),
    Case(4, 4, 1, 5, False, "real", 0),
    Case(5, 1, 1, 6, True, "real", 0),
    Case(3, 1, 2, 4, True, "real", 0),
    Case(3, 3, 2, 3, False, "real", 0),
    Case(4, 2, 2, 5, True, "real", 0),
    Case(2, 2, 3, 3, True, "real", 0),
)
"""Vectors of length |V| ≥ d in place of one-hot rows."""

TOKENS = (
    Case(3, 3, 1, 4, True, "tokens", 1),
    Case(3, 3, 1, 4, False, "tokens", 1),
    Case(4, 1, 1, 5, True, "tokens", 0),
    Case(4, 2, 1, 5, False, "tokens", 0),
)
"""All |V|^T words with |V| > d."""

AS_WIDE = (
    Case(4, 2, 1, 4, True, "tokens", 4),
    Case(4, 2, 1, 4, False, "tokens", 2),
    Case(4, 4, 1, 4, True, "tokens", 1),
    Case(4, 4, 1, 4, False, "tokens", 0),
)
"""All |V|^T words with |V| = d."""

PINNED = (
    Case(2, 2, 1, 2, True, "pinned", 1),
    Case(2, 2, 1, 2, False, "pinned", 3),
    Case(4, 2, 1, 7, True, "pinned", 0),
    Case(4, 2, 1, 7, False, "pinned", 0),
    Case(3, 3, 2, 4, True, "pinned", 0),
    Case(3, 3, 2, 4, False, "pinned", 0),
    Case(4, 2, 1, 2, True, "pinned", 0),
    Case(4, 2, 1, 2, False, "pinned", 0),
)
"""Vectors in place of the embedding, with |V| ≥ d and |V| < d."""

MORE = (
    Case(2, 2, 1, 3, False, "real", 0),
    Case(3, 1, 1, 3, True, "real", 0),
    Case(4, 2, 2, 5, False, "real", 0),
    Case(6, 2, 1, 7, True, "real", 0),
    Case(5, 1, 1, 6, False, "real", 0),
    Case(2, 1, 2, 3, True, "real", 2),
    Case(3, 1, 2, 4, False, "real", 3),
    Case(3, 3, 2, 3, True, "real", 0),
    Case(4, 2, 3, 4, True, "real", 0),
    Case(6, 2, 1, 7, False, "real", 0),
    Case(4, 1, 1, 5, False, "tokens", 0),
    Case(4, 2, 1, 5, True, "tokens", 0),
    Case(4, 1, 1, 4, True, "pinned", 0),
    Case(4, 1, 1, 4, False, "pinned", 0),
    Case(6, 2, 1, 3, True, "pinned", 0),
    Case(6, 2, 1, 3, False, "pinned", 0),
)
"""Further ones for the thorough profile."""

SHORTER = {
    "true-dimension": (
        Case(4, 2, 1, 5, True, "tokens", 0, length=2),
        Case(4, 2, 1, 5, False, "tokens", 0, length=2),
        Case(4, 2, 1, 4, True, "real", 0, length=1),
    ),
    "true-as-wide": (
        Case(4, 2, 1, 4, True, "tokens", 4, length=3),
        Case(4, 2, 1, 4, False, "tokens", 2, length=3),
    ),
    "true-pinned": (
        Case(4, 2, 1, 7, True, "pinned", 0, length=1),
        Case(4, 2, 1, 2, False, "pinned", 0, length=1),
    ),
}
"""Sequences too short to show what the formulas count, by claim."""

FEWER = (
    Case(2, 1, 1, 2, True, "tokens", 0),
    Case(2, 1, 1, 2, False, "tokens", 0),
    Case(3, 1, 1, 3, True, "tokens", 0),
    Case(3, 1, 1, 3, False, "tokens", 0),
)
"""Words of four tokens with |V| = d that are too few to show all that the formula counts."""

DRAWN = (
    Case(2, 2, 1, 2, True, "pinned"),
    Case(2, 2, 1, 2, False, "pinned"),
    Case(2, 1, 1, 1, True, "pinned"),
    Case(2, 1, 1, 1, False, "pinned"),
    Case(3, 1, 1, 2, True, "pinned"),
    Case(3, 1, 1, 2, False, "pinned"),
)
"""Small pinned cases, for seeds that nobody chose."""

SMALLEST = (Case(1, 1, 1, 1, True, "real", 0), Case(1, 1, 1, 1, False, "real", 0))
"""All sizes one: d = 1 is degenerate (neurons come in two kinds only) and lies above the formula."""
