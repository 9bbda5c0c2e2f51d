"""The complex type (A_n … G_2) of a simple Lie algebra, by refuting every other type of its dimension.

Whatever a type implies for all elements, as a polynomial identity over ℚ, also holds modulo p; one random element over
GF(p) for which it fails refutes the type, with certainty. So no probability enters: what is left over, if it is one
type, is proved.
"""

from __future__ import annotations

import random
from math import comb
from typing import TYPE_CHECKING, NamedTuple

from flint import fmpz_mat, fmpz_poly, nmod_mat, nmod_poly

from symgauge.lie.modular import adjoint, large_primes, modular, solutions

if TYPE_CHECKING:
    from symgauge.lie.algebra import LieAlgebra


class SimpleType(NamedTuple):
    """A complex simple Lie algebra: Cartan's letter and the rank."""

    letter: str
    rank: int

    @property
    def dimension(self) -> int:
        n = self.rank
        if self.letter in _EXCEPTIONAL:
            return _EXCEPTIONAL[self.letter][n]
        return {"A": n * (n + 2), "B": n * (2 * n + 1), "C": n * (2 * n + 1), "D": n * (2 * n - 1)}[self.letter]


_EXCEPTIONAL = {"G": {2: 14}, "F": {4: 52}, "E": {6: 78, 7: 133, 8: 248}}
_FIRST = {"A": 1, "B": 2, "C": 3, "D": 4}
"""The smallest ranks, below which a type is another one or not simple."""


def types_of_dimension(dimension: int) -> list[SimpleType]:
    """Every complex simple type of this dimension."""
    classical = (SimpleType(letter, n) for letter, first in _FIRST.items() for n in range(first, dimension + 1))
    exceptional = (SimpleType(letter, n) for letter, ranks in _EXCEPTIONAL.items() for n in ranks)
    return [t for t in (*classical, *exceptional) if t.dimension == dimension]


def simple_types(algebra: LieAlgebra, phi: fmpz_mat, polynomial: fmpz_poly) -> list[SimpleType]:
    """The types that a ℚ-simple algebra can have over ℂ: one, unless a refutation failed by bad luck.

    Args:
        algebra: simple over ℚ.
        phi: generates its centroid, a number field.
        polynomial: the irreducible minimal polynomial of ``phi``; over ℂ the algebra is as many copies of the type as
        its degree.
    """
    copies = polynomial.degree()
    candidates = types_of_dimension(algebra.dimension // copies)
    if len(candidates) == 1:
        return candidates
    prime, ad = _element_of_one_copy(algebra, phi, polynomial)
    idle = algebra.dimension - algebra.dimension // copies
    nullity = next(i for i, c in enumerate(ad.charpoly().coeffs()) if c) - idle
    sums, power = [], ad
    for _ in range(2 * max(t.rank for t in candidates) + 4):
        sums.append(sum(int(power[i, i]) for i in range(power.nrows())) % prime)
        power = power * ad
    return [t for t in candidates if t.rank <= nullity and _fits(t, sums, prime)]


def _element_of_one_copy(algebra: LieAlgebra, phi: fmpz_mat, polynomial: fmpz_poly) -> tuple[int, nmod_mat]:
    """A prime p at which the centroid has GF(p) as a residue field, and ad of a random element of that ideal."""
    n = algebra.dimension
    for prime in large_primes():
        roots = [r for r, multiplicity in nmod_poly(polynomial, prime).factor()[1] if r.degree() == multiplicity == 1]
        if roots:
            root = -roots[0][0] / roots[0][1]
            shifted = nmod_mat(phi, prime)
            for i in range(n):
                shifted[i, i] -= root
            ideal = solutions(shifted)
            draw = random.Random(prime)
            vector = modular([[draw.randrange(prime) for _ in ideal]], len(ideal), prime) * modular(ideal, n, prime)
            return prime, adjoint(algebra.brackets, [int(v) for v in vector.entries()], prime)
    raise AssertionError("there are primes enough")


def _fits(candidate: SimpleType, sums: list[int], prime: int) -> bool:
    """Whether power sums of the eigenvalues of ad x can be those of this type; not asked of sl(N).

    Exceptional types have no invariant of degree 4 but the square of the Killing form: p_4 = 5 p_2² / (2 dim + 4) (S.
    Okubo, *Quartic trace identity for exceptional Lie algebras*, 1979). For so(N) and sp(N):

    With x ↦ q_m the power sums on the N-dimensional module, ad = Λ² or S² gives p_m = ½ (Σ_j C(m, j) q_j q_{m−j} ∓ 2ᵐ
    q_m): one after the other gives q_2, q_4, …. The eigenvalues are ±a_1, …, ±a_n (and 0), so Newton's identities say
    q_{2n+2} and q_{2n+4} from those before.
    """
    if candidate.letter == "E":
        return (sums[3] * 2 * (candidate.dimension + 2) - 5 * sums[1] ** 2) % prime == 0
    n = candidate.rank
    size, sign = {"B": (2 * n + 1, -1), "C": (2 * n, 1), "D": (2 * n, -1)}.get(candidate.letter, (0, 0))
    if not size:
        return True
    half = pow(2, -1, prime)
    q = {0: size}
    for m in range(2, 2 * n + 5, 2):
        factor = size + sign * 2 ** (m - 1)
        mixed = sum(comb(m, j) * q[j] * q[m - j] for j in range(2, m, 2))
        q[m] = (sums[m - 1] - half * mixed) * pow(factor, -1, prime) % prime
    squares = [q[2 * k] * half % prime for k in range(1, n + 3)]  # power sums of the a_i²
    elementary = [1]
    for k in range(1, n + 1):
        total = sum((-1) ** (i - 1) * elementary[k - i] * squares[i - 1] for i in range(1, k + 1))
        elementary.append(total * pow(k, -1, prime) % prime)
    return all(
        (squares[k - 1] - sum((-1) ** (i - 1) * elementary[i] * squares[k - i - 1] for i in range(1, n + 1))) % prime
        == 0
        for k in (n + 1, n + 2)
    )
