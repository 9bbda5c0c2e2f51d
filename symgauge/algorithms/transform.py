"""The gauge transformation, stably."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.algorithms.element import GaugeElement
from symgauge.algorithms.errors import IllConditioned
from symgauge.algorithms.parameters import AttentionParameters, require_finite


def permute(p: AttentionParameters, heads: Tensor) -> AttentionParameters:
    """Renumber heads (and with them groups): head i of the result is head ``heads[i]``."""
    groups = heads[:: p.shared] // p.shared
    order = {"query": heads, "output": heads, "query_bias": heads}
    order |= {"key": groups, "value": groups, "key_bias": groups, "value_bias": groups}
    return p.replace(**{name: x[order[name]] for name, x in p.tensors().items() if name in order})


def _times(bias: Tensor | None, matrix: Tensor) -> Tensor | None:
    return None if bias is None else (bias.unsqueeze(-2) @ matrix).squeeze(-2)


def apply(parameters: AttentionParameters, element: GaugeElement) -> AttentionParameters:
    """Act with a gauge element on an attention layer, weights and biases; the function stays.

    Inverses are never formed: W_K A⁻ᵀ and C⁻¹ W_O are LU solves, so that the invariants W_Q W_Kᵀ and W_V W_O move by
    no more than about ε · cond(A) ‖W_Q‖ ‖W_K‖ and its like. Batched over heads; cost O(h d_model (d_k² + d_v²)).

    Raises :class:`InvalidInput` for entries that are not finite and for elements outside the group (shapes, a
    renumbering that tears groups apart, an A that does not commute with the rotary encoding), and
    :class:`IllConditioned` when cond(A) or cond(C) exceeds ε^(−½), where half of the digits would be lost.

    Example:
        >>> import torch, symgauge
        >>> from symgauge.algorithms import random_attention, random_element
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3)
        >>> element = random_element(layer, seed=1)
        >>> moved = symgauge.apply(layer, element)
        >>> scores = layer.query @ layer.key.mT
        >>> torch.allclose(moved.query @ moved.key.mT, scores[element.heads])
        True
    """
    p = parameters
    require_finite(p, "apply")
    element.check(p)
    condition, limit = element.condition, p.epsilon**-0.5
    if not condition <= limit:
        raise IllConditioned(
            f"the gauge element has condition {condition:.3g}; above {limit:.3g} more than half of the digits of "
            f"{str(p.query.dtype).removeprefix('torch.')} would be lost. Condition it better, or use more digits"
        )
    p = permute(p, element.heads)
    of_head = p.group_of_head()
    a, c = element.query_key, element.value_output
    inverse_a, query_a = torch.linalg.solve(a, p.key.mT).mT, a[of_head]
    changes = {
        "query": p.query @ query_a,
        "key": inverse_a,
        "value": p.value @ c,
        "output": torch.linalg.solve(c[of_head], p.output),
        "query_bias": _times(p.query_bias, query_a),
        "value_bias": _times(p.value_bias, c),
        "key_bias": None if p.key_bias is None else torch.linalg.solve(a, p.key_bias.unsqueeze(-1)).squeeze(-1),
    }
    moved = p.replace(**{name: x for name, x in changes.items() if x is not None})
    return shift(moved, element.key_shift, element.value_shift)


def shift(p: AttentionParameters, key: Tensor | None, value: Tensor | None) -> AttentionParameters:
    """b_K + ``key``, b_V + ``value``, and b_O less what ``value`` writes."""
    changes = {}
    if key is not None and p.key_bias is not None:
        changes["key_bias"] = p.key_bias + key
    if value is not None and p.value_bias is not None and p.output_bias is not None:
        changes["value_bias"] = p.value_bias + value
        changes["output_bias"] = p.output_bias - (value.unsqueeze(-2) @ p.grouped_output()).sum((0, 1))
    return p.replace(**changes)
