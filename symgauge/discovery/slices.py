"""Parameters that are pure gauge, held at plain values: what is affine on such a slice is often not so beside it.

A norm's gain γ stands between a rotation of the residual stream and the maps that read it: W ↦ W Γ Qᵀ Γ⁻¹ is no affine
action. But other parameters can make up for any change of γ, so that nothing is lost where it is held at 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from symgauge.arithmetic.finite_field import Residues
from symgauge.discovery.ansatz import owner
from symgauge.exact.rank import Echelon
from symgauge.exact.result import FibreDimension
from symgauge.private import private_copy

_OFFSETS = ("bias", "beta", "offset", "shift", "b")
"""Last parts of names of what is added, and so held at 0; what multiplies is held at 1."""


def slices(fibre: FibreDimension, module: nn.Module) -> Iterator[tuple[str, ...]]:
    """Sets of vectors to hold, the emptiest first: none, those of modules that hold only vectors (norms), all.

    Each set is pure gauge as a whole: the kernel's projection on it is all of it.
    """
    yield ()
    vectors = [name for name, p in fibre.function.counted if p.dim() <= 1]
    matrices = {owner(name) for name, p in module.named_parameters() if p.dim() > 1}
    norms = _free(fibre, [name for name in vectors if owner(name) not in matrices])
    if norms:
        yield norms
    everything = _free(fibre, [*norms, *(name for name in vectors if name not in norms)])
    if everything != norms:
        yield everything


def held(module: nn.Module, names: Sequence[str], counted: Sequence[str]) -> nn.Module:
    """A copy of the module with these parameters fixed at a plain value; the other counted ones are free."""
    copy = private_copy(module)
    for name, p in copy.named_parameters():
        p.requires_grad_(name in counted and name not in names)
        if name in names:
            with torch.no_grad():
                p.fill_(0.0 if is_offset(name) else 1.0)
    return copy


def is_offset(name: str) -> bool:
    """Whether a vector is added, by its name; what multiplies is held at 1."""
    return name.replace("_", ".").rpartition(".")[2] in _OFFSETS


def _free(fibre: FibreDimension, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the tensors, taken one after the other, that the kernel moves in every direction at once."""
    kernel, columns, start = fibre.kernel(), {}, 0
    for name, count in fibre.names:
        columns[name] = torch.arange(start, start + count)
        start += count
    chosen: list[str] = []
    for name in names:
        together = torch.cat([columns[n] for n in (*chosen, name)])
        if _rank(fibre, kernel, together) == len(together):
            chosen.append(name)
    return tuple(chosen)


def _rank(fibre: FibreDimension, vectors: Residues, columns: Tensor) -> int:
    part = Echelon(fibre.echelon.field, len(columns), fibre.echelon.pivots.device)
    part.add(vectors.map(lambda x: x[:, columns].contiguous()))
    return part.rank
