"""Attention without softmax adds up to one form of degree three, which tells heads apart only if they are few enough.

A head writes (x B yᵀ)(y C), with B = W_Q W_Kᵀ and C = W_V W_O, summed over the positions y. Keys and values of one
position meet in products, of which only the part that is symmetric in y is seen.
"""

from __future__ import annotations

from symgauge.architecture import Architecture, Rotary
from symgauge.model_graph import Attention, LatentAttention, ModelGraph, Sublayer, graph_of
from symgauge.symmetries.seen import seen_by_readers, seen_of_writers


def heads_exceed_their_form(a: Architecture) -> bool:
    """Whether heads have more numbers than their form, or each is any matrix B and any C, so that they mix."""
    if a.attention != "linear" or a.attention_softcap is not None:
        return False
    graph = graph_of(a)
    return any(_exceeds(a, graph, sub) for sub in graph.sublayers())


def _exceeds(a: Architecture, graph: ModelGraph, sub: Sublayer) -> bool:
    if isinstance(sub, LatentAttention):
        return _latent_exceeds(a, sub)
    if not isinstance(sub, Attention) or sub.query_norm is not None:
        return False
    query, key, value, output = functions_read(a, graph, sub)
    share = a.heads // a.groups
    mix = _mix(a.heads, (query, a.d_k, key), (value, a.d_v, output), apart=sub.rotary is None and share == 1)
    # As many heads as their outputs have numbers are one too many where rotations keep keys apart.
    shared = share > 1 and share - (sub.rotary is None) >= min(a.d_v * output, a.d_k * query)
    # Without rotations one group more than fills the form: so near to it heads are not told apart either.
    groups = a.groups + (sub.rotary is None)
    return groups * _numbers_of_a_group(a, graph, sub) > _numbers_of_the_form(a, graph, sub) or mix or shared


def _latent_exceeds(a: Architecture, sub: LatentAttention) -> bool:
    """The same of heads that share rotated keys, which add a form linear in the queries, whatever the rank of keys."""
    assert a.latent is not None
    query, latent, rotated = a.latent.query or a.d_model, a.latent.key_value, min(a.latent.d_rope, a.d_model)
    still = a.d_k - a.latent.d_rope
    scores = (query, still, latent) if still else (0, 0, 0)
    numbers = product_numbers(*scores) + query * rotated + product_numbers(latent, a.d_v, a.d_model) - 1
    form = query * a.d_model * (numbers_of_products(latent, latent) * (still > 0) + rotated * latent)
    return a.heads * numbers > form or _mix(a.heads, scores, (latent, a.d_v, a.d_model), apart=True)


def _mix(heads: int, scores: tuple[int, int, int], outputs: tuple[int, int, int], apart: bool) -> bool:
    """Whether heads mix, by what they read, their channels, and what reads these, for scores and for outputs.

    Heads that are any matrices on one side mix as far as their sums keep the other side's rank, if all are ``apart``.
    """
    beyond, behind = (
        (read - channels) * (seen - channels) if channels < min(read, seen) else 0
        for read, channels, seen in (scores, outputs)
    )
    one_side = apart and min(beyond, behind) == 0 and heads - 1 > max(beyond, behind)
    return one_side or (heads > 1 and beyond == behind == 0)


def _numbers_of_a_group(a: Architecture, graph: ModelGraph, sub: Attention) -> int:
    query, key, value, output = functions_read(a, graph, sub)
    share = a.heads // a.groups
    scores = [product_numbers(share * query, channels, key) * parts for channels, parts in turning_alike(a, sub.rotary)]
    return sum(scores) + product_numbers(value, a.d_v, share * output) - share**2


def _numbers_of_the_form(a: Architecture, graph: ModelGraph, sub: Attention, seen: int | None = None) -> int:
    """Numbers of the form that heads add up to; ``seen``: independent forms in keys and values, if not all."""
    query, key, value, output = functions_read(a, graph, sub)
    seen = numbers_of_products(key, value) if seen is None else seen
    return sum(parts for _, parts in turning_alike(a, sub.rotary)) * query * seen * output


def numbers_of_products(key: int, value: int) -> int:
    """Numbers of a form in keys and values of one position, of which they share the smaller number of functions."""
    least = min(key, value)
    return key * value - least * (least - 1) // 2


def turning_alike(a: Architecture, rotary: Rotary | None) -> list[tuple[int, int]]:
    """Channels whose rotations agree, a form of their own each: how many, and 2 for complex numbers (one per plane)."""
    if rotary is None:
        return [(a.d_k, 1)]
    return [(len(c.signs), 2) if c.kind == "complex" else (len(c.channels), 1) for c in rotary.classes()]


