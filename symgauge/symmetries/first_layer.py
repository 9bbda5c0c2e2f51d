"""Directions that a first layer leaves free because a vocabulary is finite: it sees one vector per token and no others.

They are counted and not generated: solutions of one linear equation per token (and channel), which depend on the token
table, so there are at least as many as unknowns minus equations; on small models it is exactly that many. Only the two
kinds of first layer that published models with too few tokens have are counted here; `degenerate_cases` names others.
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from symgauge.architecture import Architecture, Latent, Rotary
from symgauge.model_graph import ModelGraph, graph_of
from symgauge.symmetries import symbols as s
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.examples import LATENT, PRE_LN, RMS
from symgauge.symmetries.linear_attention import heads_write_what_they_read, tokens_tell_keys_from_values
from symgauge.symmetries.normed_heads import tokens_leave_forms
from symgauge.symmetries.seen import directions_written
from symgauge.symmetries.spaces import spaces


@dataclass(frozen=True)
class Surplus:
    """name, title: as of a symmetry family; difference: unknowns minus equations, in letters, and so many directions if
    it is positive."""

    name: str
    title: str
    difference: Expr


def surpluses(a: Architecture) -> list[Surplus]:
    """What the first layer of an architecture can have beyond the symmetry families, positive or not.

    Source: derived here; tests/symmetries/test_degenerate_cases.py holds it against exact ranks.
    """
    if not a.is_model or a.position_table or not a.residual or a.norm == "none":
        return []
    found = []
    if a.latent is not None:
        for which, width in (("query", s.d_q), ("key-value", s.d_c)):
            if which == "key-value" or a.latent.query:
                found.append(_latent(which, width))
    biases = a.query_bias and a.key_bias and a.value_bias and a.output_bias and a.ff_bias and a.norm_offset
    if a.placement == "parallel" and a.norm == "layer" and biases and not a.gated and not a.has_experts(0):
        found.append(_parallel())
    return found


def _latent(which: str, width: Expr) -> Surplus:
    return Surplus(
        f"first-layer {which} latent",
        f"A quadratic form of the {which} latent and a scale under which no token's latent changes its norm: beyond "
        "rotations, as many as tokens leave undetermined.",
        width * (width + 1) / 2 + 1 - s.V,
    )


def _parallel() -> Surplus:
    return Surplus(
        "first-layer parallel network",
        "An affine map of what the first layer reads, and its network's weights: what these change of a token's vector "
        "is taken up by its row of the table, which is free along itself and along **1**.",
        s.d**2 - 1 + s.d_ff * (2 * s.d - 1) - (s.d - 1) * s.V,
    )


def surplus(a: Architecture) -> int:
    """How many directions that is for the sizes of this architecture."""
    return sum(max(0, s.evaluate(each.difference, a)) for each in surpluses(a))


def _tables_alone(a: Architecture) -> bool:
    """Whether a first layer sees one vector per token."""
    return a.is_model and not a.position_table


def _few_tokens_for_a_latent(a: Architecture) -> bool:
    if a.latent is None or not _tables_alone(a):
        return False
    latent = max(a.latent.query, a.latent.key_value)
    if a.vocabulary <= max(latent * (latent + 1) // 2, a.d_model + max(1, latent // 2)):
        return True
    # All that maps in and out of a latent are, up to its rotations, against what they make of each token.
    read = a.d_model + (a.norm == "layer" and a.norm_offset) - (a.norm == "layer")
    made = {a.latent.query: a.heads * a.d_k, a.latent.key_value: a.heads * (a.d_k - a.latent.d_rope + a.d_v)}
    return any(
        width * (read + columns) - width * (width - 1) // 2 - a.epsilon_is_zero > a.vocabulary * columns
        for width, columns in made.items()
        if width
    )


def _few_tokens_beside_a_latent(a: Architecture) -> bool:
    """Whether tokens are no more than the functions that keys see by a latent and by channels that all heads share.

    Where these do not turn, both add to the scores alike, and make a constant on all tokens, which softmax drops.
    """
    if a.latent is None or not a.latent.d_rope or not _tables_alone(a):
        return False
    if a.rotary is not None and not a.rotary.unrotated and all(turn % 1 for turn in a.rotary.turns):
        return False
    read, width = a.d_model - (a.norm == "layer"), a.latent.key_value
    # Shared channels can follow a latent's other channels on all tokens, by any function that they have rank for.
    any_map = a.latent.d_rope >= a.heads * (a.latent.query or read)
    follow = 1 + (read if any_map else min(read, a.latent.d_rope))
    still = a.heads * min(a.d_k - a.latent.d_rope, width)
    columns = still + a.heads * a.d_v
    numbers = width * (read + columns) - width * (width - 1) // 2 - a.epsilon_is_zero
    followed = still > 0 and numbers >= a.vocabulary * columns - still * follow
    return followed or a.vocabulary <= read + width - (a.attention == "linear")


def _few_tokens_for_a_parallel_network(a: Architecture) -> bool:
    if not a.is_model or not a.placement.startswith("parallel"):
        return False
    if a.position_table:
        # A vector for each token at each position; where nothing but maps reads the stream, it may be mapped besides.
        mapped = a.layers == 1 and not (a.tied or a.final_norm) and _network(a) > 0
        numbers = a.d_model**2 + _network(a) + a.d_model * (a.d_model + 1) // 2 + a.d_model
        return mapped and a.vocabulary * a.context * (a.d_model - (a.norm == "layer")) < numbers
    # A linear map of what the first layer reads and the feed-forward's weights, against what each token must keep; a
    # rectified neuron is on for about half of the tokens.
    tokens = a.vocabulary // 2 if a.activation in ("relu", "relu2") and _network(a) else a.vocabulary
    few = tokens * (a.d_model - (a.norm == "layer")) < a.d_model**2 + _network(a)
    return few or _few_tokens_for_hidden_units(a, tokens)


def _few_tokens_for_hidden_units(a: Architecture, tokens: int) -> bool:
    """Whether what hidden units read has more numbers than their values on all tokens, up to maps behind them."""
    read = a.d_model - (a.norm == "layer") + (a.ff_bias or a.norm_offset)
    scaled = a.gated or a.activation in ("relu", "relu2")
    free = a.d_ff * ((1 + a.gated) * read - scaled)
    width = min(a.d_ff, a.d_model)
    # A head that transforms the stream undoes an affine map of it, as far as the network can follow that.
    undone = width * (a.d_model + (not a.ff_bias)) if a.head_transform and not a.final_norm and a.layers == 1 else 0
    return not a.has_experts(0) and free + undone > width * tokens - a.d_ff * width - width * a.ff_bias


def _few_tokens_for_a_stream_read_once(a: Architecture) -> bool:
    """Whether the only norms are a first layer's: then any matrix may act on the stream, and on what they hand on."""
    network = a.d_ff > 0 or a.has_experts(0)
    once = a.placement.startswith("parallel") or (a.placement == "pre" and not network)
    if not a.is_model or a.norm == "none" or a.final_norm or a.layers > 1 or a.tied or a.position_table or not once:
        return False
    directions = a.d_model - (a.norm == "layer")
    return a.vocabulary * (directions - a.epsilon_is_zero) < 2 * a.d_model**2 + _network(a)


