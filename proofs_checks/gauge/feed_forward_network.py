"""A feed-forward network, and its permutations with signs."""

from __future__ import annotations

from itertools import permutations, product

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from symgauge.claims import EvidenceLog, at_least, at_most, equal


class Network(nn.Module):
    """GELU(x W_1 + b_1) W_2 + b_2 in float64."""

    def __init__(self, d: int, d_ff: int, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        shapes = ((d, d_ff), (d_ff,), (d_ff, d), (d,))
        tensors = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
        self.w_1, self.b_1, self.w_2, self.b_2 = (nn.Parameter(t) for t in tensors)

    def forward(self, z: Tensor) -> Tensor:
        return F.gelu(z @ self.w_1 + self.b_1) @ self.w_2 + self.b_2


def record_signed_permutations(evidence: EvidenceLog) -> None:
    """All 2³·3! signed permutations of three units, in float64, up to a constant."""
    network = Network(2, 3, seed=1)
    z = torch.randn(40, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    with torch.no_grad():
        target = signed(network, (0, 1, 2), (1, 1, 1), z)
        kept, smallest, largest = [], 1.0, 0.0
        for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
            gap = signed(network, order, signs, z) - target
            # Flipped v too would be odd units; GELU's identity keeps v: (w, b, v) → (−w, −b, v).
            flipped = signed_inner(network, order, signs, z) - target
            for difference in (gap, flipped):
                change = float((difference - difference.mean(0)).norm() / target.norm())
                if change < 1e-12:
                    kept.append(signs)
                    largest = max(largest, change)
                else:
                    smallest = min(smallest, change)
    evidence.numeric(
        "of all signed permutations of three units (signs inside, or inside and outside), only those without signs "
        "keep the "
        "function up to a constant",
        on="condition",
        figures={
            "kept": equal(sorted(set(kept)), [(1, 1, 1)]),
            "number": equal(len(kept), 2 * 6),
            "largest change of those": at_most(largest, 1e-12),
        },
        cases=96,
    )
    evidence.control("the others change it", figures={"smallest change": at_least(smallest, 1e-3)})


def signed(network: Network, order: tuple[int, ...], signs: tuple[int, ...], z: Tensor) -> Tensor:
    """Outputs with units renumbered and (w, b, v) → (±w, ±b, ±v), the constant b_2 corrected as well as it can be."""
    index, sign = torch.tensor(order), torch.tensor(signs, dtype=torch.float64)
    w_1, b_1 = network.w_1[:, index] * sign, network.b_1[index] * sign
    return F.gelu(z @ w_1 + b_1) @ (network.w_2[index] * sign.unsqueeze(-1))


def signed_inner(network: Network, order: tuple[int, ...], signs: tuple[int, ...], z: Tensor) -> Tensor:
    """As :func:`signed`, with v left alone."""
    index, sign = torch.tensor(order), torch.tensor(signs, dtype=torch.float64)
    return F.gelu(z @ (network.w_1[:, index] * sign) + network.b_1[index] * sign) @ network.w_2[index]
