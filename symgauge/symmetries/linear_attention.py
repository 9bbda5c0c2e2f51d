"""Attention without softmax adds up to one form of degree three, which tells heads apart only if they are few enough.

A head writes (x B yᵀ)(y C), with B = W_Q W_Kᵀ and C = W_V W_O, summed over the positions y. Keys and values of one
position meet in products, of which only the part that is symmetric in y is seen.
"""

from __future__ import annotations

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, LatentAttention, ModelGraph, Sublayer, graph_of
from symgauge.symmetries.seen import seen_by_readers, seen_of_writers


def heads_exceed_their_form(a: Architecture) -> bool:
    """Whether heads have more numbers than their form, or each is any matrix B and any C, so that they mix."""
    if a.attention != "linear" or a.attention_softcap is not None:
        return False
    graph = graph_of(a)
    return any(_exceeds(a, graph, sub) for sub in graph.sublayers())


def _exceeds(a: Architecture, graph: ModelGraph, sub: Sublayer) -> bool:
    if isinstance(sub, LatentAttention) and a.latent is not None:
        query, latent = a.latent.query or a.d_model, a.latent.key_value
        any_scores = a.d_k - a.latent.d_rope >= min(query, latent) and a.latent.d_rope >= min(query, a.d_model)
        return a.heads > 1 and any_scores and a.d_v >= min(latent, a.d_model)
    if not isinstance(sub, Attention) or sub.query_norm is not None:
        return False
    query, key, value, output = _functions(a, graph, sub)
    share = a.heads // a.groups
    rank_b, rank_c = min(a.d_k, share * query, key), min(a.d_v, value, share * output)
    scores = rank_b * (share * query + key - rank_b)
    written = rank_c * (value + share * output - rank_c)
    distances = 1 if sub.rotary is None else sum(1 + (c.kind == "complex") for c in sub.rotary.classes())
    least = min(key, value)
    form = distances * query * (key * value - least * (least - 1) // 2) * output
    mix = a.heads > 1 and a.d_k >= min(query, key) and a.d_v >= min(value, output)
    # As many heads as their outputs have numbers are one too many where rotations keep keys apart.
    shared = share > 1 and share - (sub.rotary is None) >= min(a.d_v * output, a.d_k * query)
    # One group more than fills the form: so near to it heads are not told apart either.
    return (a.groups + 1) * (scores + written - share**2) > form or mix or shared


def _functions(a: Architecture, graph: ModelGraph, sub: Attention) -> tuple[int, int, int, int]:
    """Independent functions that queries, keys and values see, a constant included, and channels that outputs reach."""
    seen = seen_by_readers(a, graph)
    query, key, value = (seen[m.weight].linear + seen[m.weight].constant for m in sub.readers)
    return query, key, value, seen_of_writers(a, graph)[sub.output.weight]


def tokens_tell_keys_from_values(a: Architecture) -> bool:
    """Whether tokens are enough to see the keys and values of a first layer by their products, one for each token."""
    graph = graph_of(a)
    sub = next(graph.sublayers())
    if a.attention != "linear" or not isinstance(sub, Attention):
        return True
    _, key, value, _ = _functions(a, graph, sub)
    scale = 0 if a.qk_norm else 1
    return a.vocabulary * (a.d_k + a.d_v - 1) >= a.d_k * key + a.d_v * value - scale
