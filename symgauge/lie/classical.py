"""Bases of the classical matrix algebras over ℝ, with integer entries: what found algebras are compared with."""

from __future__ import annotations

from itertools import combinations, product

IntegerMatrix = list[list[int]]


def _zero(n: int) -> IntegerMatrix:
    return [[0] * n for _ in range(n)]


def _with(n: int, entries: dict[tuple[int, int], int]) -> IntegerMatrix:
    m = _zero(n)
    for (i, j), v in entries.items():
        m[i][j] = v
    return m


def gl(n: int) -> list[IntegerMatrix]:
    """All n × n matrices; dimension n²."""
    return [_with(n, {(i, j): 1}) for i, j in product(range(n), repeat=2)]


def sl(n: int) -> list[IntegerMatrix]:
    """Trace 0; dimension n² − 1."""
    off = [_with(n, {(i, j): 1}) for i, j in product(range(n), repeat=2) if i != j]
    return off + [_with(n, {(i, i): 1, (i + 1, i + 1): -1}) for i in range(n - 1)]


def so(p: int, q: int = 0) -> list[IntegerMatrix]:
    """Those that keep p squares minus q squares; dimension n(n − 1)/2, n = p + q."""
    sign = [1] * p + [-1] * q
    return [_with(p + q, {(i, j): sign[j], (j, i): -sign[i]}) for i, j in combinations(range(p + q), 2)]


def sp(n: int) -> list[IntegerMatrix]:
    """Those of size 2n that keep the alternating form; dimension n(2n + 1)."""
    basis = [_with(2 * n, {(i, j): 1, (n + j, n + i): -1}) for i, j in product(range(n), repeat=2)]
    for i in range(n):
        for j in range(i, n):
            basis += [_with(2 * n, {(i, n + j): 1, (j, n + i): 1}), _with(2 * n, {(n + i, j): 1, (n + j, i): 1})]
    return basis


def realified(basis: list[tuple[IntegerMatrix, IntegerMatrix]]) -> list[IntegerMatrix]:
    """Complex n × n matrices A + iB as real 2n × 2n ones, [[A, −B], [B, A]]."""
    return [
        [[*a, *(-v for v in b)] for a, b in zip(real, imaginary, strict=True)]
        + [[*b, *a] for a, b in zip(real, imaginary, strict=True)]
        for real, imaginary in basis
    ]


def su(p: int, q: int = 0) -> list[IntegerMatrix]:
    """Complex, trace 0, keeping the Hermitian form of p squares minus q squares; dimension n² − 1, n = p + q."""
    n, sign = p + q, [1] * p + [-1] * q
    basis = [(_zero(n), _with(n, {(i, i): 1, (i + 1, i + 1): -1})) for i in range(n - 1)]
    for i, j in combinations(range(n), 2):
        basis.append((_with(n, {(i, j): sign[j], (j, i): -sign[i]}), _zero(n)))
        basis.append((_zero(n), _with(n, {(i, j): sign[j], (j, i): sign[i]})))
    return realified(basis)


def complexified(basis: list[IntegerMatrix]) -> list[IntegerMatrix]:
    """The span over ℂ of real matrices, seen over ℝ; twice the dimension."""
    zero = _zero(len(basis[0]))
    return realified([pair for m in basis for pair in ((m, zero), (zero, m))])


def quaternionic(n: int) -> list[IntegerMatrix]:
    """sp(n): quaternionic n × n matrices X with X* = −X, as complex 2n × 2n ones; compact, dimension n(2n + 1)."""
    basis = []
    for i in range(n):
        basis.append((_zero(2 * n), _with(2 * n, {(i, i): 1, (n + i, n + i): -1})))
    for i, j in combinations(range(n), 2):
        basis.append((_with(2 * n, {(i, j): 1, (j, i): -1, (n + i, n + j): 1, (n + j, n + i): -1}), _zero(2 * n)))
        basis.append((_zero(2 * n), _with(2 * n, {(i, j): 1, (j, i): 1, (n + i, n + j): -1, (n + j, n + i): -1})))
    for i in range(n):
        for j in range(i, n):
            places = {(i, n + j), (j, n + i)}
            back = {(b, a) for a, b in places}
            basis.append((_with(2 * n, dict.fromkeys(places, 1) | dict.fromkeys(back, -1)), _zero(2 * n)))
            basis.append((_zero(2 * n), _with(2 * n, dict.fromkeys(places | back, 1))))
    return realified(basis)


def affine(linear: list[IntegerMatrix], columns: int = 1) -> list[IntegerMatrix]:
    """``linear`` ⋉ (ℝⁿ)ᵏ: the matrices [[A, B], [0, 0]] with A linear and B any n × k; k = 1 is x ↦ Ax + b."""
    n = len(linear[0])
    size = n + columns
    moved = [_with(size, {(i, j): m[i][j] for i, j in product(range(n), repeat=2)}) for m in linear]
    return moved + [_with(size, {(i, n + j): 1}) for i, j in product(range(n), range(columns))]


def triangular(n: int, *, strict: bool = False) -> list[IntegerMatrix]:
    """Upper triangular n × n matrices: solvable; with zero diagonal nilpotent of step n − 1."""
    return [_with(n, {(i, j): 1}) for i in range(n) for j in range(i + strict, n)]


def block_triangular(p: int, q: int) -> list[IntegerMatrix]:
    """Those that keep the first p coordinates; dimension p² + pq + q²."""
    n = p + q
    return [_with(n, {(i, j): 1}) for i, j in product(range(n), repeat=2) if i < p or j >= p]


def heisenberg(n: int) -> list[IntegerMatrix]:
    """Dimension 2n + 1: [x_i, y_i] = z."""
    size = n + 2
    x = [_with(size, {(0, i + 1): 1}) for i in range(n)]
    y = [_with(size, {(i + 1, size - 1): 1}) for i in range(n)]
    return [*x, *y, _with(size, {(0, size - 1): 1})]


def block_sum(*bases: list[IntegerMatrix]) -> list[IntegerMatrix]:
    """The direct sum, each summand in its own diagonal block."""
    total = sum(len(basis[0]) for basis in bases)
    found, start = [], 0
    for basis in bases:
        size = len(basis[0])
        for m in basis:
            found.append(
                _with(total, {(start + i, start + j): m[i][j] for i in range(size) for j in range(size) if m[i][j]})
            )
        start += size
    return found
