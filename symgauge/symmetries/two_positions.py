"""Rotated scores that are seen at two positions only: at distance one, and of each vector with itself.

Channels that rotate alike are a form of their own between queries and keys, of a rank that they fill; a rotation
multiplies it by a complex number (by ±1 where it turns by 0 or π). The sum of all forms is seen at distance one, and at
distance zero as a quadratic form: what is not symmetric in functions that queries and keys share stays unseen there.
"""

from __future__ import annotations

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, LatentAttention, ModelGraph, graph_of
from symgauge.symmetries.linear_attention import functions_read, numbers_of_products, product_numbers, turning_alike
from symgauge.symmetries.seen import seen_by_readers


def two_positions_leave_forms(a: Architecture) -> bool:
    """Whether forms of rotated heads have as many numbers as a layer that sees two positions shows of them."""
    graph = graph_of(a)
    return any(_leaves(a, graph, sub) for sub in graph.sublayers() if isinstance(sub, Attention | LatentAttention))


def _leaves(a: Architecture, graph: ModelGraph, sub: Attention | LatentAttention) -> bool:
    window = sub.window if isinstance(sub, Attention) else 0
    rotary = sub.rotary if isinstance(sub, Attention) else a.rotary
    if rotary is None or min(a.context, window or a.context) != 2:
        return False
    share, seen = a.heads // a.groups, seen_by_readers(a, graph)
    if isinstance(sub, Attention):
        query, key, _, _ = functions_read(a, graph, sub)
        itself = numbers_of_products(query, key)
        # Softmax compares: what constant keys give a query at both distances is seen by its difference alone.
        merged = query if seen[sub.key.weight].constant and a.attention == "softmax" else 0
    else:
        # All heads share rotated keys, which read the stream; queries read a latent of their own.
        share, query, key = a.heads, seen[sub.query_rope.weight].linear, a.d_model
        itself = query * key if sub.query_down is not None else numbers_of_products(query, key)
        merged = 0
    classes = turning_alike(a, rotary)
    numbers = sum(parts * product_numbers(share * query, channels, key) for channels, parts in classes)
    turned = 2 if not a.causal and any(parts == 2 for _, parts in classes) else 1
    return numbers >= share * (itself + turned * query * key - merged)
