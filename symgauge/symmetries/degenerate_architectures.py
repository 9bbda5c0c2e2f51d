"""Degenerate cases that belong to no family but to a class of architectures."""

from __future__ import annotations

from fractions import Fraction

from symgauge.architecture import Architecture, Experts, Latent, Rotary
from symgauge.model_graph import graph_of
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.examples import ATTENTION, BLOCK, LATENT, RMS
from symgauge.symmetries.few_positions import few_positions_leave_forms
from symgauge.symmetries.spaces import opened_by, spaces

UNCHOSEN_EXPERT = "an expert may never be chosen, and is then free"

_UNSEEN_CONSTANT = Architecture(
    4, 1, 1, 4, d_ff=2, vocabulary=11, context=3, activation="silu", gated=True, norm="layer", placement="output",
    norm_offset=True, epsilon=0.1, query_bias=True, token_types=2, tied=True,
)  # fmt: skip
_TURNING = ATTENTION.replace(
    d_model=1, heads=1, groups=1, d_k=5, rotary=Rotary((Fraction(1, 4), Fraction(1, 2)), unrotated=1)
)


def _positions(a: Architecture) -> int:
    """How many positions a query sees at most, in the layer where they are fewest."""
    return min([a.context, *(window for window in a.windows if window)])


def _norm_over_one_direction(a: Architecture) -> bool:
    """A norm over one direction is a function of one number: nothing for LayerNorm of one channel, a sign without ε."""
    directions = a.d_model - (a.norm == "layer")
    if directions > 1 or (a.norm == "none" and not a.head_transform):
        return False
    network = a.d_ff > 0 or a.has_experts(a.layers - 1)
    outputs = a.placement in ("sandwich", "output") and (a.final_norm or network)
    normed_twice = a.embedding_norm and _only_norms_see(a)
    gain_by_its_sum = a.norm == "layer" and (a.placement == "post" or outputs or normed_twice)
    return directions == 0 or a.epsilon_is_zero or gain_by_its_sum or (a.embedding_norm and a.tied)


def _heads_take_a_constant_to_one(a: Architecture) -> bool:
    """Whether a constant on the stream is taken up by queries, keys and an output norm's offset, and not seen between.

    Values without biases pass it on as one vector, which LayerNorm does not see if it is along **1**; where heads fill
    the stream some constant is taken there.
    """
    softmax = a.attention != "linear"
    filled = a.groups * min(a.d_v, a.d_model) >= a.d_model and (softmax or a.heads == 1)
    taken_up = a.query_bias and (a.key_bias or (softmax and not (a.rotary or a.qk_norm or a.attention_softcap)))
    added = a.token_types or a.position_table or a.embedding_norm or not a.tied or a.layers > 1
    normed = a.placement == "output" and a.norm == "layer" and a.norm_offset
    biased = a.value_bias or a.output_bias or a.latent is not None
    return bool(normed and filled and taken_up and added and not biased)


def _only_norms_see(a: Architecture) -> bool:
    """Whether nothing but LayerNorms reads what the embedding norm writes."""
    graph = graph_of(a)
    opened = None if graph.embedding_norm is None else opened_by(spaces(a, graph), graph.embedding_norm)
    return opened is not None and opened.centred(0)


DEGENERATE_CASES = (
    DegenerateCase(
        "sequences (or windows) of one position show nothing of scores",
        lambda a: _positions(a) < 2,
        example=ATTENTION.replace(context=1),
        beside=ATTENTION.replace(context=2),
    ),
    DegenerateCase(
        "sequences (or windows) of few positions show rotated scores at too few distances, or of too few tokens",
        few_positions_leave_forms,
        example=_TURNING.replace(context=3),
        beside=_TURNING.replace(context=4),
    ),
    DegenerateCase(
        "a norm over one direction (RMSNorm of one channel, LayerNorm of two) is a function of one number",
        _norm_over_one_direction,
        example=BLOCK.replace(d_model=2, d_ff=2, final_norm=True, epsilon=0.0),
        beside=BLOCK.replace(d_model=2, d_ff=2, final_norm=True),
    ),
    DegenerateCase(
        "a latent of one channel keeps little more than a sign under its norm",
        lambda a: (
            a.latent is not None
            and 1 in (a.latent.query, a.latent.key_value)
            and (a.epsilon_is_zero or a.attention == "linear")
        ),
        example=LATENT.replace(latent=Latent(4, 1, 2), epsilon=0.0),
        beside=LATENT.replace(epsilon=0.0),
    ),
    DegenerateCase(
        "a latent wider than what it is made from has channels that its norm alone sees",
        lambda a: a.latent is not None and max(a.latent.query, a.latent.key_value) > a.d_model - (a.norm == "layer"),
        example=LATENT.replace(d_model=4, vocabulary=17, latent=Latent(3, 5, 2)),
        beside=LATENT.replace(d_model=4, vocabulary=17, latent=Latent(3, 4, 2)),
    ),
    DegenerateCase(
        "heads take one constant of the stream to **1**, which an output LayerNorm behind them does not see",
        _heads_take_a_constant_to_one,
        example=_UNSEEN_CONSTANT,
        beside=_UNSEEN_CONSTANT.replace(d_v=3),
    ),
    DegenerateCase(
        UNCHOSEN_EXPERT,
        lambda a: a.experts is not None,
        example=RMS.replace(d_model=2, experts=Experts(6, 1, 2)),
        beside=RMS.replace(d_model=2),
        of_point=True,
    ),
)
