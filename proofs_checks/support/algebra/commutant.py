"""The commutant of rotary position rotations: the query–key symmetries that survive RoPE.

A rotary map acts on planes by angles; the rotation at position p is the p-th power of the one at position 1, so an A
that commutes with the latter commutes with all. An angle is given as a *turn* (a fraction of the full circle, exact) or
as a rational point (cosine, sine) of the circle, whose angle is an irrational part of a turn unless a right angle.

Formula (classes): planes ω and ω' belong together when ω ≡ ±ω' modulo a full turn, that is when their cosines agree. A
class of r planes contributes GL(r, ℂ) of real dimension 2r² when ω is not a half turn or zero, GL(2r, ℝ) of dimension
4r² for the half turn, and the planes that do not turn, with the unrotated channels, GL(r₀, ℝ). Extends Prop. D.1,
Thm. D.2 and Remark D.3 of the gauge paper, where only coincidence of frequencies appears.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, Literal, TypeAlias

import sympy as sp
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

from symgauge.errors import InvalidInput, Undecided
from symgauge.symbolic import linear

Layout = Literal["interleaved", "rotate_half"]


@dataclass(frozen=True)
class CirclePoint:
    """An angle by its exact rational cosine and sine, such as (3/5, 4/5)."""

    cosine: Fraction
    sine: Fraction

    def __post_init__(self) -> None:
        if Fraction(self.cosine) ** 2 + Fraction(self.sine) ** 2 != 1:
            raise InvalidInput(f"CirclePoint({self.cosine}, {self.sine}): cosine² + sine² must be 1.")


ExactAngle: TypeAlias = Fraction | int | CirclePoint
Angle: TypeAlias = ExactAngle | sp.Expr  # a turn, or a point of the circle


def rope_commutant_dimension(angles: Sequence[Angle], unrotated: int = 0) -> int:
    """Real dimension of the commutant by the class formula; `unrotated` counts the channels left alone.

    Raises Undecided when two symbolic turns can be neither told apart nor shown to coincide.
    """
    classes = Counter(_class_of(angle) for angle in _canonical(angles))
    dimension = 0
    still = unrotated
    for kind, planes in classes.items():
        if kind == _ZERO:
            still += 2 * planes
        else:
            dimension += (2 * planes) ** 2 if kind == _HALF else 2 * planes**2
    return dimension + still**2


def commutant_basis(
    angles: Sequence[ExactAngle], unrotated: int = 0, layout: Layout = "interleaved"
) -> tuple[DomainMatrix, ...]:
    """A basis of {A : AR = RA} by solving the linear system exactly, over ℚ or a cyclotomic field; d_k × d_k each."""
    rotation = rotation_matrix(angles, unrotated, layout)
    size, field = rotation.shape[0], rotation.domain
    if not size:
        raise InvalidInput("commutant_basis: there is no channel; give at least one plane or one unrotated channel.")
    entries = rotation.to_list()
    rows = []
    for i in range(size):
        for j in range(size):
            row = [field.zero] * size**2
            for m in range(size):
                row[i * size + m] += entries[m][j]  # (A R)_ij
                row[m * size + j] -= entries[i][m]  # (R A)_ij
            rows.append(row)
    basis = linear.kernel(linear.from_rows(rows, size**2, field))
    return tuple(
        DomainMatrix([v[i * size : (i + 1) * size] for i in range(size)], (size, size), field) for v in basis.to_list()
    )


def rotation_matrix(angles: Sequence[ExactAngle], unrotated: int = 0, layout: Layout = "interleaved") -> DomainMatrix:
    """The rotation R at position 1 (rows x ↦ xR). 'interleaved' pairs channels 2j, 2j+1; 'rotate_half' pairs j, j + m
    of the 2m rotated channels. Unrotated channels come last. Entries lie in ℚ or, for turns, in a cyclotomic field."""
    if layout not in ("interleaved", "rotate_half"):
        raise InvalidInput(f"layout {layout!r}: expected 'interleaved' or 'rotate_half'.")
    planes, field = _exact(angles)
    m = len(planes)
    size = 2 * m + unrotated
    entries = [[field.one if i == j else field.zero for j in range(size)] for i in range(size)]
    for j, (cosine, sine) in enumerate(planes):
        a, b = (2 * j, 2 * j + 1) if layout == "interleaved" else (j, j + m)
        entries[a][a], entries[a][b], entries[b][a], entries[b][b] = cosine, -sine, sine, cosine
    return DomainMatrix(entries, (size, size), field)


def standard_frequencies(rotated: int, base: int = 10_000) -> tuple[sp.Expr, ...]:
    """The turns of standard RoPE, exactly: base^(−2j/rotated) radians per position, j = 0 … rotated/2 − 1."""
    if rotated % 2 or rotated < 0 or base < 2:
        raise InvalidInput(f"standard_frequencies: rotated={rotated} must be even and base={base} at least 2.")
    return tuple(sp.Integer(base) ** sp.Rational(-2 * j, rotated) / (2 * sp.pi) for j in range(rotated // 2))


def cross_block_determinant() -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """The determinant of X ↦ R(ω)X − XR(ω') on 2×2 blocks, as computed, with its two angles.

    It equals 4(cos ω − cos ω')², so a block between planes of different cosine must vanish: the reason for the classes.
    """
    first, second = sp.symbols("ω ω'", real=True)
    blocks = [sp.Matrix([[sp.cos(w), -sp.sin(w)], [sp.sin(w), sp.cos(w)]]) for w in (first, second)]
    unknown = sp.Matrix(2, 2, sp.symbols("x0:4"))
    image = blocks[0] * unknown - unknown * blocks[1]
    return sp.simplify(sp.Matrix(list(image)).jacobian(list(unknown)).det()), first, second


# --- classes of angles

_ZERO, _HALF = ("turn", Fraction(0)), ("turn", Fraction(1, 2))
_RIGHT_ANGLES: dict[Fraction, Angle] = {Fraction(1): 0, Fraction(-1): Fraction(1, 2), Fraction(0): Fraction(1, 4)}


def _canonical(angles: Sequence[Angle]) -> list[Angle]:
    """Turns reduced to [0, 1/2] under t ~ ±t mod 1; symbolic turns replaced by the first one of their class."""
    seen: list[sp.Expr] = []
    canonical: list[Angle] = []
    for angle in angles:
        if isinstance(angle, CirclePoint):
            canonical.append(_RIGHT_ANGLES.get(Fraction(angle.cosine), angle))
            continue
        turn = sp.sympify(angle)
        if turn.is_Rational:
            part = Fraction(int(turn.p), int(turn.q)) % 1
            canonical.append(min(part, 1 - part))
            continue
        known = next((other for other in seen if _is_whole(turn - other) or _is_whole(turn + other)), None)
        if known is None:
            seen.append(turn)
            known = (
                sp.Integer(0) if _is_whole(turn) else sp.Rational(1, 2) if _is_whole(turn - sp.Rational(1, 2)) else turn
            )
        canonical.append(known)
    return canonical


def _class_of(angle: Angle) -> tuple[str, Any]:
    if isinstance(angle, CirclePoint):
        return "cosine", Fraction(angle.cosine)
    turn = sp.sympify(angle)
    return ("turn", Fraction(int(turn.p), int(turn.q))) if turn.is_Rational else ("symbolic", turn)


def _is_whole(turn: sp.Expr) -> bool:
    """Whether an exact expression is an integer: refuted by 50 digits, or proved by simplification."""
    value = sp.N(turn, 50)
    if not value.is_Float and not value.is_Integer:
        raise Undecided(f"the turn {turn} has no numerical value; give numbers, such as Fraction(1, 6) or 1/(2π).")
    nearest = sp.floor(value + sp.Rational(1, 2))  # round() takes three times as long as all the rest
    if abs(value - nearest) > sp.Float("1e-30", 50):
        return False
    if sp.simplify(turn - nearest) == 0:
        return True
    raise Undecided(f"cannot decide whether {turn} is a whole number of turns.")


def _exact(angles: Sequence[ExactAngle]) -> tuple[list[tuple[Any, Any]], Any]:
    """Cosines and sines in one exact field: ℚ for circle points, ℚ(ζ_m) with 4 | m as soon as there is a turn."""
    if not all(isinstance(angle, CirclePoint | Fraction | int) for angle in angles):
        raise InvalidInput(
            "the exact solve needs turns as Fraction, or points of the circle; other turns have the formula."
        )
    turns = [Fraction(angle) % 1 for angle in angles if not isinstance(angle, CirclePoint)]
    order = lcm(4, *(turn.denominator for turn in turns))
    field = QQ.cyclotomic_field(order) if turns else QQ

    def plane(angle: ExactAngle) -> tuple[Any, Any]:
        if isinstance(angle, CirclePoint):
            cosine, sine = (field.convert(QQ(*Fraction(x).as_integer_ratio()), QQ) for x in (angle.cosine, angle.sine))
            return cosine, sine
        power = int(Fraction(angle) % 1 * order)
        forward, backward = field.unit**power, field.unit ** (-power % order)
        return (forward + backward) / 2, (forward - backward) / (2 * field.unit ** (order // 4))

    return [plane(angle) for angle in angles], field
