"""Algebras that no matrices in `symgauge.lie.classical` give, and changes of basis that hide what an algebra is."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

from flint import fmpq_mat, fmpz_mat

from symgauge.lie import LieAlgebra
from symgauge.lie.classical import IntegerMatrix, realified


def scrambled(algebra: LieAlgebra, seed: int) -> LieAlgebra:
    """The same algebra in a random unimodular basis, some of it scaled by fractions."""
    n, draw = algebra.dimension, random.Random(seed)
    change = fmpz_mat(n, n, [int(i == j) for i, j in product(range(n), repeat=2)])
    for _ in range(2 * n if n > 1 else 0):
        i, j = draw.sample(range(n), 2)
        factor = draw.choice([-2, -1, 1, 2])
        for k in range(n):
            change[i, k] += factor * change[j, k]
    scales = [Fraction(draw.choice([1, 1, 1, 2, 3]), draw.choice([1, 1, 1, 2])) for _ in range(n)]
    rows = [{k: int(change[i, k]) for k in range(n) if change[i, k]} for i in range(n)]
    inverse = fmpq_mat(change).inv()
    constants = {}
    for j in range(n):
        for i in range(j):
            bracket = algebra.bracket(rows[i], rows[j])
            new = (fmpq_mat(1, n, [bracket.get(k, 0) for k in range(n)]) * inverse).entries()
            factor = scales[i] * scales[j] / algebra.scale
            constants[i, j] = {k: Fraction(int(c.p), int(c.q)) * factor / scales[k] for k, c in enumerate(new) if c}
    return LieAlgebra(constants, n)


def over_number_field(
    constants: dict[tuple[int, int], dict[int, list[int]]], n: int, polynomial: list[int]
) -> LieAlgebra:
    """An algebra of dimension n over ℚ[t]/f, its constants polynomials in t, as one over ℚ; f monic, from t⁰ on."""
    degree = len(polynomial) - 1

    def power(exponent: int, coefficients: list[int]) -> list[int]:
        value = [0] * exponent + coefficients + [0] * degree
        for i in range(len(value) - 1, degree - 1, -1):
            for k in range(degree):
                value[i - degree + k] -= value[i] * polynomial[k]
            value[i] = 0
        return value[:degree]

    spread = {}
    for (i, j), bracket in constants.items():
        for a, b in product(range(degree), repeat=2):
            spread[i * degree + a, j * degree + b] = {
                k * degree + e: v for k, c in bracket.items() for e, v in enumerate(power(a + b, c)) if v
            }
    return LieAlgebra(spread, n * degree)


def keeping_form(a: list[int], b: list[int], c: list[int]) -> dict[tuple[int, int], dict[int, list[int]]]:
    """[e_0, e_1] = c e_2 and its turns: the algebra that keeps a x² + b y² + c z² up to scale."""
    return {(0, 1): {2: c}, (1, 2): {0: a}, (0, 2): {1: [-v for v in b]}}


def skew_quaternionic(n: int) -> list[IntegerMatrix]:
    """so*(2n) on ℍⁿ: complex [[A, B], [−B̄, Ā]], A skew and B Hermitian, as real 4n × 4n ones; dimension n(2n − 1)."""

    def block(entries: dict[tuple[int, int], int]) -> IntegerMatrix:
        return [[entries.get((i, j), 0) for j in range(2 * n)] for i in range(2 * n)]

    basis, zero = [], block({})
    for i, j in product(range(n), repeat=2):
        if i < j:
            skew = {(i, j): 1, (j, i): -1}
            basis.append((block(skew | {(n + i, n + j): 1, (n + j, n + i): -1}), zero))
            basis.append((zero, block(skew | {(n + i, n + j): -1, (n + j, n + i): 1})))
            basis.append((zero, block({(i, n + j): 1, (j, n + i): -1, (n + i, j): 1, (n + j, i): -1})))
        if i <= j:
            basis.append((block({(i, n + j): 1, (j, n + i): 1, (n + i, j): -1, (n + j, i): -1}), zero))
    return realified(basis)


def simply_laced(rank: int, edges: list[tuple[int, int]]) -> LieAlgebra:
    """The split algebra of a Dynkin diagram with simple edges, from its roots and a sign ε(α, β).

    Source: V. Kac, *Infinite-dimensional Lie algebras*, 7.8.
    """
    cartan = [[2 * (i == j) - ((i, j) in edges or (j, i) in edges) for j in range(rank)] for i in range(rank)]

    def form(x: tuple[int, ...], y: tuple[int, ...]) -> int:
        return sum(a * cartan[i][j] * b for i, a in enumerate(x) for j, b in enumerate(y))

    def sign(x: tuple[int, ...], y: tuple[int, ...]) -> int:
        exponent = sum(a * y[i] for i, a in enumerate(x)) + sum(x[i] * y[j] for i, j in edges)
        return -1 if exponent % 2 else 1

    simple = [tuple(int(i == j) for j in range(rank)) for i in range(rank)]
    roots = set(simple)
    while True:
        sums = {tuple(a + b for a, b in zip(r, s, strict=True)) for r in roots for s in simple if form(r, s) == -1}
        if sums <= roots:
            break
        roots |= sums
    ordered = sorted(roots | {tuple(-a for a in r) for r in roots})
    place = {root: rank + k for k, root in enumerate(ordered)}
    constants: dict[tuple[int, int], dict[int, int]] = {}
    for r in ordered:
        for i in range(rank):
            constants[i, place[r]] = {place[r]: form(simple[i], r)}
        for s in ordered:
            if place[r] < place[s]:
                total = tuple(a + b for a, b in zip(r, s, strict=True))
                if total in place:
                    constants[place[r], place[s]] = {place[total]: sign(r, s)}
                elif not any(total):
                    constants[place[r], place[s]] = {i: sign(r, s) * a for i, a in enumerate(r) if a}
    return LieAlgebra(constants, rank + len(ordered))
