"""Head channels in the blocks on which the query–key group acts: all at once, or planes that turn alike.

Without positions the group is GL(d_k), one real block. A rotary encoding leaves the commutant of its rotations: planes
with equal angles up to direction make one complex block GL(r, ℂ), channels multiplied by ±1 a real block:
matrices commute with a rotation when they keep its eigenspaces. Blocks of one kind and size are batched.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.architecture import Rotary


@dataclass(frozen=True, eq=False)
class Blocks:
    """n blocks of r channels (real) or r planes (complex) each."""

    index: Tensor
    """Channels (n, r), or (n, r, 2) with first and second coordinate of each plane."""
    signs: Tensor
    """Direction ±1 in which each plane turns (n, r); ones for real blocks."""

    @property
    def complex(self) -> bool:
        return self.index.dim() == 3

    @property
    def dimension(self) -> int:
        """Real dimension of the group on all n blocks."""
        return (2 if self.complex else 1) * self.signs.shape[0] * self.signs.shape[1] ** 2

    def take(self, x: Tensor) -> Tensor:
        """(…, d_k) → (n, …, r): the channels of each block, as complex numbers that all turn the same way."""
        picked = x[..., self.index]
        if self.complex:
            picked = torch.complex(picked[..., 0], picked[..., 1] * self.signs.to(x))
        return picked.movedim(-2, 0)

    def put(self, part: Tensor, into: Tensor) -> None:
        """The reverse of :meth:`take`, written into (…, d_k)."""
        part = part.movedim(0, -2)
        if self.complex:
            part = torch.stack((part.real, part.imag * self.signs.to(part.real)), -1)
        into[..., self.index] = part

    def put_matrix(self, part: Tensor, into: Tensor) -> None:
        """Write the block matrices (n, g, r, r) into real matrices (g, d_k, d_k) that act on rows from the right."""
        part = part.movedim(0, 1)
        if not self.complex:
            into[:, self.index[:, :, None], self.index[:, None, :]] = part
            return
        x, y = self.index[:, :, None, :].unbind(-1)
        u, v = self.index[:, None, :, :].unbind(-1)
        s, t = self.signs.to(part.real)[:, :, None], self.signs.to(part.real)[:, None, :]
        into[:, x, u], into[:, x, v] = part.real, t * part.imag
        into[:, y, u], into[:, y, v] = -s * part.imag, s * t * part.real

    def take_matrix(self, matrix: Tensor) -> Tensor:
        """The nearest block matrices (n, g, r, r) to real matrices (g, d_k, d_k)."""
        if not self.complex:
            return matrix[:, self.index[:, :, None], self.index[:, None, :]].movedim(1, 0)
        x, y = self.index[:, :, None, :].unbind(-1)
        u, v = self.index[:, None, :, :].unbind(-1)
        s, t = self.signs.to(matrix)[:, :, None], self.signs.to(matrix)[:, None, :]
        real = (matrix[:, x, u] + s * t * matrix[:, y, v]) / 2
        imaginary = (t * matrix[:, x, v] - s * matrix[:, y, u]) / 2
        return torch.complex(real, imaginary).movedim(1, 0)


def blocks(rotary: Rotary | None, d_k: int, device: torch.device) -> list[Blocks]:
    """The blocks of a head's d_k query and key channels."""
    if rotary is None:
        return [Blocks(torch.arange(d_k, device=device)[None], torch.ones(1, d_k, device=device))]
    alike: dict[tuple[str, int], list[tuple[tuple[int, ...], tuple[int, ...]]]] = {}
    for found in rotary.classes():
        signs = found.signs or (1,) * len(found.channels)
        alike.setdefault((found.kind, len(signs)), []).append((found.channels, signs))
    made = []
    for (kind, _), members in alike.items():
        index = torch.tensor([channels for channels, _ in members], device=device)
        signs_of = torch.tensor([signs for _, signs in members], device=device)
        made.append(Blocks(index.unflatten(1, (-1, 2)) if kind == "complex" else index, signs_of))
    return made


def commuting_part(matrix: Tensor, rotary: Rotary | None) -> Tensor:
    """The matrices (g, d_k, d_k) that commute with all rotations nearest to the given ones."""
    nearest = torch.zeros_like(matrix)
    for block in blocks(rotary, matrix.shape[-1], matrix.device):
        block.put_matrix(block.take_matrix(matrix), nearest)
    return nearest
