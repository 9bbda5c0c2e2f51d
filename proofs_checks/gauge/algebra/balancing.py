"""Balancing the Gram matrices of queries and keys: which A makes AᵀG_QA = A⁻¹G_KA⁻ᵀ (equation (83)), and which not.

With T the geometric mean G_Q⁻¹ # G_K, the positive solution of T G_Q T = G_K, the right choice is A = T^½ (times any
orthogonal matrix). A = T (Algorithm 2) swaps the two Gram matrices; formula (84) as published does neither. Matrices
are kept rational: G_Q = H⁴ and T = S² are built from rational positive definite H and S, so every root is rational.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from symgauge.errors import InvalidInput
from symgauge.symbolic import linear
from symgauge.symbolic.identities import d_k, matrix
from symgauge.symbolic.lie_algebra import matrix_units
from symgauge.symbolic.proof import Proof, prove_equal
from symgauge.symbolic.words import Facts


@dataclass(frozen=True)
class GramPair:
    """G_Q = H⁴ and G_K = T G_Q T with T = S²; H and S rational, symmetric, positive definite (k×k)."""

    h: sp.Matrix
    s: sp.Matrix

    def __post_init__(self) -> None:
        for name, value in (("h", self.h), ("s", self.s)):
            if value != value.T or not value.is_positive_definite:
                raise InvalidInput(f"GramPair: {name} must be symmetric and positive definite, got {value.tolist()}.")

    @property
    def g_q(self) -> sp.Matrix:
        return self.h**4

    @property
    def mean(self) -> sp.Matrix:
        """T = G_Q⁻¹ # G_K."""
        return self.s**2

    @property
    def g_k(self) -> sp.Matrix:
        return self.mean * self.g_q * self.mean

    @property
    def root_of_mean(self) -> sp.Matrix:
        """The correct A = T^½."""
        return self.s

    @property
    def formula_84(self) -> sp.Matrix:
        """G_Q^(−¼) (G_Q^½ G_K G_Q^½)^½ G_Q^(−¼), every root taken exactly: the middle one is H²S²H²."""
        middle = self.h**2 * self.mean * self.h**2
        if middle**2 != self.h**2 * self.g_k * self.h**2:
            raise InvalidInput("GramPair: the middle root is not exact; h and s must be symmetric.")
        return self.h.inv() * middle * self.h.inv()

    def after(self, a: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
        """The two Gram matrices after (W_Q A, W_K A⁻ᵀ): AᵀG_QA and A⁻¹G_KA⁻ᵀ."""
        return a.T * self.g_q * a, a.inv() * self.g_k * a.inv().T

    def imbalance(self, a: sp.Matrix) -> sp.Matrix:
        """AᵀG_QA − A⁻¹G_KA⁻ᵀ; zero when A balances."""
        first, second = self.after(a)
        return first - second


EXAMPLE = GramPair(sp.Matrix([[2, 1], [1, 3]]), sp.Matrix([[1, 1], [1, 4]]))  # H and S do not commute
SCALARS = GramPair(sp.Matrix([[1]]), sp.Matrix([[2]]))  # g_Q = 1, g_K = 16


def prove_mean_solves() -> Proof:
    """T = P⁻¹RP⁻¹ with P² = G_Q and R² = P G_K P satisfies T G_Q T = G_K, for every size."""
    p, r, g_k = (matrix(name, d_k, d_k) for name in ("P", "R", "G_K"))
    mean = p.I * r * p.I
    facts = Facts(symmetric=(p, r, g_k), equations=((r * r, p * g_k * p),))
    return prove_equal(mean * (p * p) * mean, g_k, facts, "the geometric mean T solves T G_Q T = G_K")


def prove_root_balances() -> Proof:
    """A = S with S² = T and G_K = T G_Q T balances, for every size."""
    s, g_q = matrix("S", d_k, d_k), matrix("G_Q", d_k, d_k)
    g_k = s * s * g_q * s * s
    facts = Facts(symmetric=(s, g_q))
    return prove_equal(s.T * g_q * s, s.I * g_k * s.I.T, facts, "A = T^½ balances the Gram matrices")


def prove_mean_swaps() -> tuple[Proof, Proof]:
    """A = T exchanges the two Gram matrices, for every size."""
    t, g_q = matrix("T", d_k, d_k), matrix("G_Q", d_k, d_k)
    g_k, facts = t * g_q * t, Facts(symmetric=(t, g_q))
    return (
        prove_equal(t.T * g_q * t, g_k, facts, "with A = T the query Gram becomes G_K"),
        prove_equal(t.I * g_k * t.I.T, g_q, facts, "with A = T the key Gram becomes G_Q"),
    )


def prove_orthogonal_freedom() -> Proof:
    """If A balances, so does A O for every orthogonal O: the balanced form is not unique."""
    a, o, g_q, g_k = (matrix(name, d_k, d_k) for name in ("A", "O", "G_Q", "G_K"))
    # the hypothesis AᵀG_QA = A⁻¹G_KA⁻ᵀ, solved for G_K
    balanced = a * a.T * g_q * a * a.T
    facts = Facts(orthogonal=(o,), symmetric=(g_q, g_k))
    left, right = (a * o).T * g_q * (a * o), o.T * a.I * balanced * a.I.T * o
    return prove_equal(left, right, facts, "A O balances whenever A does")


def balance_constraint_rank(gram: sp.Matrix) -> int:
    """Rank of the balance condition at a balanced point: of X ↦ d/dt (AᵀGA − A⁻¹GA⁻ᵀ) along A = exp(tX).

    It is k(k+1)/2 of k² for a positive definite G, so k(k−1)/2 gauge directions (the skew ones) stay free.
    """
    rows = []
    for x in matrix_units(gram.rows):
        moved = x.T * gram + gram * x + x * gram + gram * x.T
        rows.append(list(linear.rational(moved).to_list_flat()))
    return linear.rank(linear.from_rows(rows, gram.rows**2))


def kept_and_removed(heads: int, d_k: int, d_v: int) -> tuple[int, int]:
    """Gauge dimensions that (balanced, orthonormal W_V) removes and leaves: symmetric equations, orthogonal freedom."""
    removed = heads * (d_k * (d_k + 1) // 2 + d_v * (d_v + 1) // 2)
    return removed, heads * (d_k**2 + d_v**2) - removed


def same_gram_different_weights() -> Sequence[sp.Matrix]:
    """(W_Q, W_K) balanced, and (W_Q O, W_K O): the same function, both balanced, not related by signs (4×2)."""
    base = sp.Matrix([[1, 0], [0, 1], [0, 0], [0, 0]])
    rotation = sp.Matrix([[3, 4], [-4, 3]]) / 5
    return base, base, base * rotation, base * rotation
