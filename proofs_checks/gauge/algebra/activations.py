"""Scalar activations as SymPy functions, and the identities that decide the symmetries of a feed-forward network."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from symgauge.errors import InvalidInput

x = sp.Symbol("x", real=True)


def gelu(z: sp.Expr) -> sp.Expr:
    """z Φ(z), with the Gaussian distribution function."""
    return z * (1 + sp.erf(z / sp.sqrt(2))) / 2


def gelu_tanh(z: sp.Expr) -> sp.Expr:
    """The tanh approximation of GELU."""
    return z * (1 + sp.tanh(sp.sqrt(2 / sp.pi) * (z + sp.Rational(44715, 1_000_000) * z**3))) / 2


def silu(z: sp.Expr) -> sp.Expr:
    """z times the logistic function, written through tanh."""
    return z * (1 + sp.tanh(z / 2)) / 2


ACTIVATIONS = {"gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu}


def odd_part_excess(name: str) -> sp.Expr:
    """f(x) − f(−x) − x, simplified: 0 for GELU, its tanh form and SiLU, so two neurons can add up to a linear map."""
    f = _known(name)
    return sp.simplify(f(x) - f(-x) - x)


def homogeneous_scales(name: str) -> set[sp.Expr]:
    """All real λ with f(λx) = λ f(x) for every x, from the second derivative at 0: λ² f''(0) = λ f''(0), f''(0) ≠ 0.

    The candidates are then confirmed as identities, so the answer is the whole set.
    """
    f, scale = _known(name), sp.Symbol("λ", real=True)
    curvature = sp.simplify(sp.diff(f(x), x, 2).subs(x, 0))
    if curvature == 0:
        raise InvalidInput(f"homogeneous_scales: {name} has no curvature at 0, so this argument decides nothing.")
    candidates = sp.solve(scale**2 * curvature - scale * curvature, scale)
    return {value for value in candidates if sp.simplify(f(value * x) - value * f(x)) == 0}


def curvatures_are_independent() -> bool:
    """Whether GELU''(a_js + c_j), with a_j ≠ 0 and (a_j, c_j) pairwise different up to sign, are independent functions.

    GELU''(z) = (2 − z²)φ(z). Two exponents (as + c)²/2 whose difference is constant belong to (a, c) and ±(a, c); all
    others differ by a polynomial that grows, while the factors in front keep a finite ratio. So as s → ∞ the term whose
    exponent grows least outweighs all others of a combination, which vanishes only if that term does, and so on.
    """
    a, other = sp.symbols("a a'", real=True, nonzero=True)
    c, offset = sp.symbols("c c'", real=True)
    curvature = (2 - x**2) * sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi)
    growing = sp.Poly((a * x + c) ** 2 - (other * x + offset) ** 2, x)
    constant = sp.solve([growing.coeff_monomial(x**2), growing.coeff_monomial(x)], [other, offset])
    ratio = sp.limit((2 - (a * x + c) ** 2) / (2 - (other * x + offset) ** 2), x, sp.oo)
    return (
        sp.simplify(sp.diff(gelu(x), x, 2) - curvature) == 0
        and set(constant) == {(a, c), (-a, -c)}
        and sp.simplify(ratio - a**2 / other**2) == 0
    )


def _known(name: str) -> Callable[[sp.Expr], sp.Expr]:
    if name not in ACTIVATIONS:
        raise InvalidInput(f"activation {name!r} is not one of {', '.join(ACTIVATIONS)}.")
    return ACTIVATIONS[name]
