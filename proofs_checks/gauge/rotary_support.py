"""Angles and rotary attention at exact points, shared by the checks on RoPE."""

from __future__ import annotations

from fractions import Fraction

from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.commutant import CirclePoint, commutant_basis, rotation_matrix
from symgauge.symbolic.tangent import Attention, random_attention

# Angles with rational cosine other than 0, ±1/2, ±1 are irrational parts of a turn (Niven).
FIRST = CirclePoint(Fraction(3, 5), Fraction(4, 5))
SECOND = CirclePoint(Fraction(5, 13), Fraction(12, 13))
OPPOSITE = CirclePoint(Fraction(3, 5), Fraction(-4, 5))


def kernel_with_rotations(angles: list[CirclePoint], unrotated: int = 0) -> tuple[Attention, lie.Characterisation]:
    """A two-head rotary attention with these angles, its commutant as generators, and its exact first-order kernel."""
    rotation = rotation_matrix(angles, unrotated).to_Matrix()
    size = rotation.rows
    point = random_attention(d=5, d_k=size, d_v=3, groups=(0, 1), rotations=[rotation**p for p in range(size + 1)])
    algebra = [element.to_Matrix() for element in commutant_basis(angles, unrotated)]
    return point, lie.characterise(
        point, [lie.query_key_generators(point, algebra), lie.value_output_generators(point)]
    )
