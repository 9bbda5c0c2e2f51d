"""Between ℚ and GF(p): large primes, the way back by rational reconstruction, and matrices modulo p."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isqrt

from flint import fmpz, nmod_mat

from symgauge.lie.jacobi import Brackets


def large_primes() -> Iterator[int]:
    """The primes below 2⁶², from the largest down."""
    candidate = 2**62 - 1
    while True:
        if fmpz(candidate).is_prime():
            yield candidate
        candidate -= 2


def rational(residue: int, modulus: int) -> Fraction | None:
    """The fraction a/b ≡ residue with |a|, b ≤ √(modulus/2), of which there is at most one.

    Source: P. Wang, *A p-adic algorithm for univariate partial fractions* (1981).
    """
    bound = isqrt(modulus // 2)
    before, now = (modulus, 0), (residue % modulus, 1)
    while now[0] > bound:
        quotient = before[0] // now[0]
        before, now = now, (before[0] - quotient * now[0], before[1] - quotient * now[1])
    if not 0 < abs(now[1]) <= bound:
        return None
    return Fraction(now[0], now[1])


def joined(a: Sequence[int], modulus: int, b: Sequence[int], prime: int) -> list[int]:
    """Residues modulo modulus·prime from those modulo each (Chinese remainders)."""
    inverse = pow(modulus, -1, prime)
    return [x + modulus * ((y - x) * inverse % prime) for x, y in zip(a, b, strict=True)]


def modular(rows: Sequence[Sequence[int]], columns: int, prime: int) -> nmod_mat:
    return nmod_mat(len(rows), columns, [int(v) % prime for row in rows for v in row], prime)


def to_rows(matrix: nmod_mat) -> list[list[int]]:
    entries, columns = matrix.entries(), matrix.ncols()
    return [[int(v) for v in entries[i * columns : (i + 1) * columns]] for i in range(matrix.nrows())]


def solutions(equations: nmod_mat) -> list[list[int]]:
    """A basis of {x : equations · x = 0} over GF(p), as rows."""
    basis, nullity = equations.nullspace()
    return to_rows(basis.transpose())[:nullity]


def applied(brackets: Brackets, j: int, vector: Sequence[int], prime: int) -> list[int]:
    """[e_j, vector] over GF(p)."""
    total = [0] * len(vector)
    for k, bracket in brackets[j].items():
        if factor := vector[k]:
            for position, c in bracket.items():
                total[position] += c * factor
    return [v % prime for v in total]


def adjoint(brackets: Brackets, vector: Sequence[int], prime: int) -> nmod_mat:
    """The n × n matrix of ad(vector) over GF(p), acting on columns."""
    n = len(vector)
    return -modular([applied(brackets, j, vector, prime) for j in range(n)], n, prime).transpose()
