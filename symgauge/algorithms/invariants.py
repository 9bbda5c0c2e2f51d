"""What the gauge group cannot change: the products W_Q W_Kᵀ and W_V W_O of each head, their sizes and differences."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.algorithms.pairs import Pair, score_pairs, value_pair
from symgauge.algorithms.parameters import AttentionParameters

LARGEST_CHUNK = 2**26
"""Entries of the largest temporary tensor."""


def _by_head(pair: Pair, heads: int) -> tuple[Tensor, Tensor]:
    """The factor that is each head's own (n, h, rows, r), and the one that its group shares (n, g, rows, r)."""
    own, shared = (pair.right, pair.left) if pair.channels is None else (pair.left, pair.right)
    return own.reshape(own.shape[0], heads, -1, own.shape[-1]), shared


def _triangular(shared: Tensor, heads: int) -> Tensor:
    """Triangular factors of the shared matrices, repeated for the heads of each group: (n, h, r, r)."""
    return torch.linalg.qr(shared, mode="r").R.repeat_interleave(heads // shared.shape[1], 1)


def _sizes(pair: Pair, heads: int) -> Tensor:
    """‖L Rᴴ‖² (h,), summed over blocks; accurate, for one factor is made triangular first."""
    own, shared = _by_head(pair, heads)
    return (own @ _triangular(shared, heads).mH).abs().square().sum((0, 2, 3))


def head_sizes(p: AttentionParameters) -> Tensor:
    """‖W_Q,i W_Kᵀ‖ + ‖W_V W_O,i‖ (h,), Frobenius, biases included; with rotary encoding block by block.

    Example:
        >>> import torch
        >>> from symgauge.algorithms import head_sizes, random_attention
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3)
        >>> head_sizes(layer).shape, torch.allclose(head_sizes(layer.replace(query=-layer.query)), head_sizes(layer))
        (torch.Size([4]), True)
    """
    scores = torch.stack([_sizes(pair, p.heads) for pair in score_pairs(p)]).sum(0)
    return scores.sqrt() + _sizes(value_pair(p), p.heads).sqrt()


def _inner(one: Pair, two: Pair, heads: int) -> Tensor:
    """Re ⟨L_i R_iᴴ, L_j R_jᴴ⟩ (h, h) over pairs of heads, without forming a product; chunked over i."""
    (a, b), (c, d) = _by_head(one, heads), _by_head(two, heads)
    n, _, _, r = a.shape
    step = max(1, LARGEST_CHUNK // (n * heads * r * r))
    rows = []
    group = torch.arange(heads, device=a.device) // (heads // b.shape[1])
    shared = torch.einsum("nipr,njps->nijrs", b.conj(), d)
    for start in range(0, heads, step):
        own = torch.einsum("nipr,njps->nijrs", a[:, start : start + step].conj(), c)
        right = shared[:, group[start : start + step]][:, :, group]
        rows.append((own * right.conj()).sum((0, 3, 4)))
    found = torch.cat(rows)
    return found.real if found.is_complex() else found


def head_distances(first: AttentionParameters, second: AttentionParameters) -> Tensor:
    """D_ij = ‖M_i − M'_j‖ + ‖N_i − N'_j‖ (h, h) with M = W_Q W_Kᵀ and N = W_V W_O; invariant under both gauge groups.

    Cost O(h² d_model (d_k + d_v) + h² (d_k² + d_v²)). Distances below √ε of the sizes are rounding; they serve to
    match heads, not to decide equality (see :func:`relative_change`).

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import random_attention, random_element
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3, groups=2)
        >>> moved = symgauge.apply(layer, random_element(layer, seed=1))
        >>> from symgauge.algorithms import head_distances
        >>> distances = head_distances(layer, moved)
        >>> distances.shape, bool(distances.min(1).values.max() < 1e-6)   # every head has its counterpart
        (torch.Size([4, 4]), True)
    """
    h = first.heads
    total = first.query.new_zeros(h, h)
    pairs = [list(zip(score_pairs(first), score_pairs(second), strict=True)), [(value_pair(first), value_pair(second))]]
    for sector in pairs:
        total += product_distances(sector, h)
    return total


def product_distances(pairs: list[tuple[Pair, Pair]], heads: int) -> Tensor:
    """‖P_i − P'_j‖ (h, h) of the products L Rᴴ of every head, over all pairs of factors together."""
    squares = torch.zeros(heads, heads, dtype=pairs[0][0].left.real.dtype, device=pairs[0][0].left.device)
    for one, two in pairs:
        squares += _sizes(one, heads)[:, None] + _sizes(two, heads)[None] - 2 * _inner(one, two, heads)
    return squares.clamp_min(0).sqrt()


@dataclass(frozen=True, eq=False)
class Change:
    """Relative differences per head (h,) of the two invariants, and what rounding alone may cause."""

    scores: Tensor
    values: Tensor
    scores_scale: Tensor
    """(‖W_Q‖ ‖W_K‖ + ‖W'_Q‖ ‖W'_K‖) / ‖W_Q W_Kᵀ‖."""
    values_scale: Tensor
    scores_size: Tensor
    """‖W_Q W_Kᵀ‖ of the first layer."""
    values_size: Tensor
    bias: float
    """‖b_O − b'_O‖ relative to what the biases are made of (0 without an output bias)."""

    @property
    def worst(self) -> float:
        """The largest of all (infinite if one is not finite)."""
        found = max(float(self.scores.max()), float(self.values.max()), self.bias)
        return found if found == found else float("inf")


def relative_change(first: AttentionParameters, second: AttentionParameters) -> Change:
    """Compare head i with head i: ‖M − M'‖ / ‖M‖ and ‖N − N'‖ / ‖N‖, to full relative accuracy.

    The difference is one product [L, −L'] [R, R']ᴴ, evaluated with a triangular second factor, so equal products give
    differences of size ε ‖L‖ ‖R‖. Free biases are carried to where they are seen first.

    Example:
        >>> from symgauge.algorithms import random_attention, relative_change
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3)
        >>> change = relative_change(layer, layer.replace(key=1.01 * layer.key))
        >>> round(float(change.scores.max()), 6), float(change.values.max()) < 1e-12
        (0.01, True)
    """
    first, second = first.without_free_biases(), second.without_free_biases()
    sectors = [
        list(zip(score_pairs(first), score_pairs(second), strict=True)),
        [(value_pair(first), value_pair(second))],
    ]
    found = []
    for sector in sectors:
        difference, size, scale = (first.query.new_zeros(first.heads) for _ in range(3))
        for one, two in sector:
            (a, b), (c, d) = _by_head(one, first.heads), _by_head(two, first.heads)
            small = _triangular(torch.cat([b, d], -1), first.heads)
            difference += (torch.cat([a, -c], -1) @ small.mH).abs().square().sum((0, 2, 3))
            size += _sizes(one, first.heads)
            for own, shared in ((a, b), (c, d)):
                norms = torch.linalg.matrix_norm(shared).repeat_interleave(first.shared, 1)
                scale += (torch.linalg.matrix_norm(own) * norms).sum(0)
        size = size.sqrt()
        found += [difference.sqrt() / size, scale / size, size]
    bias = 0.0
    if first.output_bias is not None and second.output_bias is not None:
        scale_b = torch.linalg.vector_norm(first.output_bias) + torch.linalg.vector_norm(first.output)
        bias = float(torch.linalg.vector_norm(first.output_bias - second.output_bias) / scale_b)
    scores, scores_scale, scores_size, values, values_scale, values_size = found
    return Change(scores, values, scores_scale, values_scale, scores_size, values_size, bias)
