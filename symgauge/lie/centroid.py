"""The centroid of a Lie algebra: the linear maps that commute with every ad x.

Its idempotents are the direct sums of ideals. It is computed modulo primes and lifted: over GF(p) its dimension is at
least that over ℚ, and every lifted element is verified over ℚ. Where both counts agree the result is proved, and
nothing else is returned.

Source: N. Jacobson, *Lie Algebras*, X.1; the search for maps is that of the MeatAxe: they are known from the images of
module generators.
"""

from __future__ import annotations

import random
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

from flint import fmpz_mat, nmod_mat

from symgauge.lie.modular import adjoint, applied, joined, large_primes, modular, rational, solutions, to_rows

if TYPE_CHECKING:
    from symgauge.lie.algebra import LieAlgebra


def centroid(algebra: LieAlgebra) -> list[fmpz_mat]:
    """A basis of the centroid: n × n integer matrices φ, acting on columns, with φ[x, y] = [x, φy]."""
    n = algebra.dimension
    residues: list[int] = []
    modulus, count = 1, n * n + 1
    for prime in large_primes():
        maps = _centroid_modulo(algebra, prime)
        if len(maps) == 1:
            return [fmpz_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])]
        flat = [v for row in maps for v in row]
        if len(maps) < count:
            residues, modulus, count = flat, prime, len(maps)
        elif len(maps) == count:
            residues, modulus = joined(residues, modulus, flat, prime), modulus * prime
        lifted = [_lifted(residues[k : k + n * n], modulus, n) for k in range(0, len(residues), n * n)]
        if all(phi is not None and _commutes(algebra, phi) for phi in lifted):
            return [phi for phi in lifted if phi is not None]
    raise AssertionError("there are primes enough")


def _centroid_modulo(algebra: LieAlgebra, prime: int) -> list[list[int]]:
    """The centroid over GF(p) in reduced echelon form, one row of n² entries per map (row by row)."""
    n, draw = algebra.dimension, random.Random(prime)
    generators, words, basis = _spin(algebra, prime, draw)
    inverse = modular(basis, n, prime).transpose().inv()
    maps = []
    for g, v in enumerate(generators):
        # φ(v) commutes with v, as [v, φv] = φ[v, v] = 0; every such image of v, the others going to 0, is tried.
        for w in solutions(adjoint(algebra.brackets, v, prime)):
            images: list[list[int]] = []
            for word in words:
                if isinstance(word, int):
                    images.append(w if word == g else [0] * n)
                else:
                    images.append(applied(algebra.brackets, word[0], images[word[1]], prime))
            maps.append(modular(images, n, prime).transpose() * inverse)
    # The x for which all maps left commute with ad x are a subspace; a random x that is one of them says: all are.
    before = len(maps) + 1
    while 1 < len(maps) < before:
        before = len(maps)
        ad = adjoint(algebra.brackets, [draw.randrange(prime) for _ in range(n)], prime)
        defects = _flat([phi * ad - ad * phi for phi in maps])
        kept = modular(solutions(defects.transpose()), len(maps), prime)
        flat = kept * _flat(maps)
        maps = [nmod_mat(n, n, row, prime) for row in to_rows(flat)]
    echelon, rank = _flat(maps).rref()
    return to_rows(echelon)[:rank]


def _flat(maps: list[nmod_mat]) -> nmod_mat:
    """One map a row."""
    rows, columns = len(maps), maps[0].nrows() * maps[0].ncols()
    return nmod_mat(rows, columns, [v for phi in maps for v in phi.entries()], maps[0].modulus())


Word = int | tuple[int, int]
"""A generator, by its number, or (j, w): ad e_j applied to the word number w."""


def _spin(algebra: LieAlgebra, prime: int, draw: random.Random) -> tuple[list[list[int]], list[Word], list[list[int]]]:
    """Module generators of the adjoint module, words in them, and their values: a basis of GF(p)ⁿ."""
    n = algebra.dimension
    generators: list[list[int]] = []
    words: list[Word] = []
    basis: list[list[int]] = []
    done = 0
    while len(basis) < n:
        if done == len(basis):
            vector = [draw.randrange(prime) for _ in range(n)]
            candidates = [vector]
            names: list[Word] = [len(generators)]
        else:
            candidates = [applied(algebra.brackets, j, basis[done], prime) for j in range(n)]
            names = [(j, done) for j in range(n)]
            done += 1
        for k in _independent(basis, candidates, n, prime):
            if isinstance(names[k], int):
                generators.append(candidates[k])
            words.append(names[k])
            basis.append(candidates[k])
    return generators, words, basis


def _independent(basis: list[list[int]], candidates: list[list[int]], n: int, prime: int) -> list[int]:
    """Which candidates enlarge the span of ``basis`` and of the candidates before them."""
    echelon, rank = modular([*basis, *candidates], n, prime).transpose().rref()
    pivots: list[int] = []
    columns = len(basis) + len(candidates)
    for row in to_rows(echelon)[:rank]:
        start = pivots[-1] + 1 if pivots else 0
        pivots.append(next(c for c in range(start, columns) if row[c]))
    return [p - len(basis) for p in pivots if p >= len(basis)]


def _lifted(residues: list[int], modulus: int, n: int) -> fmpz_mat | None:
    fractions: list[Fraction] = []
    for residue in residues:
        value = rational(residue, modulus)
        if value is None:
            return None
        fractions.append(value)
    scale = lcm(*(f.denominator for f in fractions))
    return fmpz_mat(n, n, [int(f * scale) for f in fractions])


def _commutes(algebra: LieAlgebra, phi: fmpz_mat) -> bool:
    """Whether φ[e_j, e_k] = [e_j, φe_k] for all j and k, over ℚ."""
    n = algebra.dimension
    entries = phi.transpose().entries()
    images = [{i: int(v) for i, v in enumerate(entries[k * n : (k + 1) * n]) if v} for k in range(n)]
    for j in range(n):
        for k in range(n):
            image: dict[int, int] = {}
            for m, c in algebra.brackets[j].get(k, {}).items():
                for i, v in images[m].items():
                    image[i] = image.get(i, 0) + c * v
            if {i: v for i, v in image.items() if v} != algebra.bracket({j: 1}, images[k]):
                return False
    return True
