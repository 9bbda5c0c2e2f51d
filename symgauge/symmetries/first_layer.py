"""Directions that a first layer leaves free because a vocabulary is finite: it sees one vector per token and no others.

They are counted and not generated: solutions of one linear equation per token (and channel), which depend on the token
table, so there are at least as many as unknowns minus equations; on small models it is exactly that many. Only the two
kinds of first layer that published models with too few tokens have are counted here; `limits` names others.
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from symgauge.architecture import Architecture
from symgauge.symmetries import symbols as s


@dataclass(frozen=True)
class Surplus:
    """name, title: as of a symmetry family; difference: unknowns minus equations, in letters, and so many directions if
    it is positive."""

    name: str
    title: str
    difference: Expr


def surpluses(a: Architecture) -> list[Surplus]:
    """What the first layer of an architecture can have beyond the symmetry families, positive or not.

    Source: derived here; tests/symmetries/test_limits.py holds it against exact ranks.
    """
    if not a.is_model or a.position_table or not a.residual or a.norm == "none":
        return []
    found = []
    if a.latent is not None:
        for which, width in (("query", s.d_q), ("key-value", s.d_c)):
            if which == "key-value" or a.latent.query:
                found.append(_latent(which, width))
    biases = a.query_bias and a.key_bias and a.value_bias and a.output_bias and a.ff_bias and a.norm_offset
    if a.placement == "parallel" and a.norm == "layer" and biases and not a.gated and a.experts is None:
        found.append(_parallel())
    return found


def _latent(which: str, width: Expr) -> Surplus:
    return Surplus(
        f"first-layer {which} latent",
        f"A quadratic form of the {which} latent and a scale under which no token's latent changes its norm: beyond "
        "rotations, as many as tokens leave undetermined.",
        width * (width + 1) / 2 + 1 - s.V,
    )


def _parallel() -> Surplus:
    return Surplus(
        "first-layer parallel network",
        "An affine map of what the first layer reads, and its network's weights: what these change of a token's vector "
        "is taken up by its row of the table, which is free along itself and along **1**.",
        s.d**2 - 1 + s.d_ff * (2 * s.d - 1) - (s.d - 1) * s.V,
    )


def surplus(a: Architecture) -> int:
    """How many directions that is for the sizes of this architecture."""
    return sum(max(0, s.evaluate(each.difference, a)) for each in surpluses(a))
