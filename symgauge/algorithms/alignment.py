"""Moving one attention layer along its gauge orbit next to another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy
import torch
from torch import Tensor

from symgauge.algorithms.assignment import assignment
from symgauge.algorithms.element import GaugeElement
from symgauge.algorithms.invariants import head_distances, relative_change
from symgauge.algorithms.pairs import balance, matrices, polar, score_pairs, value_pair
from symgauge.algorithms.parameters import (
    AttentionParameters,
    require_alike,
    require_finite,
    require_ordinary_value_bias,
)
from symgauge.algorithms.transform import apply, permute


@dataclass(frozen=True, eq=False)
class Alignment:
    """The layer moved, the element that moved it, and the distances to the reference before and after.

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import random_attention, random_element
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3, groups=2)
        >>> moved = symgauge.apply(layer, random_element(layer, seed=1))
        >>> found = symgauge.align(layer, moved)
        >>> found.parameters.size, found.element.heads.shape, found.after < found.before
        (180, torch.Size([4]), True)
    """

    parameters: AttentionParameters
    element: GaugeElement
    before: float
    after: float
    """‖reference − moved‖, Frobenius over all parameters; ``before`` the same for the layer as it came."""
    mismatch: float
    """Σ over heads of ‖M − M'‖ + ‖N − N'‖ for the matching chosen: 0 to rounding only for gauge-equivalent weights."""


def match_heads(distances: Tensor, groups: int) -> Tensor:
    """For each head of the reference the head of the other layer (h,), at least total distance, groups kept together.

    Exact: heads are assigned inside every pair of groups, then groups by these totals (scipy's Hungarian method on the
    host; O(g² (h/g)³ + g³)).

    Example:
        >>> import torch
        >>> from symgauge.algorithms import match_heads
        >>> match_heads(torch.tensor([[5.0, 1.0], [1.0, 5.0]]), groups=2).tolist()
        [1, 0]
    """
    table = distances.detach().double().cpu().numpy()
    heads = len(table)
    shared = heads // groups
    if shared == 1:
        return torch.as_tensor(assignment(table), device=distances.device)
    tiles = table.reshape(groups, shared, groups, shared).transpose(0, 2, 1, 3)
    inside = [[assignment(tile) for tile in row] for row in tiles]
    rows = numpy.arange(shared)
    totals = [[tiles[a, b][rows, inside[a][b]].sum() for b in range(groups)] for a in range(groups)]
    chosen = assignment(numpy.array(totals))
    order = numpy.concatenate([b * shared + inside[a][b] for a, b in enumerate(chosen)])
    return torch.as_tensor(order, device=distances.device)


def align(reference: AttentionParameters, other: AttentionParameters) -> Alignment:
    """Move ``other`` along its gauge orbit next to ``reference``; its function stays.

    Heads (inside groups, and groups) are matched on the gauge-invariant distances ‖M_i − M'_j‖ + ‖N_i − N'_j‖. Each
    matched pair is brought to the balanced form, where orthogonal (with rotary encoding: blockwise unitary) Procrustes
    problems remain, O = polar(W'_QᵀW_Q + W'_KᵀW_K), likewise for values and outputs. The element is then expressed in
    the gauge of ``reference``, so a planted element is recovered whatever that gauge is. Free biases take the values of
    the reference's.

    The result minimises the distance over O(d_k) × O(d_v) per group between the balanced forms, given the matching; it
    is not claimed to minimise it over all of GL. To average two models, canonicalize the reference first (both then
    are balanced).

    Cost O(h² d_model (d_k + d_v) + h³). Raises :class:`InvalidInput` for layers of different shape and entries that are
    not finite, :class:`NonGeneric` without full rank, :class:`IllConditioned` for an element that is.

    The orthogonal Procrustes problem is solved by a polar factor (Schönemann, Psychometrika 31, 1966), the matching by
    the Hungarian method.

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import random_attention, random_element
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3, groups=2)
        >>> found = symgauge.align(layer, symgauge.apply(layer, random_element(layer, seed=1)))
        >>> found.before > 1, found.after < 1e-9
        (True, True)
    """
    require_alike(reference, other)
    for what, p in (("align, reference", reference), ("align, other", other)):
        require_finite(p, what)
        require_ordinary_value_bias(p)
    fixed, moving = reference.without_free_biases(), other.without_free_biases()
    distances = head_distances(fixed, moving)
    heads = match_heads(distances, fixed.groups)
    moving = permute(moving, heads)
    pairs = [*score_pairs(moving), value_pair(moving)]
    found = []
    for target, pair in zip([*score_pairs(fixed), value_pair(fixed)], pairs, strict=True):
        one, two = balance(target, fixed.epsilon), balance(pair, fixed.epsilon)
        turn = polar(two.left.mH @ one.left + two.right.mH @ one.right)
        found.append(torch.linalg.solve(one.element, two.element @ turn, left=False))
    a, c = matrices(moving, pairs, found)
    element = with_reference_biases(reference, other, heads, a, c)
    moved = apply(other, element)
    change = relative_change(reference, moved)
    mismatch = change.scores @ change.scores_size + change.values @ change.values_size
    return Alignment(moved, element, reference.distance(other), reference.distance(moved), float(mismatch))


def with_reference_biases(
    reference: AttentionParameters, other: AttentionParameters, heads: Tensor, a: Tensor, c: Tensor
) -> GaugeElement:
    """The element (a, c, heads) with shifts that give ``other`` the free biases of ``reference``."""
    key = value = None
    groups = heads[:: other.shared] // other.shared
    if other.key_bias is not None and reference.key_bias is not None:
        moved = torch.linalg.solve(a, other.key_bias[groups].unsqueeze(-1)).squeeze(-1)
        key = torch.where(other.free_key_channels(), reference.key_bias - moved, 0.0)
    if other.value_bias is not None and reference.value_bias is not None and other.output_bias is not None:
        value = reference.value_bias - (other.value_bias[groups].unsqueeze(-2) @ c).squeeze(-2)
    return GaugeElement(a, c, heads, key, value)
