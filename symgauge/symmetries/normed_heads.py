"""Normed queries and keys of a first layer: what their maps may be, against what tokens show of them.

A query on token v is q̂(v) γ, with q̂ = x W / |x W| up to ε. Scores stay if q̂ becomes q̂ A and keys take A⁻ᵀ. For W → W A
the norm must not notice: the form A Aᵀ − 1 of the query is then the same number on every token (zero without ε). Forms
and that number are unknowns, tokens are equations. Fewer tokens still leave W free by itself.
"""

from __future__ import annotations

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, graph_of
from symgauge.symmetries.seen import seen_by_readers
from symgauge.symmetries.softmax import unseen_key_channels


def tokens_leave_forms(a: Architecture) -> bool:
    """Whether tokens are fewer than the forms that a query or key norm sees, or than what fixes its map."""
    graph = graph_of(a)
    sub = next(graph.sublayers())
    if not a.is_model or a.position_table or not a.qk_norm or not isinstance(sub, Attention):
        return False
    seen = seen_by_readers(a, graph)
    query, key = (min(a.vocabulary, seen[m.weight].linear + seen[m.weight].constant) for m in (sub.query, sub.key))
    n, together = a.d_k, a.heads if a.qk_norm_across else 1
    forms, numbers = n * (n + 1) // 2, a.vocabulary - (not a.epsilon_is_zero)
    if sub.rotary is None and numbers < together * forms:
        return True
    if a.epsilon_is_zero and together * n * max(query, key) - 1 > a.vocabulary * (together * n - 1):
        return True  # each token fixes a direction alone
    heads, maps = a.heads + a.groups, n * (a.heads * query + a.groups * key)
    # Bases that keep the scores, new gains but for those that trade, and constants of keys that softmax does not see.
    classes = [] if sub.rotary is None else sub.rotary.classes()
    factors = sum(len(c.signs) if c.kind == "complex" else len(c.channels) for c in classes) if classes else n
    bases = a.groups * (n * n if sub.rotary is None else sub.rotary.commutant_dimension)
    gains = heads * n - a.groups * factors if a.qk_norm_across else 2 * n - factors
    constants = a.groups * len(unseen_key_channels(a.replace(qk_norm=False, qk_norm_across=False), sub.rotary))
    norms = (a.heads, a.groups) if a.qk_norm_across else (1,) * heads
    # Where tokens fix the queries' forms, rotations are left and gains; keys follow those, and constants.
    turns = sum(c.kind == "complex" for c in classes) if classes else n * (n - 1) // 2
    own = a.groups * (n * key + turns) - a.epsilon_is_zero * (1 if a.qk_norm_across else a.groups)
    if own + constants + n * (a.groups if a.qk_norm_across else 1) > a.groups * n * a.vocabulary:
        return True
    by_forms = bases + gains > sum(min(size * forms, numbers) for size in norms)
    return by_forms or maps + bases + gains + constants >= heads * n * a.vocabulary
