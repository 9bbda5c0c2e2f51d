"""Are two attention layers on one gauge orbit, and by which element?"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from symgauge.algorithms.alignment import align
from symgauge.algorithms.element import GaugeElement
from symgauge.algorithms.errors import IllConditioned
from symgauge.algorithms.invariants import Change, relative_change
from symgauge.algorithms.pairs import with_bias
from symgauge.algorithms.parameters import AttentionParameters
from symgauge.algorithms.transform import permute
from symgauge.errors import InvalidInput

LARGEST_TOLERANCE = 1e-3
"""Above this a "yes" would not tell equal functions from similar ones."""


@dataclass(frozen=True, eq=False)
class Equivalence:
    """The answer, with what it rests on.

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import random_attention, random_element
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3, groups=2)
        >>> moved = symgauge.apply(layer, random_element(layer, seed=1))
        >>> found = symgauge.equivalent(layer, moved)
        >>> found.equivalent, found.residual < found.allowed, found.element.heads.shape
        (True, True, torch.Size([4]))
    """

    equivalent: bool
    element: GaugeElement | None
    """Takes the first layer to the second (only if they are equivalent)."""
    residual: float
    """Largest relative difference of the invariants of matched heads, and of the output biases."""
    allowed: float
    """The residual that rounding may cause, or the tolerance given."""
    condition: float
    """Condition of the element found."""
    reason: str
    """One sentence: what agrees, or where they differ first."""

    def __bool__(self) -> bool:
        return self.equivalent


def equivalent(first: AttentionParameters, second: AttentionParameters, tolerance: float | None = None) -> Equivalence:
    """Decide whether ``second`` = element · ``first``, and give the element.

    Heads are matched on invariants; then W_Q W_Kᵀ (block by block with rotary encoding), W_V W_O and the biases of each
    matched pair must agree to relative accuracy ``tolerance``. By default that is what rounding may cause:
    16 √(d_model + d_k) · ε · max(1, cond(element)) · ‖W_Q‖‖W_K‖ / ‖W_Q W_Kᵀ‖ (largest over heads and sectors). With
    full rank equal invariants imply one orbit, and the element is unique.

    Layers in general position (distinct W_Q W_Kᵀ, full rank) with equal functions on three or more tokens are on one
    orbit, so there "no" also means different functions; where two heads have equal W_Q W_Kᵀ only the orbit is decided.

    Raises like :func:`align`, and :class:`IllConditioned` when rounding alone would exceed 1e-3.

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import random_attention, random_element
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3, groups=2)
        >>> moved = symgauge.apply(layer, random_element(layer, seed=1))
        >>> other = moved.replace(key=1.001 * moved.key)
        >>> bool(symgauge.equivalent(layer, moved)), bool(symgauge.equivalent(layer, other))
        (True, False)
    """
    if tolerance is not None and not 0 <= tolerance < 1:
        raise InvalidInput(f"equivalent: the tolerance is a relative accuracy in [0, 1), not {tolerance}")
    # From the second to the first: the element found is then inverted, so that it acts on the first.
    found = align(second, first)
    matched = permute(first, found.element.heads)
    change = relative_change(matched, second)
    condition = found.element.condition
    allowed = _rounding(matched, second, found.element, change) if tolerance is None else tolerance
    if tolerance is None and allowed > LARGEST_TOLERANCE:
        raise IllConditioned(
            f"equivalent: rounding alone may change the invariants by {allowed:.2g}; give a tolerance, or more digits"
        )
    same = change.worst <= allowed
    if same:
        reason = f"all {first.heads} heads agree to {change.worst:.2g} (allowed {allowed:.2g})"
    else:
        parts = {"W_Q W_Kᵀ": change.scores, "W_V W_O": change.values}
        what, where = max(parts.items(), key=lambda item: float(item[1].max()))
        head = int(where.argmax())
        reason = (
            f"head {int(found.element.heads[head])} of the first is nearest to head {head} of the second, but their "
            f"{what} differ by {float(where[head]):.2g} of their size (allowed {allowed:.2g})"
        )
        if change.bias > float(where.max()):
            reason = f"the output biases differ by {change.bias:.2g} of their size (allowed {allowed:.2g})"
    return Equivalence(same, found.element if same else None, change.worst, allowed, condition, reason)


def _rounding(first: AttentionParameters, second: AttentionParameters, element: GaugeElement, change: Change) -> float:
    """What rounding may change, relatively: an LU solve with A leaves W_Q A W'_Kᵀ wrong by ε ‖W_Q‖ ‖A‖ ‖W'_K‖."""
    first, second = first.without_free_biases(), second.without_free_biases()
    share, norm = first.group_of_head(), torch.linalg.matrix_norm
    largest = [torch.linalg.matrix_norm(x, 2)[share] for x in (element.query_key, element.value_output)]
    query, key = with_bias(first.query, first.query_bias), with_bias(second.key, second.key_bias)
    scores = norm(query) * largest[0] * norm(key)[share] / change.scores_size + change.scores_scale
    values = norm(first.value)[share] * largest[1] * norm(second.output) / change.values_size + change.values_scale
    worst = max(first.d_k**0.5 * float(scores.max()), first.d_v**0.5 * float(values.max()))
    return 8 * first.epsilon * worst
