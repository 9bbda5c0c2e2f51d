"""The proof of Lemma B.3, for every size: what δ(W_Q W_Kᵀ) = 0 and δ(W_V W_O) = 0 force, step by step.

Full column rank of a d×k matrix W enters through a left inverse, W⁺W = I; full row rank of W_O through W_O W_O⁺ = I.
Each step evaluates one product in two ways: once by the inverse, once by the condition.
"""

from __future__ import annotations

import sympy as sp
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

from symgauge.symbolic import linear
from symgauge.symbolic.identities import d, d_k, d_v, matrix, n
from symgauge.symbolic.proof import Proof, prove_equal
from symgauge.symbolic.words import Facts

W_Q, W_K, W_V, W_O = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("W_V", d, d_v), matrix("W_O", d_v, d)
dQ, dK, dV, dO = matrix("δW_Q", d, d_k), matrix("δW_K", d, d_k), matrix("δW_V", d, d_v), matrix("δW_O", d_v, d)
Q_LEFT, K_LEFT, V_LEFT = matrix("W_Q⁺", d_k, d), matrix("W_K⁺", d_k, d), matrix("W_V⁺", d_v, d)
O_RIGHT, PI = matrix("W_O⁺", d, d_v), matrix("Π", d, d)  # Π = I − W_Q W_Q⁺

QUERY_KEY_CONDITION = ((dQ * W_K.T, -W_Q * dK.T),)  # δW_Q W_Kᵀ + W_Q δW_Kᵀ = 0
VALUE_CONDITION = ((dV * W_O, -W_V * dO),)  # δW_V W_O + W_V δW_O = 0


def prove_score_derivative() -> Proof:
    """The t-linear part of (W_Q + tδW_Q)(W_K + tδW_K)ᵀ inside X · Xᵀ is X(δW_Q W_Kᵀ + W_Q δW_Kᵀ)Xᵀ (n×n)."""
    t, x = sp.Symbol("t", real=True), matrix("X", n, d)
    moved = x * (W_Q + t * dQ) * (x * (W_K + t * dK)).T
    expansion = x * W_Q * W_K.T * x.T + t * (x * (dQ * W_K.T + W_Q * dK.T) * x.T) + t**2 * (x * dQ * dK.T * x.T)
    return prove_equal(moved, expansion, statement="the derivative of the scores is X(δW_Q W_Kᵀ + W_Q δW_Kᵀ)Xᵀ")


def prove_perpendicular_part_vanishes() -> tuple[Proof, Proof]:
    """ΠδW_Q = 0: the product Π δW_Q W_Kᵀ (W_K⁺)ᵀ is ΠδW_Q by full rank of W_K, and 0 by the condition, as ΠW_Q = 0."""
    product = PI * dQ * W_K.T * K_LEFT.T
    by_rank = Facts(equations=((K_LEFT * W_K, sp.Identity(d_k)),))
    by_condition = Facts(equations=(*QUERY_KEY_CONDITION, (PI * W_Q, sp.ZeroMatrix(d, d_k))))
    return (
        prove_equal(product, PI * dQ, by_rank, "Π δW_Q W_Kᵀ W_K⁺ᵀ = Π δW_Q"),
        prove_equal(product, sp.ZeroMatrix(d, d_k), by_condition, "Π δW_Q W_Kᵀ W_K⁺ᵀ = 0"),
    )


def prove_key_follows_query() -> tuple[Proof, Proof]:
    """δW_K = −W_K Xᵀ with X = W_Q⁺δW_Q: the product δW_K W_Qᵀ (W_Q⁺)ᵀ evaluated in two ways."""
    product = dK * W_Q.T * Q_LEFT.T
    by_rank = Facts(equations=((Q_LEFT * W_Q, sp.Identity(d_k)),))
    by_condition = Facts(equations=((dK * W_Q.T, -W_K * dQ.T),))
    return (
        prove_equal(product, dK, by_rank, "δW_K W_Qᵀ W_Q⁺ᵀ = δW_K"),
        prove_equal(product, -W_K * (Q_LEFT * dQ).T, by_condition, "δW_K W_Qᵀ W_Q⁺ᵀ = −W_K (W_Q⁺δW_Q)ᵀ"),
    )