def _few_tokens_for_a_normed_stream(a: Architecture) -> bool:
    """Whether the norms that read a token table's stream leave a quadratic form of it and the size of ε.

    What layers write fills its directions with any numbers; differences of positions, and biases between two norms, are
    directions too.
    """
    if not a.is_model or not a.residual or a.norm == "none" or a.placement == "output" or a.embedding_norm:
        return False
    graph = graph_of(a)
    if a.tied and (a.head_transform or not (a.final_norm if a.placement != "post" else _normed_once(a, graph))):
        return False
    stream = next(space for space in spaces(a, graph) if "token_table" in space.tables)
    last = max((i for i, moment in enumerate(stream.moments) if moment.norms), default=0)
    if stream.outputs and last > 0:
        return False  # the result of an output norm fills every direction
    writers = [m for moment in stream.moments[: last + 1] for m in moment.writers]
    biases = sum(m.bias is not None for m in writers) if len(stream.norms) > 1 else 0
    held = directions_written(a, graph, writers) + biases + a.position_table * (a.context - 1)
    size = max(0, a.d_model - (a.norm == "layer") - held)
    return a.vocabulary < size * (size + 1) // 2 + (not a.epsilon_is_zero)


def _normed_once(a: Architecture, graph: ModelGraph) -> bool:
    return len(graph.steps) == 1 and not a.final_norm


def _network(a: Architecture) -> int:
    """Numbers of the first layer's networks that their readers have."""
    hidden = a.d_ff
    if a.experts is not None and a.has_experts(0):
        hidden = 2 * a.experts.d_ff * (a.experts.count + a.experts.shared)
    return hidden * ((3 if a.gated else 2) * a.d_model + 1)


