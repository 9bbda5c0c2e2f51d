"""Explicit integer attention layers on and off the generic stratum, and when two of them lie on one orbit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from random import Random

import sympy as sp

from proofs_checks.support.algebra.group import invariants
from proofs_checks.support.explicit_attention import same
from symgauge.errors import InvalidInput
from symgauge.symbolic.tangent import Attention

Head = tuple[sp.Matrix, sp.Matrix, sp.Matrix, sp.Matrix]


def head(w_q: Sequence[int], w_k: Sequence[int], w_v: Sequence[int], w_o: Sequence[int]) -> Head:
    """A head with d_k = d_v = 1 from three columns and a row."""
    return sp.Matrix(w_q), sp.Matrix(w_k), sp.Matrix(w_v), sp.Matrix([list(w_o)])


def layer(*heads: Head) -> Attention:
    """The layer of these heads, nothing shared."""
    w_q, w_k, w_v, w_o = zip(*heads, strict=True)
    return Attention(w_q, w_k, w_v, w_o, groups=tuple(range(len(heads))))


def general_layer(d: int, heads: int, d_k: int, d_v: int, seed: int) -> Attention:
    """Integers between −2 and 2 with every rank full and the M_i pairwise distinct, so that scores are integers."""
    rng = Random(seed)
    while True:
        drawn = [
            tuple(
                sp.Matrix(rows, columns, lambda i, j: rng.randint(-2, 2))
                for rows, columns in ((d, d_k), (d, d_k), (d, d_v), (d_v, d))
            )
            for _ in range(heads)
        ]
        point = layer(*drawn)
        if generic(point):
            return point


def generic(point: Attention) -> bool:
    """The conditions of the corrected Theorem 3.6: full ranks (of W_O too) and pairwise distinct M_i."""
    weights = (*point.w_q, *point.w_k, *point.w_v, *point.w_o)
    maps = {sp.ImmutableMatrix(q * k.T) for q, k in zip(point.w_q, point.w_k, strict=True)}
    return all(w.rank() == min(w.shape) for w in weights) and len(maps) == point.heads


def on_theta_0(point: Attention) -> bool:
    """A2, A4 and A6 at an explicit point (A1, A3, A5 are about the architecture)."""
    width, d_k, d_v = point.w_q[0].rows, point.w_q[0].cols, point.w_v[0].cols
    full = all(w.rank() == w.cols for w in (*point.w_q, *point.w_k, *point.w_v))
    stacked = all(sp.Matrix.hstack(q, k).rank() == 2 * d_k for q, k in zip(point.w_q, point.w_k, strict=True))
    return width == point.heads * d_v and full and stacked and width >= 2 * d_k


def one_orbit(before: Attention, after: Attention) -> bool:
    """Whether some permutation matches all heads, each by an A and a C (also where ranks are deficient).

    Heads match when M and N agree and so do the column spaces of W_Q, W_K, W_V and the row space of W_O. That is
    necessary always, and sufficient: at full rank M and N alone decide; the callers with deficient ranks only use that
    no match means different orbits.
    """
    if invariants(before) != invariants(after):
        return False
    heads = range(before.heads)
    return any(all(_matches(before, after, i, order[i]) for i in heads) for order in permutations(heads))


def _matches(before: Attention, after: Attention, i: int, j: int) -> bool:
    first, second = ((p.w_q[k], p.w_k[k], p.w_v[k], p.w_o[k].T) for p, k in ((before, i), (after, j)))
    q, k, v, o = first
    q_, k_, v_, o_ = second
    products = q * k.T == q_ * k_.T and v * o.T == v_ * o_.T
    return products and all(
        sp.Matrix.hstack(a, b).rank() == a.rank() == b.rank()
        for a, b in zip((q, k, v, o), (q_, k_, v_, o_), strict=True)
    )


def second_orbit(before: Attention, after: Attention, *, tokens: int = 3, cases: int = 6) -> bool:
    """Whether two points are one function of so many tokens, decided over ℚ(e), but lie on different orbits."""
    return same(before, after, tokens=tokens, cases=cases) and not one_orbit(before, after)


def flipped(point: Attention, chosen: Iterable[int]) -> Attention:
    """(M_i, N_i) ↦ (−M_i, −N_i) for the chosen heads, by the signs of W_K and W_O."""
    signs = [-1 if i in set(chosen) else 1 for i in range(point.heads)]
    return replace(
        point,
        w_k=tuple(s * w for s, w in zip(signs, point.w_k, strict=True)),
        w_o=tuple(s * w for s, w in zip(signs, point.w_o, strict=True)),
    )


def subsets(heads: int) -> list[tuple[int, ...]]:
    """All sets of heads, the empty one first."""
    return [s for size in range(heads + 1) for s in combinations(range(heads), size)]


def vanishing(point: Attention) -> list[tuple[int, ...]]:
    """The sets S of heads with Σ_S N_i = 0 (the empty one included)."""
    if point.groups != tuple(range(point.heads)):
        raise InvalidInput("vanishing: heads must not share keys and values here.")
    zero = sp.zeros(point.w_v[0].rows, point.w_o[0].cols)
    products = [v * o for v, o in zip(point.w_v, point.w_o, strict=True)]
    return [s for s in subsets(point.heads) if sum((products[i] for i in s), zero) == zero]
