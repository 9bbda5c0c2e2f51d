"""What an algebra that is simple over ℚ is over ℝ: a product of simple algebras, one for each place of its centroid.

The centroid is a number field ℚ[t]/f, φ standing for t. Every real root of f gives one real simple factor of the
common complex type, every pair of complex roots that complex algebra seen over ℝ. The form κ((φ − c)x, y) has the
character Σ_{root > c} s − Σ_{root < c} s, s the character of the Killing form of the factor at that root (complex
places contribute 0); taken for c between the roots it gives every s, exactly.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import sympy
from flint import fmpz_mat, fmpz_poly

from symgauge.lie.real_forms import name_over_complex, names_of_form
from symgauge.lie.signature import signature
from symgauge.lie.simple_types import simple_types

if TYPE_CHECKING:
    from symgauge.lie.algebra import LieAlgebra


def real_factors(algebra: LieAlgebra, phi: fmpz_mat, polynomial: fmpz_poly) -> list[str]:
    """Names of the real simple factors of an algebra that is simple over ℚ.

    Args:
        algebra: simple over ℚ.
        phi: generates its centroid; n × n, acting on columns.
        polynomial: the irreducible minimal polynomial of ``phi``.
    """
    types = simple_types(algebra, phi, polynomial)
    if polynomial.degree() == 1:
        return [names_of_form(types, algebra.signature().character)]
    between = _between_roots(polynomial)
    form = algebra.integer_killing_form()
    characters = [signature(c.denominator * form * phi - c.numerator * form).character for c in between]
    real = [(left - right) // 2 for left, right in pairwise(characters)]
    pairs = (polynomial.degree() - len(real)) // 2
    return sorted(names_of_form(types, s) for s in real) + [name_over_complex(types)] * pairs


def _between_roots(polynomial: fmpz_poly) -> list[Fraction]:
    """Rationals below, between and above the real roots; none is a root, as f is irreducible of degree 2 or more."""
    exact = sympy.Poly([int(c) for c in reversed(polynomial.coeffs())], sympy.Symbol("t"))
    intervals = [tuple(Fraction(int(end.p), int(end.q)) for end in ends) for ends, _ in exact.intervals()]
    return [intervals[0][0], *(high for _, high in intervals)] if intervals else [Fraction(0)]
