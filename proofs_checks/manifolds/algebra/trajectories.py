"""Null models of paths and the entropy of softmax, exact: random walks, random planes, score scaling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import sympy as sp

# --- the random walk


def walk_gram(n: int) -> sp.Matrix:
    """Expected Gram matrix of n centred snapshots of a random walk, per unit variance of a step: C min(i, j) C."""
    centre = sp.eye(n) - sp.ones(n, n) / n
    return centre * sp.Matrix(n, n, lambda i, j: min(i, j)) * centre


def path_laplacian(n: int) -> sp.Matrix:
    """Of the path with n vertices."""

    def entry(i: int, j: int) -> int:
        return (1 if i in (0, n - 1) else 2) if i == j else -int(abs(i - j) == 1)

    return sp.Matrix(n, n, entry) if n > 1 else sp.zeros(1, 1)


def inverse_on_centred(n: int) -> bool:
    """Whether Gram · Laplacian is the centring projector: eigenvalues of the walk are the inverse ones of the path."""
    return walk_gram(n) * path_laplacian(n) == sp.eye(n) - sp.ones(n, n) / n


def laplacian_eigenvector_gaps() -> list[sp.Expr]:
    """What remains of L v = (2 − 2cos(πk/n)) v for v_j = cos(πk(j+½)/n), inside and at both ends: zeros."""
    j, n = sp.symbols("j n", positive=True)
    k = sp.Symbol("k", integer=True)
    angle = sp.pi * k / n

    def v(at: sp.Expr) -> sp.Expr:
        return sp.cos(angle * (at + sp.Rational(1, 2)))

    value = 2 - 2 * sp.cos(angle)
    inside = 2 * v(j) - v(j - 1) - v(j + 1) - value * v(j)
    first = v(sp.S.Zero) - v(sp.S.One) - value * v(sp.S.Zero)
    # At the last vertex the missing neighbour v(n) equals v(n−1), as sin(πk) = 0.
    last = v(n) - v(n - 1)
    return [sp.simplify(sp.expand(part.rewrite(sp.exp))) for part in (inside, first, last)]


def share_bounds(n: int, count: int) -> tuple[float, float]:
    """An interval that holds the share of the first `count` components of the walk, by interval arithmetic."""
    from mpmath import iv

    total = iv.mpf(n * n - 1) / 6
    part = sum(1 / (4 * iv.sin(iv.pi * k / (2 * n)) ** 2) for k in range(1, count + 1))
    share = part / total
    return float(share.a), float(share.b)


# --- random planes


def beta_moment(power: sp.Rational, k: sp.Symbol, p: sp.Symbol) -> sp.Expr:
    """E x^power of the Beta distribution with parameters k/2 and (p − k)/2, in Γ functions."""
    a, b = k / 2, (p - k) / 2
    return sp.gamma(a + power) * sp.gamma(a + b) / (sp.gamma(a) * sp.gamma(a + b + power))


def mean_over_coordinate_planes(u: Sequence[sp.Rational], k: int) -> sp.Rational:
    """Mean of |Πu|²/|u|² over all planes spanned by k of the axes."""
    squares = [x**2 for x in u]
    planes = list(combinations(squares, k))
    return sum((sum(plane) for plane in planes), sp.S.Zero) / len(planes) / sum(squares)


# --- entropy


def entropy_slope_gap(tokens: int) -> sp.Expr:
    """dH/dβ + β Var of H = −Σ p log p, p = softmax(βs), as a polynomial in p, s and log Z: zero.

    dp_i/dβ = p_i (s_i − m) and d log Z/dβ = m with m = Σ p s; the last p is 1 minus the others.
    """
    beta, log_z = sp.symbols("beta logZ")
    s = sp.symbols(f"s0:{tokens}")
    free = sp.symbols(f"p0:{tokens - 1}")
    p = (*free, 1 - sum(free))
    m = sum(a * b for a, b in zip(p, s, strict=True))
    log = [beta * b - log_z for b in s]  # log p
    change = -sum(a * (b - m) * (logarithm + 1) for a, b, logarithm in zip(p, s, log, strict=True))
    variance = sum(a * b**2 for a, b in zip(p, s, strict=True)) - m**2
    return sp.expand(change + beta * variance)


def entropy_slope_direct() -> sp.Expr:
    """dH/dβ + β Var for two tokens with scores 0 and s, by differentiating the definition."""
    beta, s = sp.symbols("beta s", positive=True)
    p = 1 / (1 + sp.exp(-beta * s))
    entropy = -p * sp.log(p) - (1 - p) * sp.log(1 - p)
    gap = sp.diff(entropy, beta) + beta * p * (1 - p) * s**2
    return sp.simplify(gap.rewrite(sp.exp))
