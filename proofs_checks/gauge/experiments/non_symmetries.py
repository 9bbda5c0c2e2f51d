"""Maps outside G_max, as F.3.2 constructs them, and in the readings that its text allows."""

from __future__ import annotations

import torch
from torch import Tensor

from proofs_checks.gauge.experiments.elements import Pair, orthogonal, source_pairs, with_inverse
from proofs_checks.gauge.experiments.layer import Layer, Sizes, normal
from symgauge.errors import InvalidInput

MIXING = 0.1
"""The factor of the off-diagonal blocks in (89)."""


def mixings(generator: torch.Generator, sizes: Sizes, count: int, *, norm: str = "frobenius") -> Pair:
    """(89): P (count, h d_v, h d_v), identity blocks on the diagonal, 0.1 R_ij off it.

    norm: "frobenius", ‖R_ij‖_F = 1 as reported; "entries", independent N(0, 1) entries.
    """
    h, _, d_v, _ = sizes
    r = normal(generator, count, h, h, d_v, d_v, device=generator.device)
    if norm == "frobenius":
        r /= torch.linalg.matrix_norm(r, keepdim=True)
    elif norm != "entries":
        raise InvalidInput(f"no norm of R is called {norm!r}; choose frobenius or entries")
    blocks = MIXING * r
    blocks.diagonal(dim1=1, dim2=2)[:] = torch.eye(d_v, dtype=r.dtype, device=r.device).unsqueeze(-1)
    return with_inverse(blocks.transpose(2, 3).reshape(count, h * d_v, h * d_v))


def mix_heads(layer: Layer, matrix: Tensor, inverse: Tensor | None = None) -> Layer:
    """W_V → W_V P over the joined heads, and W_O → P⁻¹ W_O where the inverse is given."""
    h, d_v, d = layer.output.shape
    joined = layer.value.transpose(0, 1).flatten(1) @ matrix
    value = joined.unflatten(1, (h, d_v)).transpose(0, 1)
    if inverse is None:
        return layer._replace(value=value)
    return layer._replace(value=value, output=(inverse @ layer.output.flatten(0, 1)).view(h, d_v, d))


def plane_blocks(generator: torch.Generator, sizes: Sizes, count: int, *, law: str) -> Pair:
    """(90): A = diag(A_1, …, A_{d_k/2}) per head, (count, h, d_k, d_k), on the planes (2j, 2j + 1) that RoPE turns.

    law of A_j, which the source does not give: "positive", (87) in two dimensions; "gaussian", N(0, 1) entries;
    "near", 1 + 0.1 N(0, 1); "commuting", aI + bJ, a control: these are symmetries of a rotary layer.
    """
    h, d_k, _, _ = sizes
    shape = (count, h, d_k // 2, 2, 2)
    if law == "positive":
        blocks = source_pairs(generator, *shape).matrix
    elif law in ("gaussian", "near", "commuting"):
        blocks = normal(generator, *shape, device=generator.device)
        if law == "near":
            blocks = torch.eye(2, dtype=blocks.dtype, device=blocks.device) + 0.1 * blocks
        elif law == "commuting":
            a, b = blocks[..., 0, 0], blocks[..., 0, 1]
            blocks = torch.stack([torch.stack([a, b], -1), torch.stack([-b, a], -1)], -2)
    else:
        raise InvalidInput(f"no law of 2×2 blocks is called {law!r}; choose positive, gaussian, near or commuting")
    pair = with_inverse(blocks)
    return Pair(*(_block_diagonal(part) for part in pair))


def _block_diagonal(blocks: Tensor) -> Tensor:
    """(…, m, 2, 2) → (…, 2m, 2m)."""
    m = blocks.shape[-3]
    whole = blocks.new_zeros(*blocks.shape[:-3], m, 2, m, 2)
    index = torch.arange(m, device=blocks.device)
    whole[..., index, :, index, :] = blocks.movedim(-3, 0)
    return whole.reshape(*blocks.shape[:-3], 2 * m, 2 * m)


def rotations(generator: torch.Generator, sizes: Sizes, count: int) -> Tensor:
    """F.3.2, third construction: Q in O(d_model), (count, d, d)."""
    return orthogonal(generator, count, sizes.d_model, sizes.d_model)


READINGS = ("everywhere", "in and back", "values", "values back", "heads", "heads back")


def rotate(layer: Layer, q: Tensor, reading: str) -> Layer:
    """Q applied "globally to all parameters", in a reading of READINGS.

    everywhere: Q W_Q, Q W_K, Q W_V, W_O Q; in and back: the same with W_O Qᵀ, that is x → xQ … Qᵀ; values, values back:
    W_Q and W_K left alone; heads, heads back: Q among the joined heads, W_V Q and W_O, or QᵀW_O (d = h d_v only).
    """
    query, key, value, output = layer
    if reading.startswith("heads"):
        return mix_heads(layer, q, q.mT if reading == "heads back" else None)
    turned = Layer(q @ query, q @ key, q @ value, output @ (q.mT if "back" in reading else q))
    if reading in ("everywhere", "in and back"):
        return turned
    if reading in ("values", "values back"):
        return turned._replace(query=query, key=key)
    raise InvalidInput(f"no reading is called {reading!r}; choose one of {', '.join(READINGS)}")
