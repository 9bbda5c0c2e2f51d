"""Norms without ε that divide by a size which another norm behind them divides away.

A rectified network without biases is homogeneous: it takes a multiple of x to a multiple of its result. So do, without
softmax, queries to what attention writes. If nothing but norms without ε sees that result, the norm of what is read
does not matter: a norm in front hands on x times its gain, whatever x is divided by, and what was held to rotations
may be any matrix. A query of one channel is itself a size with a sign, of which only the sign is left.
"""

from __future__ import annotations

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, FeedForward, LatentAttention, Mixture, ModelGraph, Step, Sublayer, graph_of


def sizes_are_divided_away(a: Architecture) -> bool:
    """Whether some norm divides a result of which norms behind it see the direction only."""
    if not a.epsilon_is_zero or a.norm == "none":
        return False
    graph = graph_of(a)
    return any(_in_vain(a, graph, number, step) for number, step in enumerate(graph.steps))


def queries_are_signs(a: Architecture) -> bool:
    """Whether queries of one channel multiply what a norm without ε then divides."""
    if not a.epsilon_is_zero or a.norm == "none" or a.heads > 1 or a.d_k > 1:
        return False
    graph = graph_of(a)
    return any(
        _linear_in_queries(a, step.branches[0].sublayers[0]) and _normed_behind(a, graph, number)
        for number, step in enumerate(graph.steps)
        if len(step.branches) == len(step.branches[0].sublayers) == 1
    )


def _in_vain(a: Architecture, graph: ModelGraph, number: int, step: Step) -> bool:
    if len(step.branches) > 1 or len(step.branches[0].sublayers) > 1:
        return False
    (sub,) = step.branches[0].sublayers
    if isinstance(sub, Attention | LatentAttention):
        return _queries_are_normed(a, sub) and _normed_behind(a, graph, number)
    if not _homogeneous(a, sub) or a.d_model - (a.norm == "layer") < 2:
        return False
    if a.residual:
        # A stream goes on beside the network, in the first power, and what comes into it must be free to move.
        moves = a.is_model or a.embedding_norm or number > 1
        return step.stream_norm is not None and a.activation == "relu" and not a.gated and moves
    return _normed_behind(a, graph, number)


def _normed_behind(a: Architecture, graph: ModelGraph, number: int) -> bool:
    """Whether nothing but a norm reads what a step with one branch writes."""
    step = graph.steps[number]
    if step.branches[0].output_norm is not None:
        return True
    if a.residual:
        return False
    if step.stream_norm is not None:
        return True
    if number + 1 < len(graph.steps):
        return all(branch.input_norm is not None for branch in graph.steps[number + 1].branches)
    return graph.final_norm is not None


def _homogeneous(a: Architecture, sub: Sublayer) -> bool:
    """Whether a network and the norm before it add no constant, and its experts are not weighed against each other."""
    one = not isinstance(sub, Mixture) or (a.experts is not None and a.experts.active == 1)
    rectified = isinstance(sub, FeedForward | Mixture) and a.activation in ("relu", "relu2")
    return rectified and one and not a.ff_bias and not a.norm_offset


def _linear_in_queries(a: Architecture, sub: Sublayer) -> bool:
    """Whether a multiple of all queries of a position is a multiple of what attention writes there."""
    if not isinstance(sub, Attention | LatentAttention):
        return False
    return a.attention == "linear" and a.attention_softcap is None and sub.output.bias is None


def _queries_are_normed(a: Architecture, sub: Attention | LatentAttention) -> bool:
    """Whether one norm divides all queries of a position, which what attention writes is linear in."""
    if not _linear_in_queries(a, sub):
        return False
    if isinstance(sub, LatentAttention):
        return sub.query_norm is not None and sub.query_norm.width > 1
    return sub.query_norm is not None and a.heads == 1 and a.d_k > 1
