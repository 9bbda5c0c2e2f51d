"""Rotated scores that are seen at few positions only: at few distances, and of each vector with itself.

Channels that rotate alike are a form of their own between queries and keys, of a rank that they fill; a rotation
multiplies it by a complex number (by ±1 where it turns by 0 or π). The sum of all forms is seen at each distance, and
at distance zero as a quadratic form: what is not symmetric in functions that queries and keys share stays unseen there.
Forms have as many coefficients at a distance as there are cosines and sines. Powers of distinct numbers are
independent, so each distance shows one combination more until there are as many as coefficients.

A first layer sees a vector with itself at its tokens only. Of a vector of fixed length (a norm without ε) the square is
a constant, which counts once where queries and keys read a constant too.

Softmax compares: constant keys show by differences between distances only, even where all else shows.

Tables of cosines in float64 are rounded: equal distances at other positions are not quite equal there. An exact run
takes the rounded numbers as they are and then sees more than rotations show, but for quarter turns.
"""

from __future__ import annotations

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, LatentAttention, ModelGraph, graph_of
from symgauge.symmetries.linear_attention import functions_read, numbers_of_products, product_numbers
from symgauge.symmetries.seen import seen_by_readers
from symgauge.symmetries.softmax import unseen_key_channels
from symgauge.symmetries.spaces import spaces


def few_positions_leave_forms(a: Architecture) -> bool:
    """Whether forms of rotated heads have more numbers than the distances that a layer sees show of them."""
    graph = graph_of(a)
    return any(_leaves(a, graph, sub) for sub in graph.sublayers() if isinstance(sub, Attention | LatentAttention))


def _leaves(a: Architecture, graph: ModelGraph, sub: Attention | LatentAttention) -> bool:
    window = sub.window if isinstance(sub, Attention) else 0
    rotary = sub.rotary if isinstance(sub, Attention) else a.rotary
    further = min(a.context, window or a.context) - 1
    if rotary is None or further < 1:
        return False
    share, seen = a.heads // a.groups, seen_by_readers(a, graph)
    unseen = set(unseen_key_channels(a, rotary))
    if isinstance(sub, Attention):
        query, key, _, _ = functions_read(a, graph, sub)
        itself, constant = numbers_of_products(query, key), seen[sub.key.weight].constant
    else:
        # All heads share rotated keys, which read the stream; queries read a latent of their own.
        share, query, keys = a.heads, seen[sub.query_rope.weight].linear, seen[sub.key_rope.weight]
        key, constant = keys.linear + keys.constant, keys.constant
        itself = numbers_of_products(query, key)
    shown = _shown_of_itself(a, graph, sub)
    each_distance = product_numbers(share * query, rotary.channels, key)
    numbers = cosines = sines = of_sines = of_constants = coefficients = 0
    for form in rotary.classes():
        turning = form.kind == "complex"
        channels = len(form.signs) if turning else len(form.channels)
        # Constant keys in channels that do not turn are a family: softmax never sees them.
        linear = key - (constant and set(form.channels) <= unseen)
        numbers += (1 + turning) * product_numbers(share * query, channels, linear)
        if constant and linear == key:
            coefficients += 1 + turning
            of_constants += (1 + turning) * (share * query if channels >= key else min(channels, share * query))
        cosines, sines = cosines + 1, sines + turning
        of_sines += turning * product_numbers(share * query, 2 * channels, key)
    if a.causal:
        further_away = min(cosines + sines, further) * each_distance
    else:
        # Distances come with both signs, which tell cosines from sines.
        further_away = min(cosines, further) * each_distance
        further_away += of_sines if sines <= further else further * each_distance
    # Softmax compares: what constant keys give a query is seen by its differences between distances.
    compared = query if constant and a.attention == "softmax" and a.attention_softcap is None else 0
    differences = min(coefficients, further if a.causal else 2 * further)
    if compared and of_constants > share * query * differences:
        return True
    on_a_sphere = constant and isinstance(sub, Attention) and _reads_a_sphere_and_a_constant(a, graph, sub.query.weight)
    return numbers > share * min(itself - compared - on_a_sphere, shown) + further_away


def _reads_a_sphere_and_a_constant(a: Architecture, graph: ModelGraph, query: str) -> bool:
    """Whether queries read a vector of fixed length, the square of which is a constant, and a constant beside it."""
    sources = [s.source for s in spaces(a, graph) if any(reader.weight == query for reader in s.moments[0].readers)]
    return a.epsilon_is_zero and any(sources) and seen_by_readers(a, graph)[query].constant


def _shown_of_itself(a: Architecture, graph: ModelGraph, sub: Attention | LatentAttention) -> int:
    """At how many vectors a layer sees scores of a vector with itself: a first layer's are tokens at positions."""
    if not a.is_model or sub != next(graph.sublayers()):
        return a.d_model**2
    # A first position that sees itself alone compares nothing.
    return a.vocabulary * (a.context - a.causal if a.position_table else 1)
