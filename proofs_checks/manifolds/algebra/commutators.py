"""Gradient steps in either order, gauge generators, and what gradient flow conserves: exact, without floats.

Points, gradients and directions are pairs (W_Q, W_K) of rational matrices, and the losses functions of W_Q W_Kᵀ, so
(W_Q X, −W_K Xᵀ) is a symmetry direction for every X. Words of matrix letters give the statements for every size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import sympy as sp
from sympy.matrices.expressions.matexpr import MatrixExpr

from symgauge.symbolic.identities import d, d_k, d_v, matrix, n
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import Proof, prove_equal
from symgauge.symbolic.words import Facts

Pair = tuple[sp.Matrix, sp.Matrix]
eta = sp.Symbol("eta", positive=True)


# --- losses of the product, exact


@dataclass(frozen=True)
class ScoreLoss:
    """L(W_Q, W_K) = ½|X W_Q W_Kᵀ Yᵀ − Z|² + pull · tr W_Q (W_Q square); a pull breaks the symmetry."""

    x: sp.Matrix
    y: sp.Matrix
    z: sp.Matrix
    pull: int = 0

    def gradient(self, at: Pair) -> Pair:
        q, k = at
        r = self.x * q * k.T * self.y.T - self.z
        first = self.x.T * r * self.y * k
        return first + self.pull * sp.eye(q.rows) if self.pull else first, self.y.T * r.T * self.x * q

    def hessian_times(self, at: Pair, v: Pair) -> Pair:
        q, k = at
        r = self.x * q * k.T * self.y.T - self.z
        moved = self.x * (v[0] * k.T + q * v[1].T) * self.y.T
        first = self.x.T * (moved * self.y * k + r * self.y * v[1])
        return first, self.y.T * (moved.T * self.x * q + r.T * self.x * v[0])


def random_loss(rng: Random, size: int = 2, pull: int = 0) -> ScoreLoss:
    """General rational X (3 × size), Y (2 × size), Z (3 × 2)."""
    parts = general_matrix(3, size, rng), general_matrix(2, size, rng), general_matrix(3, 2, rng)
    return ScoreLoss(*parts, pull=pull)


def combine(a: Pair, b: Pair, s: sp.Expr | int = 1) -> Pair:
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1]


def inner(a: Pair, b: Pair) -> sp.Expr:
    return sum(sp.trace(p.T * q) for p, q in zip(a, b, strict=True))


def commutator(a: ScoreLoss, b: ScoreLoss, at: Pair, step: sp.Expr) -> Pair:
    """θ_AB − θ_BA of one gradient step on each loss, A first in θ_AB."""
    after_a, after_b = combine(at, a.gradient(at), -step), combine(at, b.gradient(at), -step)
    return combine(combine(after_a, b.gradient(after_a), -step), combine(after_b, a.gradient(after_b), -step), -1)


def bracket(a: ScoreLoss, b: ScoreLoss, at: Pair) -> Pair:
    """H_B g_A − H_A g_B."""
    return combine(b.hessian_times(at, a.gradient(at)), a.hessian_times(at, b.gradient(at)), -1)


def generator(x: sp.Matrix, v: Pair) -> Pair:
    """M v = (V_Q X, −V_K Xᵀ); Mᵀ is the generator of Xᵀ."""
    return v[0] * x, -v[1] * x.T


def balance_slope(at: Pair, v: Pair) -> sp.Matrix:
    """Derivative of W_QᵀW_Q − W_KᵀW_K along v."""
    half = at[0].T * v[0] - at[1].T * v[1]
    return half + half.T


# --- every loss, by its Taylor coefficients


def taylor_coefficients(order: int = 3) -> list[sp.Matrix]:
    """Coefficients of η⁰ … η^order in θ_AB − θ_BA at θ = 0, less the bracket at η², for all cubic losses on R².

    A loss is given by its gradient g, Hessian H and third derivatives t, all letters; the η² term of any smooth loss
    depends on g and H only.
    """
    u, v = sp.symbols("u v")

    def loss(name: str) -> sp.Expr:
        g, h, t = (sp.symbols(f"{kind}{name}0:{count}") for kind, count in (("g", 2), ("h", 3), ("t", 4)))
        quadratic = h[0] * u**2 / 2 + h[1] * u * v + h[2] * v**2 / 2
        return g[0] * u + g[1] * v + quadratic + (t[0] * u**3 + t[1] * u**2 * v + t[2] * u * v**2 + t[3] * v**3) / 6

    losses = loss("a"), loss("b")
    slopes = [sp.Matrix([part.diff(u), part.diff(v)]) for part in losses]

    def at(field: sp.Matrix, point: sp.Matrix) -> sp.Matrix:
        return field.subs({u: point[0], v: point[1]}, simultaneous=True)

    origin = sp.zeros(2, 1)
    g_a, g_b = (at(field, origin) for field in slopes)
    h_a, h_b = (at(sp.hessian(part, (u, v)), origin) for part in losses)
    difference = -eta * (g_a + at(slopes[1], -eta * g_a)) + eta * (g_b + at(slopes[0], -eta * g_b))
    difference = (difference - eta**2 * (h_b * g_a - h_a * g_b)).applyfunc(sp.expand)
    return [difference.applyfunc(lambda e, k=k: e.coeff(eta, k)) for k in range(order + 1)]


# --- every size, by words


def prove_quadratic() -> Proof:
    """Quadratic losses with minima a, b: θ_AB − θ_BA = η²(H_B H_A (θ−a) − H_A H_B (θ−b)), every η and size."""
    h_a, h_b = matrix("H_A", d, d), matrix("H_B", d, d)
    t, a, b = (matrix(name, d, 1) for name in ("t", "a", "b"))

    def after(first: tuple[MatrixExpr, MatrixExpr], second: tuple[MatrixExpr, MatrixExpr]) -> MatrixExpr:
        (h, m), (h2, m2) = first, second
        once = t - eta * h * (t - m)
        return once - eta * h2 * (once - m2)

    right = eta**2 * h_b * h_a * (t - a) - eta**2 * h_a * h_b * (t - b)
    return prove_equal(after((h_a, a), (h_b, b)) - after((h_b, b), (h_a, a)), right, statement="quadratic commutator")


def prove_pairing(broken: bool = False) -> Proof:
    """⟨H_B g_A − H_A g_B, Mθ⟩ = ⟨g_A, (M − Mᵀ) g_B⟩ from H M θ = −Mᵀ g, for symmetric Hessians; 1×1 matrices.

    broken: with M + Mᵀ, which is not so.
    """
    h_a, h_b, m = (matrix(name, d, d) for name in ("H_A", "H_B", "M"))
    g_a, g_b, t = (matrix(name, d, 1) for name in ("g_A", "g_B", "t"))
    facts = Facts(
        symmetric=(h_a, h_b), equations=((h_a * (m * t), -1 * (m.T * g_a)), (h_b * (m * t), -1 * (m.T * g_b)))
    )
    left = (h_b * g_a - h_a * g_b).T * m * t
    right = g_a.T * m * g_b + (1 if broken else -1) * g_a.T * m.T * g_b
    # The second pairing comes out as ⟨g_B, Mᵀ g_A⟩, a number that equals its transpose ⟨g_A, M g_B⟩.
    number = g_b.T * m.T * g_a
    return prove_equal(left - number, right - g_a.T * m * g_b, facts, "pairing with a generator")


def prove_balance_kept() -> tuple[Proof, Proof]:
    """Gradient flow keeps W_QᵀW_Q − W_KᵀW_K of a loss of W_QW_Kᵀ, and W_VᵀW_V − W_OW_Oᵀ of a loss of W_VW_O."""
    w_q, w_k, w_v, w_o = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("W_V", d, d_v), matrix("W_O", d_v, d)
    e = matrix("E", d, d)
    g_q, g_k = e * w_k, e.T * w_q
    g_v, g_o = e * w_o.T, w_v.T * e
    first = g_q.T * w_q + w_q.T * g_q - g_k.T * w_k - w_k.T * g_k
    second = g_v.T * w_v + w_v.T * g_v - g_o * w_o.T - w_o * g_o.T
    return prove_equal(first, sp.ZeroMatrix(d_k, d_k)), prove_equal(second, sp.ZeroMatrix(d_v, d_v))


def prove_biased_balance_kept(forgotten: bool = False) -> tuple[Proof, Proof]:
    """The same with queries XW_Q + 1b_Qᵀ, keys XW_K + 1b_Kᵀ and values XW_V + 1b_Vᵀ: bbᵀ joins WᵀW.

    E and F are the slopes of the loss in the products of queries with keys and of values with W_O, any matrices.
    forgotten: the balances without the biases, which are not kept.
    """
    x, one, e, f = matrix("X", n, d), matrix("1", n, 1), matrix("E", n, n), matrix("F", n, d)
    w_q, w_k, w_v = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("W_V", d, d_v)
    b_q, b_k, b_v, w_o = matrix("b_Q", d_k, 1), matrix("b_K", d_k, 1), matrix("b_V", d_v, 1), matrix("W_O", d_v, d)
    values = x * w_v + one * b_v.T
    at_queries, at_keys, at_values = e * (x * w_k + one * b_k.T), e.T * (x * w_q + one * b_q.T), f * w_o.T

    def half(w: MatrixExpr, b: MatrixExpr, slope_at: MatrixExpr) -> MatrixExpr:
        from_weights = w.T * (x.T * slope_at)
        return from_weights if forgotten else from_weights + b * (one.T * slope_at)

    first = half(w_q, b_q, at_queries) - half(w_k, b_k, at_keys)
    second = half(w_v, b_v, at_values) - values.T * f * w_o.T
    return (
        prove_equal(first + first.T, sp.ZeroMatrix(d_k, d_k), statement="balance of queries and keys, with biases"),
        prove_equal(second + second.T, sp.ZeroMatrix(d_v, d_v), statement="balance of values, with their bias"),
    )


def prove_bracket_tangent(broken: bool = False) -> Proof:
    """W_QᵀW_Q − W_KᵀW_K does not change along H_B g_A − H_A g_B for losses of W_QW_Kᵀ, whatever they are.

    E is the slope of a loss in the product, so g = (E W_K, Eᵀ W_Q), and D the change of E along the other gradient, any
    matrix. broken: along H_B g_A alone.
    """
    w_q, w_k = matrix("W_Q", d, d_k), matrix("W_K", d, d_k)
    e_a, e_b, d_a, d_b = (matrix(name, d, d) for name in ("E_A", "E_B", "D_A", "D_B"))

    def hessian_times(e: MatrixExpr, change: MatrixExpr, other: MatrixExpr) -> tuple[MatrixExpr, MatrixExpr]:
        return change * w_k + e * (other.T * w_q), change.T * w_q + e.T * (other * w_k)

    (q_b, k_b), (q_a, k_a) = hessian_times(e_b, d_b, e_a), hessian_times(e_a, d_a, e_b)
    v_q, v_k = (q_b, k_b) if broken else (q_b - q_a, k_b - k_a)
    slope_along = w_q.T * v_q + v_q.T * w_q - w_k.T * v_k - v_k.T * w_k
    return prove_equal(slope_along, sp.ZeroMatrix(d_k, d_k), statement="balance along the bracket")


def prove_one_step() -> Proof:
    """A gradient step of size η changes W_QᵀW_Q − W_KᵀW_K by exactly η²(g_Qᵀg_Q − g_Kᵀg_K)."""
    w_q, w_k, e = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("E", d, d)
    g_q, g_k = e * w_k, e.T * w_q
    q, k = w_q - eta * g_q, w_k - eta * g_k
    left = q.T * q - k.T * k - w_q.T * w_q + w_k.T * w_k
    return prove_equal(left, eta**2 * g_q.T * g_q - eta**2 * g_k.T * g_k, statement="one gradient step")


def prove_midpoint() -> Proof:
    """The implicit midpoint step keeps it exactly: with gradients at the mean P of both points, Q' = P_Q − ½ηE P_K."""
    p_q, p_k, e = matrix("P_Q", d, d_k), matrix("P_K", d, d_k), matrix("E", d, d)
    half = eta / 2
    g_q, g_k = e * p_k, e.T * p_q

    def balance(sign: int) -> MatrixExpr:
        q, k = p_q + sign * half * g_q, p_k + sign * half * g_k
        return q.T * q - k.T * k

    return prove_equal(balance(1), balance(-1), statement="implicit midpoint")


