"""A basis of the residual stream that does not depend on the one that a checkpoint was written in."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.algorithms.pairs import Pair, balance
from symgauge.checkpoints.rows import Rows
from symgauge.comparison.pieces import Anatomy
from symgauge.comparison.sides import Side
from symgauge.symmetries.elements import differences


@dataclass(frozen=True, eq=False)
class Basis:
    """The map T (d_model, d_model) to it and its inverse; writers are multiplied by T, readers by T⁻¹."""

    map: Tensor
    inverse: Tensor
    what: str
    notes: tuple[str, ...] = ()

    @property
    def is_identity(self) -> bool:
        return torch.equal(self.map, torch.eye(len(self.map), dtype=self.map.dtype))


def fixed_basis(side: Side, anatomy: Anatomy, table: Rows, unembedding: Tensor | None) -> Basis:
    """The canonical basis, from the token table (V, d_model), centred where LayerNorm alone reads it.

    - Orthogonal maps (RMSNorm, all gains folded): the axes of the table, TᵀEᵀE T diagonal and decreasing.
    - Those that fix **1** (LayerNorm): the same among the vectors orthogonal to **1**.
    - Any map (no norms): E T and T⁻¹U have the same, diagonal Gram matrix.
    - Permutations alone (a gain that cannot be folded, as before a tied head): channels by the size of their column,
      and under RMSNorm with a sign.

    ``unembedding`` (d_model, V) is needed for the third.
    """
    d = table.shape[1]
    if not anatomy.permutable:
        eye = torch.eye(d, dtype=torch.float64)
        return Basis(eye, eye, "as it was: the stream is read from outside")
    if anatomy.stream == "any" and unembedding is not None:
        found = balance(Pair(table.whole()[None, None], unembedding.mT[None, None], None, "tables"), 2.0**-52)
        t = found.element[0, 0] * _signs(Rows.of(found.left[0, 0]))
        return Basis(t, torch.linalg.inv(t), "balanced between table and unembedding")
    if anatomy.stream == "orthogonal":
        t, notes = _axes(table)
        return Basis(t, t.mT, "axes of the token table", notes)
    if anatomy.stream == "fixing":
        eye = torch.eye(d, dtype=torch.float64)
        inside = torch.linalg.qr(differences(d, eye)).Q
        axes, notes = _axes(table.map(lambda x: x @ inside))
        t = inside @ axes @ inside.mT + torch.full((d, d), 1 / d, dtype=torch.float64)
        return Basis(t, t.mT, "axes of the token table, orthogonal to 1", notes)
    sizes = table.total(lambda x: x.square().sum(0))
    order = sizes.argsort(descending=True, stable=True)
    t = torch.eye(d, dtype=torch.float64)[:, order]
    if side.architecture.norm == "rms":
        t = t * _signs(table.map(lambda x: x[:, order]))
    gaps = -sizes[order].diff() <= 1e-12 * sizes[order[0]]
    tied = ("two channels have equal size, so their order is arbitrary",) if bool(gaps.any()) else ()
    return Basis(t, t.mT, "channels by size", tied)


def _axes(table: Rows) -> tuple[Tensor, tuple[str, ...]]:
    """Eigenvectors (d, d) of the Gram matrix by decreasing eigenvalue, with signs; and what leaves them open."""
    values, vectors = torch.linalg.eigh(table.gram(table))
    t = vectors.flip(1)
    gap = float((values.diff() / values[-1]).min())
    notes: tuple[str, ...] = ()
    if gap < 1e-9:
        notes = (
            f"two axes of the token table have sizes equal to {gap:.1e}, so that the basis is determined no better",
        )
    return t * _signs(table.map(lambda x: x @ t)), notes


def _signs(columns: Rows) -> Tensor:
    """Signs (c,) that make the largest entry of each column positive."""
    largest = [block.gather(0, block.abs().argmax(0, keepdim=True)) for block in columns]
    over_all = torch.cat(largest)
    found = over_all.gather(0, over_all.abs().argmax(0, keepdim=True))[0]
    return torch.where(found < 0, -1.0, 1.0).to(found)
