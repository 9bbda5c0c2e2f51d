"""The form in which a square block of every W_K and W_V is the identity, and storing it without those blocks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.algorithms.channels import Blocks
from symgauge.algorithms.pairs import Balanced, Pair


@dataclass(frozen=True, eq=False)
class Minor:
    """Rows (n, g, r) of a key or value matrix that form an identity matrix; ``channels`` None for values."""

    rows: Tensor
    channels: Blocks | None

    @property
    def entries(self) -> int:
        """How many numbers of the weights are fixed to 0 or 1."""
        n, groups, r = self.rows.shape
        return groups * n * r * r if self.channels is None else groups * self.channels.dimension

    def mark(self, into: Tensor) -> None:
        """Write the identity block into a key or value tensor (g, d_model, columns)."""
        n, groups, r = self.rows.shape
        dtype = into.dtype if self.channels is None or not self.channels.complex else _complex(into.dtype)
        part = torch.full((n, groups, into.shape[1], r), float("nan"), dtype=dtype, device=into.device)
        if part.is_complex():
            part = torch.complex(part.real, torch.full_like(part.real, float("nan")))
        eye = torch.eye(r, dtype=dtype, device=into.device).expand(n, groups, r, r)
        part.scatter_(2, self.rows.unsqueeze(-1).expand(n, groups, r, r), eye)
        marked = part[0] if self.channels is None else torch.full_like(into, float("nan"))
        if self.channels is not None:
            self.channels.put(part, marked)
        into.copy_(torch.where(marked.isnan(), into, marked))


def _complex(dtype: torch.dtype) -> torch.dtype:
    return torch.complex128 if dtype == torch.float64 else torch.complex64


def _roles(pair: Pair) -> tuple[Tensor, Tensor]:
    """(the factor to get the identity, the other): keys of a score pair, values of a value pair."""
    return (pair.left, pair.right) if pair.channels is None else (pair.right, pair.left)


def pivot_rows(pair: Pair, limit: int, epsilon: float) -> tuple[Tensor, bool]:
    """r rows (n, g, r) below ``limit`` at which keys (values) are well conditioned; whether a choice was a tie.

    Greedy: each row has the largest part outside the span of those before, in an orthonormal basis of the columns. Row
    norms do not depend on the basis, so gauge-equivalent weights get the same rows.
    """
    orthonormal, triangular = torch.linalg.qr(_roles(pair)[0])
    basis = orthonormal[:, :, :limit]
    known = 8 * pair.rank**0.5 * epsilon * float(torch.linalg.cond(triangular).max())
    rest, rows, tied = basis.clone(), [], False
    for _ in range(pair.rank):
        sizes = rest.abs().square().sum(-1)
        two = sizes.topk(min(2, sizes.shape[-1]), -1).values
        tied |= bool((two[..., 0] - two[..., -1] <= known).any()) and two.shape[-1] > 1
        row = sizes.argmax(-1, keepdim=True)
        rows.append(row)
        v = rest.gather(2, row.unsqueeze(-1).expand(*row.shape, rest.shape[-1]))
        v = v / torch.linalg.vector_norm(v, dim=-1, keepdim=True)
        rest = rest - (rest @ v.mH) @ v
        rest.scatter_(2, row.unsqueeze(-1).expand(*row.shape, rest.shape[-1]), 0)
    return torch.cat(rows, -1).sort(-1).values, tied


def unit_minor(pair: Pair, balanced: Balanced, rows: Tensor, epsilon: float) -> tuple[Pair, Tensor, Minor, float]:
    """The pair with an identity at ``rows``, the element X, and the relative rounding (first order)."""
    root = balanced.singular.sqrt().unsqueeze(-2).to(pair.left.dtype)
    fixed, other = (balanced.left, balanced.right) if pair.channels is None else (balanced.right, balanced.left)
    fixed, other = fixed / root, other * root  # orthonormal columns, and all of Σ in the other factor
    index = rows.unsqueeze(-1).expand(*rows.shape, pair.rank)
    block = fixed.gather(2, index)
    # fixed · block⁻¹ has the identity, and the other factor gets blockᴴ.
    unit, partner = torch.linalg.solve(block, fixed, left=False), other @ block.mH
    unit = unit.scatter(2, index, torch.eye(pair.rank, dtype=unit.dtype, device=unit.device).expand_as(block).clone())
    if pair.channels is None:
        changed = Pair(unit, partner, None, pair.what)
        element = torch.linalg.solve(block, balanced.element / root, left=False)
    else:
        changed = Pair(partner, unit, pair.channels, pair.what)
        element = balanced.element * root @ block.mH
    known = epsilon * balanced.scale / balanced.singular[..., -1]
    size = pair.rank**0.5
    error = size * known * torch.linalg.cond(block)
    return changed, element, Minor(rows, pair.channels), float(error.max())
