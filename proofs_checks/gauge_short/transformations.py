"""Transformations of an attention layer of realistic size: elements of the group, and maps outside of it."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.algorithms import AttentionParameters, GaugeElement

MIXING = 0.1
"""Size of what a mixing of heads takes from each other head, beside 1 from the head itself."""


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _orthogonal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.linalg.qr(_normal(generator, *shape))[0]


def well_conditioned_element(p: AttentionParameters, seed: int) -> GaugeElement:
    """A, C = U S Vᵀ with singular values in [½, 2], neither symmetric nor positive, and a permutation of the heads."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(n: int) -> Tensor:
        u, v = (_orthogonal(generator, p.heads, n, n) for _ in range(2))
        spectrum = 0.5 + 1.5 * torch.rand((p.heads, 1, n), generator=generator, dtype=torch.float64)
        return (u * spectrum) @ v.mT

    return GaugeElement(drawn(p.d_k), drawn(p.d_v), torch.randperm(p.heads, generator=generator))


def heads_mixed(p: AttentionParameters, seed: int) -> AttentionParameters:
    """W_V P and P⁻¹ W_O over the joined heads: P has 1 on the diagonal, and 0.1 R_ij with ‖R_ij‖_F = 1 off it."""
    generator = torch.Generator().manual_seed(seed)
    r = _normal(generator, p.heads, p.heads, p.d_v, p.d_v)
    blocks = MIXING * r / torch.linalg.matrix_norm(r, keepdim=True)
    blocks.diagonal(dim1=0, dim2=1)[:] = torch.eye(p.d_v, dtype=r.dtype).unsqueeze(-1)
    mixing = blocks.transpose(1, 2).reshape(p.heads * p.d_v, p.heads * p.d_v)
    value = p.value.transpose(0, 1).flatten(1) @ mixing
    output = torch.linalg.solve(mixing, p.output.flatten(0, 1))
    return p.replace(
        value=value.unflatten(1, (p.heads, p.d_v)).transpose(0, 1), output=output.view_as(p.output)
    )  # fmt: skip


def stream_rotated(p: AttentionParameters, seed: int) -> AttentionParameters:
    """Q W_Q, Q W_K, Q W_V and W_O Q with one orthogonal Q of the stream."""
    q = _orthogonal(torch.Generator().manual_seed(seed), p.d_model, p.d_model)
    return p.replace(query=q @ p.query, key=q @ p.key, value=q @ p.value, output=p.output @ q)