# --- which steps lose q² − k² of L = ½(qk − 1)², and at which order

Scheme = Callable[[sp.Matrix, sp.Expr], sp.Matrix]


KEPT_POWERS = 7


def slope(at: sp.Matrix) -> sp.Matrix:
    """∇L, without powers of η above the seventh."""
    q, k = at
    return sp.Matrix([_cut(k * (q * k - 1)), _cut(q * (q * k - 1))])


def _cut(expression: sp.Expr) -> sp.Expr:
    return sum(sp.expand(expression).coeff(eta, power) * eta**power for power in range(KEPT_POWERS + 1))


def _runge_kutta(at: sp.Matrix, step: sp.Expr) -> sp.Matrix:
    first = slope(at)
    second = slope(at - step / 2 * first)
    third = slope(at - step / 2 * second)
    fourth = slope(at - step * third)
    return at - step / 6 * (first + 2 * second + 2 * third + fourth)


def _momentum(at: sp.Matrix, step: sp.Expr) -> sp.Matrix:
    """Two steps of heavy ball with factor ½ from rest."""
    speed = slope(at)
    after = at - step * speed
    return after - step * (speed / 2 + slope(after))


SCHEMES: dict[str, Scheme] = {
    "gradient step": lambda at, s: at - s * slope(at),
    "Heun": lambda at, s: at - s / 2 * (slope(at) + slope(at - s * slope(at))),
    "Runge–Kutta 4": _runge_kutta,
    "momentum, two steps": _momentum,
    "gradient step with weight decay ½": lambda at, s: (1 - s / 2) * at - s * slope(at),
    "Adam, first step": lambda at, s: at - s * slope(at).applyfunc(sp.sign),
}
ORDERS = {
    "gradient step": 2,
    "Heun": 4,
    "Runge–Kutta 4": 5,
    "momentum, two steps": 2,
    "gradient step with weight decay ½": 1,
    "Adam, first step": 1,
}


def drift(scheme: str, q: int = 2, k: int = 3) -> sp.Poly:
    """Change of q² − k² in one step from the rational point (q, k): a polynomial in η, up to η⁷."""
    after = SCHEMES[scheme](sp.Matrix([q, k]), eta)
    return sp.Poly(_cut(after[0] ** 2 - after[1] ** 2 - q**2 + k**2), eta)


def order_of(polynomial: sp.Poly) -> int:
    """The lowest power with a coefficient other than zero."""
    return min(sum(monomial) for monomial, _ in polynomial.terms())
