"""Removing the gauge part of an update: the orthogonal projector (a Sylvester equation), and the paper's Algorithm 3.

The vertical vectors at (W_Q, W_K) are (W_Q Z, −W_K Zᵀ). A pair (G_Q, G_K) is orthogonal to all of them exactly when its
*pairing* W_QᵀG_Q − G_KᵀW_K is zero, and subtracting the vertical vector of Z lowers the pairing by
(W_QᵀW_Q) Z + Z (W_KᵀW_K).
"""

from __future__ import annotations

import sympy as sp

from symgauge.symbolic.identities import d, d_k, matrix
from symgauge.symbolic.proof import Proof, prove_equal

Pair = tuple[sp.Matrix, sp.Matrix]


def pairing(weights: Pair, update: Pair) -> sp.Matrix:
    """W_QᵀG_Q − G_KᵀW_K (k×k): entry (p, q) is the inner product of the update with the generator E_pq."""
    return weights[0].T * update[0] - update[1].T * weights[1]


def remove(weights: Pair, update: Pair, z: sp.Matrix) -> Pair:
    """The update less the vertical vector of Z."""
    return update[0] - weights[0] * z, update[1] + weights[1] * z.T


def orthogonal_projection(weights: Pair, update: Pair) -> Pair:
    """The update less its vertical part, exactly: Z solves (W_QᵀW_Q)Z + Z(W_KᵀW_K) = pairing (unique at full rank)."""
    size = weights[0].cols
    unknown = sp.Matrix(size, size, lambda i, j: sp.Symbol(f"z{i}_{j}"))
    grams = [w.T * w for w in weights]
    equations = grams[0] * unknown + unknown * grams[1] - pairing(weights, update)
    solution = sp.solve(list(equations), list(unknown), dict=True)[0]
    return remove(weights, update, unknown.subs(solution))


def algorithm_3(weights: Pair, update: Pair) -> Pair:
    """As published: X = W_Q⁺G_Q, Y = −W_K⁺G_K, Z = (X + Yᵀ)/2, then subtract the vertical vector of Z."""
    x, y = pseudo_inverse(weights[0]) * update[0], -pseudo_inverse(weights[1]) * update[1]
    return remove(weights, update, (x + y.T) / 2)


def pseudo_inverse(w: sp.Matrix) -> sp.Matrix:
    """(WᵀW)⁻¹Wᵀ, for full column rank."""
    return (w.T * w).inv() * w.T


def prove_sylvester() -> Proof:
    """pairing(G − vertical(Z)) = pairing(G) − (W_QᵀW_Q Z + Z W_KᵀW_K), for every size."""
    w_q, w_k, g_q, g_k = (matrix(name, d, d_k) for name in ("W_Q", "W_K", "G_Q", "G_K"))
    z = matrix("Z", d_k, d_k)
    left = w_q.T * (g_q - w_q * z) - (g_k + w_k * z.T).T * w_k
    right = (w_q.T * g_q - g_k.T * w_k) - (w_q.T * w_q * z + z * w_k.T * w_k)
    return prove_equal(
        left, right, statement="removing the vertical vector of Z changes the pairing by Sylvester's map"
    )


def prove_gradient_is_horizontal() -> Proof:
    """A gradient of a function of M = W_Q W_Kᵀ, G_Q = E W_K and G_K = Eᵀ W_Q with E = ∂L/∂M, has pairing zero."""
    w_q, w_k, e = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("E", d, d)
    left = w_q.T * (e * w_k) - (e.T * w_q).T * w_k
    return prove_equal(left, sp.ZeroMatrix(d_k, d_k), statement="a true gradient is orthogonal to the gauge orbit")
