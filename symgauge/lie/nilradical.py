"""The nilradical, from traces."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from flint import fmpz_mat

from symgauge.lie.subspace import Subspace

if TYPE_CHECKING:
    from symgauge.lie.algebra import LieAlgebra


def nilradical(algebra: LieAlgebra) -> Subspace:
    """The largest nilpotent ideal: the x of the radical R with ad x nilpotent.

    The weights λ of R on g are linear (Lie's theorem), and λ(x) = 0 for all of them says that ad x is nilpotent. So Σ
    λ(x) λ(y)ᵏ, which is tr(ad x · (ad y)ᵏ), vanishes on the nilradical for every y of R and every k. Such equations,
    for random y, are added until all basis vectors of what solves them are nilpotent; as the nilpotent ones are a
    subspace, that makes the answer exact.
    """
    n, draw = algebra.dimension, random.Random(0)
    radical = algebra.radical()
    images = [algebra.ad(x) for x in radical.rows]
    found, highest = Subspace.whole(len(images)), 0
    while not all(_is_nilpotent(algebra.ad(x)) for x in radical.combined(found.rows)):
        ad_y = sum((draw.randint(-9, 9) * image for image in images), fmpz_mat(n, n))
        power, equations = ad_y, []
        highest += 1
        for _ in range(highest):
            equations.append({i: trace(image * power) for i, image in enumerate(images)})
            power = power * ad_y
        found = found & Subspace.solving(equations, len(images))
    return Subspace.spanned_by(radical.combined(found.rows), n)


def _is_nilpotent(matrix: fmpz_mat) -> bool:
    return not any(matrix.charpoly().coeffs()[:-1])


def trace(matrix: fmpz_mat) -> int:
    return sum(int(matrix[i, i]) for i in range(matrix.nrows()))
