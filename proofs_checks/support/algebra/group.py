"""The group acting on heads: the wreath product (GL(d_k) × GL(d_v)) ≀ S_h, its right action, and what sharing leaves.

Definition 3.1 of the gauge paper: head i of θ·g is head σ(i) of θ, moved by A_σ(i), C_σ(i). All values are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import factorial, prod
from random import Random

import sympy as sp

from symgauge.errors import InvalidInput
from symgauge.symbolic.tangent import Attention

Permutation = tuple[int, ...]


@dataclass(frozen=True)
class GaugeElement:
    """A_i ∈ GL(d_k) and C_i ∈ GL(d_v) for every head, and a permutation as the tuple (σ(0), …, σ(h−1))."""

    a: tuple[sp.ImmutableMatrix, ...]
    c: tuple[sp.ImmutableMatrix, ...]
    sigma: Permutation

    def __post_init__(self) -> None:
        if len(self.a) != len(self.sigma) or len(self.c) != len(self.sigma):
            raise InvalidInput(
                f"GaugeElement: {len(self.sigma)} heads need as many A and C, got {len(self.a)}, {len(self.c)}."
            )


def act(point: Attention, element: GaugeElement) -> Attention:
    """θ·g for a point with one key/value pair per head and no biases (equations (6)–(7))."""
    if point.groups != tuple(range(point.heads)) or len(element.sigma) != point.heads:
        raise InvalidInput("act: the point must have one key/value group per head, and the element as many heads.")
    order = element.sigma
    return Attention(
        tuple(point.w_q[i] * element.a[i] for i in order),
        tuple(point.w_k[i] * element.a[i].inv().T for i in order),
        tuple(point.w_v[i] * element.c[i] for i in order),
        tuple(element.c[i].inv() * point.w_o[i] for i in order),
        point.groups,
    )


def compose(first: GaugeElement, second: GaugeElement) -> GaugeElement:
    """The element that acts as `first` and then `second`: (A, σ)(B, τ) = (A · B∘σ⁻¹, σ∘τ), the wreath product's law."""
    inverse = invert_permutation(first.sigma)
    heads = range(len(first.sigma))
    return GaugeElement(
        tuple(first.a[i] * second.a[inverse[i]] for i in heads),
        tuple(first.c[i] * second.c[inverse[i]] for i in heads),
        tuple(first.sigma[j] for j in second.sigma),
    )


def inverse(element: GaugeElement) -> GaugeElement:
    """The element that undoes `element`."""
    return GaugeElement(
        tuple(element.a[i].inv() for i in element.sigma),
        tuple(element.c[i].inv() for i in element.sigma),
        invert_permutation(element.sigma),
    )


def invert_permutation(sigma: Permutation) -> Permutation:
    return tuple(sigma.index(i) for i in range(len(sigma)))


def random_element(heads: int, d_k: int, d_v: int, seed: int, sigma: Permutation | None = None) -> GaugeElement:
    """Integer matrices of determinant ±1 (products of shears and a sign), non-symmetric, and a permutation."""
    rng = Random(seed)

    def unimodular(size: int) -> sp.ImmutableMatrix:
        lower = sp.Matrix(size, size, lambda i, j: 1 if i == j else rng.randint(1, 3) if i > j else 0)
        upper = sp.Matrix(size, size, lambda i, j: 1 if i == j else -rng.randint(1, 2) if i < j else 0)
        return sp.ImmutableMatrix(sp.diag(-1, *[1] * (size - 1)) * lower * upper)

    chosen = tuple(rng.sample(range(heads), heads)) if sigma is None else sigma
    return GaugeElement(
        tuple(unimodular(d_k) for _ in range(heads)), tuple(unimodular(d_v) for _ in range(heads)), chosen
    )


def invariants(point: Attention) -> Counter[tuple[sp.ImmutableMatrix, sp.ImmutableMatrix]]:
    """The multiset of (M_i, N_i) = (W_Q W_Kᵀ, W_V W_O). Equal multisets give equal functions; for n ≥ 3 tokens,
    pairwise distinct M_i and N_i ≠ 0, different multisets give different functions."""
    return Counter(
        (
            sp.ImmutableMatrix(point.w_q[i] * point.w_k[r].T),
            sp.ImmutableMatrix(point.w_v[r] * point.w_o[i]),
        )
        for i, r in enumerate(point.groups)
    )


# --- permutations under sharing


def stabiliser(groups: Sequence[int]) -> Iterator[tuple[Permutation, Permutation]]:
    """All (σ, τ) with m∘σ = τ∘m: the relabelings that keep the grouping m (enumerated; small h and g)."""
    heads, count = len(groups), max(groups) + 1
    for sigma in permutations(range(heads)):
        for tau in permutations(range(count)):
            if all(groups[sigma[i]] == tau[groups[i]] for i in range(heads)):
                yield sigma, tau


def stabiliser_order(groups: Sequence[int]) -> int:
    """Its order: Π s! over the groups, times the permutations of groups of equal size; (s!)^g g! when all are equal."""
    sizes = Counter(groups)
    alike = Counter(sizes.values())
    return prod(factorial(size) for size in sizes.values()) * prod(factorial(number) for number in alike.values())