def prove_value_output() -> tuple[Proof, ...]:
    """With Y = −δW_O W_O⁺: δW_V = W_V Y (needs W_O W_O⁺ = I, that is rank W_O = d_v) and δW_O = −Y W_O."""
    y = -dO * O_RIGHT
    first, second = dV * W_O * O_RIGHT, V_LEFT * (dV * W_O)
    row_rank = Facts(equations=((W_O * O_RIGHT, sp.Identity(d_v)),))
    column_rank = Facts(equations=((V_LEFT * W_V, sp.Identity(d_v)),))
    condition = Facts(equations=VALUE_CONDITION)
    both = Facts(equations=(*VALUE_CONDITION, (V_LEFT * W_V, sp.Identity(d_v))))
    return (
        prove_equal(first, dV, row_rank, "δW_V W_O W_O⁺ = δW_V"),
        prove_equal(first, W_V * y, condition, "δW_V W_O W_O⁺ = W_V Y"),
        prove_equal(V_LEFT * (W_V * y) * W_O, y * W_O, column_rank, "W_V⁺ (W_V Y) W_O = Y W_O"),
        prove_equal(second, -dO, both, "W_V⁺ δW_V W_O = −δW_O"),
    )


def prove_freeness() -> tuple[Proof, ...]:
    """W_Q X = 0 gives X = 0, and W_V Y = 0 gives Y = 0: W⁺WX is X by full column rank, and 0 by the condition."""
    x, y = matrix("X", d_k, d_k), matrix("Y", d_v, d_v)
    proofs = []
    for weight, left, algebra, size in ((W_Q, Q_LEFT, x, d_k), (W_V, V_LEFT, y, d_v)):
        by_rank = Facts(equations=((left * weight, sp.Identity(size)),))
        by_condition = Facts(equations=((weight * algebra, sp.ZeroMatrix(d, size)),))
        product = left * weight * algebra
        proofs.append(prove_equal(product, algebra, by_rank, f"{left} {weight} {algebra} = {algebra}"))
        proofs.append(prove_equal(product, sp.ZeroMatrix(size, size), by_condition, f"{left} {weight} {algebra} = 0"))
    return tuple(proofs)


def prove_factors_of_one_product() -> tuple[Proof, ...]:
    """The finite version: full-rank factors of one M = W_Q W_Kᵀ = W_Q'W_K'ᵀ are related by A = W_Kᵀ(W_K'⁺)ᵀ.

    W_Q' = W_Q A from the product W_Q'W_K'ᵀ(W_K'⁺)ᵀ in two ways; then A W_K'ᵀ = W_Kᵀ from W_Q⁺(W_Q A)W_K'ᵀ in two ways.
    """
    other_q, other_k, other_left = matrix("W_Q'", d, d_k), matrix("W_K'", d, d_k), matrix("W_K'⁺", d_k, d)
    a = matrix("A", d_k, d_k)
    first = other_q * other_k.T * other_left.T
    second = Q_LEFT * W_Q * a * other_k.T
    by_rank = Facts(equations=((other_left * other_k, sp.Identity(d_k)),))
    same_product = Facts(equations=((other_q * other_k.T, W_Q * W_K.T),))
    left_inverse = (Q_LEFT * W_Q, sp.Identity(d_k))
    moved_product = Facts(equations=((W_Q * a * other_k.T, W_Q * W_K.T),))
    return (
        prove_equal(first, other_q, by_rank, "W_Q'W_K'ᵀ W_K'⁺ᵀ = W_Q'"),
        prove_equal(first, W_Q * (W_K.T * other_left.T), same_product, "W_Q'W_K'ᵀ W_K'⁺ᵀ = W_Q A"),
        prove_equal(second, a * other_k.T, Facts(equations=(left_inverse,)), "W_Q⁺ W_Q A W_K'ᵀ = A W_K'ᵀ"),
        prove_equal(Q_LEFT * (W_Q * W_K.T), W_K.T, Facts(equations=(left_inverse,)), "W_Q⁺ W_Q W_Kᵀ = W_Kᵀ"),
        prove_equal(second, Q_LEFT * W_Q * W_K.T, moved_product, "W_Q⁺ (W_Q A W_K'ᵀ) = W_Q⁺ (W_Q W_Kᵀ)"),
    )


def generic_kernel_dimension(rows: int, columns: int) -> int:
    """Dimension of {(δA, δB) : δA Bᵀ + A δBᵀ = 0} for A, B of size rows×columns with *symbolic* entries, over their
    field of rational functions: the generic value at this size. It is columns² when rows ≥ columns."""
    names = sp.symbols(f"a0:{rows * columns} b0:{rows * columns}")
    field = QQ.frac_field(*names)
    entries = [field.from_sympy(name) for name in names]
    a = [entries[i * columns : (i + 1) * columns] for i in range(rows)]
    b = [entries[(rows + i) * columns : (rows + i + 1) * columns] for i in range(rows)]
    conditions = []
    for i in range(rows):
        for j in range(rows):
            row = [field.zero] * (2 * rows * columns)
            for m in range(columns):
                row[i * columns + m] += b[j][m]  # δA_im B_jm
                row[(rows + j) * columns + m] += a[i][m]  # A_im δB_jm
            conditions.append(row)
    system: DomainMatrix = linear.from_rows(conditions, 2 * rows * columns, field)
    return system.shape[1] - linear.rank(system)