def _few_inputs(a: Architecture) -> bool:
    """Whether all that tokens can show, logits at every context, are hardly more numbers than there are parameters."""
    span = a.context
    if a.windows and all(a.windows):
        span = min(span, 1 + sum(window - 1 for window in a.windows))
    contexts = sum(a.vocabulary**length for length in range(1, span + 1)) if a.causal else span * a.vocabulary**span
    return a.is_model and contexts * min(a.vocabulary, a.d_model) < 2 * graph_of(a).parameters


def _few_tokens_for_a_form(a: Architecture) -> bool:
    return _tables_alone(a) and a.embedding_norm and a.tied and 2 * a.vocabulary < a.d_model * (a.d_model + 1) // 2 + 2


def _norm_over_the_table_alone(a: Architecture) -> bool:
    # A tied table is read by the head as well, which holds it, unless tokens are few.
    free = a.embedding_norm and (not a.tied or a.vocabulary <= a.d_model + 1)
    return _tables_alone(a) and a.norm != "none" and (not a.residual or free)


def _d_plus_one_tokens_are_shifted(a: Architecture) -> bool:
    """Whether a first layer takes up a constant of its tokens, whose functions, a constant included, may be any."""
    if not _tables_alone(a) or a.vocabulary != a.d_model + 1 or a.norm == "layer":
        return False
    if a.query_bias and a.key_bias and a.value_bias:
        return True
    # Behind a norm maps without biases keep the constants that they do not read; a bias takes them back.
    alone = a.placement == "pre" or (a.placement.startswith("parallel") and not _network(a))
    seen = a.rotary or a.qk_norm or a.attention_softcap or a.attention == "linear"
    if a.norm != "rms" or not alone or not a.residual or (a.tied and not a.token_types):
        return False
    directions = min(a.d_model, a.heads * a.d_v) * a.value_bias
    taken_back = a.d_model if a.output_bias and a.attention == "softmax" else directions
    unbiased = a.heads * (not a.query_bias) + a.groups * (bool(seen) and not a.key_bias)
    return taken_back > unbiased * a.d_k


def _two_directions_of_two_positions(a: Architecture) -> bool:
    """Whether norms without ε show of each token one direction in a plane, at two positions."""
    normed = a.embedding_norm or (not a.residual and a.placement not in ("post", "output"))
    plane = a.norm != "none" and a.epsilon_is_zero and a.d_model - (a.norm == "layer") == 2
    return a.is_model and a.position_table and not a.tied and a.context == 2 and plane and normed


_BIASED = RMS.replace(query_bias=True, key_bias=True, value_bias=True, context=4)
_RECTIFIED = Architecture(
    d_model=2, heads=2, d_k=1, d_v=1, d_ff=3, vocabulary=7, attention="linear", causal=False, key_bias=True,
    activation="relu", head_bias=True,
)  # fmt: skip
_NORMED_HEADS = Architecture(
    d_model=6, heads=1, d_k=4, d_v=4, vocabulary=7, context=3, key_bias=True, qk_norm=True, norm="layer",
    final_norm=True, tied=True,
)  # fmt: skip
_BESIDE_A_LATENT = Architecture(
    3, 3, 5, 5, vocabulary=6, context=3, norm="rms", placement="sandwich", epsilon=0.1, tied=True, head_bias=True,
    latent=Latent(2, 2, 3), rotary=Rotary((0.37,), unrotated=1),
)  # fmt: skip
_FEW_CONTEXTS = Architecture(2, 2, 5, 2, d_ff=5, vocabulary=4, context=5, windows=(2,), query_bias=True, head_bias=True)
_LINEAR = RMS.replace(attention="linear", d_k=1, d_v=1, rotary=None)
_UNMASKED = Architecture(d_model=3, heads=1, d_k=1, d_v=1, vocabulary=5, context=3, attention="linear", causal=False)
_NORMED_TABLE = RMS.replace(d_model=5, d_ff=0, gated=False, embedding_norm=True, final_norm=False, tied=True)
_POST = Architecture(5, 1, 1, 1, vocabulary=11, context=3, norm="rms", placement="post", epsilon=0.1)
_PARALLEL = PRE_LN.replace(placement="parallel", position_table=False, d_ff=2)
_PLANE = Architecture(
    d_model=2, heads=1, d_k=1, d_v=1, vocabulary=9, context=2, norm="rms", epsilon=0.0, embedding_norm=True,
    position_table=True,
)  # fmt: skip

