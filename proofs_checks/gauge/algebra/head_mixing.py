"""A matrix P acting on concatenated values, W_V ↦ W_V P and W_O ↦ P⁻¹W_O, with queries and keys fixed (Lemma B.6).

For heads with pairwise distinct M_j the attention weights are linearly independent functions of the input, so the
output is kept exactly when N_j = W_V E_j W_O is kept for each head j, where E_j projects on the columns of head j.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

from symgauge.errors import InvalidInput
from symgauge.symbolic import linear


def block_projector(heads: int, d_v: int, head: int) -> sp.Matrix:
    """E_j: the identity on the d_v columns of one head, zero elsewhere."""
    return sp.diag(*(int(i // d_v == head) for i in range(heads * d_v)))


def head_changes(w_v: sp.Matrix, w_o: sp.Matrix, mixing: sp.Matrix, heads: int) -> list[sp.Matrix]:
    """N'_j − N_j for every head after W_V ↦ W_V P, W_O ↦ P⁻¹W_O. Shapes: w_v d×h·d_v, w_o h·d_v×d."""
    d_v = w_v.cols // heads
    moved_v, moved_o = w_v * mixing, mixing.inv() * w_o
    projectors = [block_projector(heads, d_v, j) for j in range(heads)]
    return [moved_v * e * moved_o - w_v * e * w_o for e in projectors]


def preserving_basis(w_v: sp.Matrix, w_o: sp.Matrix, heads: int) -> tuple[DomainMatrix, ...]:
    """A basis of the P that keep all N_j, exactly: where W_V and W_O have rank h·d_v, P E_j P⁻¹ = E_j, linear in P.

    At full rank W_V (P E_j − E_j P) P⁻¹ W_O = 0 is P E_j = E_j P; the system is solved as W_V (P E_j − E_j P) = 0.
    """
    size, d_v = w_v.cols, w_v.cols // heads
    if w_v.rank() < size or w_o.rank() < size:
        raise InvalidInput(f"preserving_basis: w_v and w_o must have rank {size}.")
    values = linear.rational(w_v)
    projectors: Sequence[DomainMatrix] = [linear.rational(block_projector(heads, d_v, j)) for j in range(heads)]
    columns = []
    for i in range(size):
        for j in range(size):
            unit = linear.rational(sp.Matrix(size, size, lambda a, b, i=i, j=j: int((a, b) == (i, j))))
            columns.append([x for e in projectors for x in (values * (unit * e - e * unit)).to_list_flat()])
    basis = linear.kernel(linear.from_rows(zip(*columns, strict=True), size**2)).to_list()
    return tuple(DomainMatrix([v[i * size : (i + 1) * size] for i in range(size)], (size, size), QQ) for v in basis)