def product_numbers(m: int, n: int, k: int) -> int:
    """Numbers of a product of matrices (m, n) and (n, k)."""
    rank = min(m, n, k)
    return rank * (m + k - rank)


def functions_read(a: Architecture, graph: ModelGraph, sub: Attention) -> tuple[int, int, int, int]:
    """Independent functions that queries, keys and values see, a constant included, and channels that outputs reach."""
    seen = seen_by_readers(a, graph)
    query, key, value = (seen[m.weight].linear + seen[m.weight].constant for m in sub.readers)
    return query, key, value, seen_of_writers(a, graph)[sub.output.weight]


def tokens_tell_keys_from_values(a: Architecture) -> bool:
    """Whether tokens are enough to see the keys and values of a first layer by their products, one for each token.

    Where products can be any numbers on all tokens, heads mix besides: one takes up what another writes.
    """
    graph = graph_of(a)
    sub = next(graph.sublayers())
    if a.attention != "linear" or not isinstance(sub, Attention):
        return True
    query, key, value, output = functions_read(a, graph, sub)
    channels = a.d_k if a.qk_norm else min(a.d_k, query)
    numbers = channels * key + a.d_v * value - (0 if a.qk_norm else 1)
    held = a.vocabulary * (channels + a.d_v - 1) - numbers
    if a.qk_norm and held <= channels * (channels + 1) // 2:
        return False  # norms leave forms besides
    any_products = (a.d_v == 1 and channels == query) or (channels == 1 and a.d_v >= output)
    # A table before an RMSNorm can follow products that may be any.
    more = held <= 0 and (a.norm == "rms" or (a.groups > 1 and any_products))
    return a.groups * held >= _shifts_of_the_table(a, graph) and not more


def _shifts_of_the_table(a: Architecture, graph: ModelGraph) -> int:
    """Constants that keys and values without biases can have of a table that is shifted.

    The table moves by one vector for all tokens, which queries take up by their biases or do not see, and what is added
    to the stream, or reads it, by its own. Keys and values then have numbers beside those of their maps.
    """
    sub, branch = next(graph.sublayers()), graph.steps[0].branches[0]
    assert isinstance(sub, Attention)
    behind = a.output_bias or (a.head_bias and (a.ff_bias or not a.d_ff) and a.layers == 1)
    if branch.input_norm is not None or a.tied or a.position_table or (a.residual and not behind):
        return 0
    query, key, value = (m.bias is not None for m in sub.readers)
    constants = a.groups * (a.d_k * (not key) + a.d_v * (not value))
    return min(constants, a.d_model if query else max(0, a.d_model - a.heads * a.d_k))


def heads_write_what_they_read(a: Architecture) -> bool:
    """Whether heads can add a linear map S of each token's own vector to the stream, which the table then lacks.

    A form in keys and values that is one on every token does it, if every query sees as many keys. S is free if it fits
    into the form that all heads add up to, or if one head has numbers left for S in its own channels beside the
    products K(y) V(y) of each token. With a tied table S is symmetric, so that a head's channels do not do.
    """
    graph = graph_of(a)
    sub, branch = next(graph.sublayers()), graph.steps[0].branches[0]
    normed = branch.input_norm is not None or branch.output_norm is not None or (a.tied and a.norm != "none")
    if a.attention != "linear" or not isinstance(sub, Attention) or a.qk_norm or a.attention_softcap or normed:
        return False
    if not a.is_model or a.position_table or not a.residual or a.causal:
        return False
    _, key, value, _ = functions_read(a, graph, sub)
    shifts = _shifts_of_the_table(a, graph)
    more = int(shifts > 0)  # of a shifted table they see a constant besides
    seen = min(a.vocabulary, numbers_of_products(key + more, value + more))
    still = sum(channels for channels, parts in turning_alike(a, sub.rotary) if parts == 1)
    if not still or (seen < a.vocabulary and min(key, value) <= a.d_model):
        return False
    maps = a.d_model * (a.d_model + 1) // 2 if a.tied else a.d_model**2
    numbers = a.groups * _numbers_of_a_group(a, graph, sub)
    alone = a.groups * (a.d_k * key + a.d_v * value - 1 + still * a.d_v) + shifts
    if numbers + maps > _numbers_of_the_form(a, graph, sub, seen):
        return True
    return not a.tied and alone > a.groups * seen * a.d_k * a.d_v
