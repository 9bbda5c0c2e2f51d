"""The smallest gauge model, L(q, k) = ½(qk − 1)² with (q, k) ~ (qa, k/a): it refutes several general statements."""

from __future__ import annotations

import sympy as sp

q, k = sp.symbols("q k", real=True)
PRODUCT = q * k
LOSS = (PRODUCT - 1) ** 2 / 2
VERTICAL = sp.Matrix([q, -k])  # the generator of the gauge action
GRADIENT = sp.Matrix([sp.diff(LOSS, q), sp.diff(LOSS, k)])
HESSIAN = sp.hessian(LOSS, (q, k))


def at(expression: sp.Expr | sp.Matrix, q_value: sp.Expr | int, k_value: sp.Expr | int) -> sp.Expr | sp.Matrix:
    """Any of the expressions at a point."""
    return expression.subs({q: sp.sympify(q_value), k: sp.sympify(k_value)}, simultaneous=True)


def product_velocity() -> sp.Expr:
    """dm/dt of m = qk along gradient flow: −(m − 1)(q² + k²), which is not a function of m alone."""
    return sp.factor(-(sp.diff(PRODUCT, q) * GRADIENT[0] + sp.diff(PRODUCT, k) * GRADIENT[1]))


def natural_product_velocity() -> sp.Expr:
    """dm/dt along natural-gradient flow −F⁺∇L with the Fisher metric F = ∇m∇mᵀ: a function of m, −(m − 1)."""
    slope = sp.Matrix([k, q])
    pseudo_inverse = slope * slope.T / slope.dot(slope) ** 2
    return sp.simplify(-(slope.T * pseudo_inverse * GRADIENT)[0])


def orthogonality() -> sp.Expr:
    """⟨∇L, v⟩: zero at every point."""
    return sp.expand(GRADIENT.dot(VERTICAL))


def orbit_crosses_zero() -> bool:
    """Whether {qk = 1} meets {q = 0}, as a path inside it from (1, 1) to (−1, −1) would have to (q changes sign)."""
    return sp.solve([PRODUCT - 1, q], [q, k], dict=True) != []