DEGENERATE_CASES = (
    DegenerateCase(
        "the vocabulary is not larger than the stream, so tokens do not act as general vectors",
        lambda a: a.is_model and a.vocabulary <= a.d_model,
        example=RMS.replace(vocabulary=4),
        beside=RMS.replace(vocabulary=5),
    ),
    DegenerateCase(
        "a first layer takes up a constant that is added to the rows of a table of d_model + 1 tokens",
        _d_plus_one_tokens_are_shifted,
        example=_BIASED.replace(vocabulary=5),
        beside=_BIASED.replace(vocabulary=6),
    ),
    DegenerateCase(
        "the first layer's latent norm sees one vector per token, too few to fix a quadratic form of the latent",
        _few_tokens_for_a_latent,
        example=LATENT.replace(vocabulary=9),
        beside=LATENT,
    ),
    DegenerateCase(
        "tokens are too few to tell a latent from channels that all heads share and that do not turn",
        _few_tokens_beside_a_latent,
        example=_BESIDE_A_LATENT.replace(vocabulary=5),
        beside=_BESIDE_A_LATENT,
    ),
    DegenerateCase(
        "the first layer's feed-forward sees too few tokens (at positions) to fix what it adds and what it reads",
        _few_tokens_for_a_parallel_network,
        example=_PARALLEL.replace(vocabulary=6),
        beside=_PARALLEL.replace(vocabulary=12),
    ),
    DegenerateCase(
        "a norm that reads nothing but the token table can have its effect written into the table",
        _norm_over_the_table_alone,
        example=RMS.replace(embedding_norm=True),
        beside=RMS,
    ),
    DegenerateCase(
        "a norm without ε over two directions shows too little of the tables' rows at two positions",
        _two_directions_of_two_positions,
        example=_PLANE,
        beside=_PLANE.replace(epsilon=0.1),
    ),
    DegenerateCase(
        "tokens are too few to hold a stream that no norm reads but the first layer's",
        _few_tokens_for_a_stream_read_once,
        example=RMS.replace(placement="parallel", final_norm=False, vocabulary=11, d_ff=2),
        beside=RMS.replace(placement="parallel", final_norm=False, vocabulary=29, d_ff=1),
    ),
    DegenerateCase(
        "tokens are too few to hold a quadratic form of the directions of a normed stream that no layer writes",
        _few_tokens_for_a_normed_stream,
        example=_POST.replace(vocabulary=10),
        beside=_POST,
    ),
    DegenerateCase(
        "tokens and positions are too few for contexts that show all parameters",
        _few_inputs,
        example=_FEW_CONTEXTS,
        beside=_FEW_CONTEXTS.replace(windows=()),
    ),
    DegenerateCase(
        "tokens are too few to fix the forms that query and key norms of a first layer see",
        tokens_leave_forms,
        example=_NORMED_HEADS.replace(vocabulary=7),
        beside=_NORMED_HEADS.replace(vocabulary=13),
    ),
    DegenerateCase(
        "tokens are too few for rectified neurons, each of which is on for about half of them",
        lambda a: (
            _tables_alone(a)
            and a.activation in ("relu", "relu2")
            and a.vocabulary // 2 <= a.d_model + 1
            and _network(a) > 0
        ),
        example=_RECTIFIED,
        beside=_RECTIFIED.replace(activation="gelu"),
    ),
    DegenerateCase(
        "tokens are too few to hold a quadratic form of a tied table that a norm reads",
        _few_tokens_for_a_form,
        example=_NORMED_TABLE.replace(vocabulary=7),
        beside=_NORMED_TABLE.replace(vocabulary=9),
    ),
    DegenerateCase(
        "without softmax tokens are too few to tell a first layer's keys from its values, which meet in products",
        lambda a: _tables_alone(a) and not tokens_tell_keys_from_values(a),
        example=_LINEAR.replace(vocabulary=6),
        beside=_LINEAR.replace(vocabulary=9),
    ),
    DegenerateCase(
        "without softmax and mask heads can write a multiple of each token's own vector, which the table then lacks",
        heads_write_what_they_read,
        example=_UNMASKED,
        beside=_UNMASKED.replace(vocabulary=6),
    ),
)
"""What tokens that are too few, or a norm over their table alone, leave free besides."""
