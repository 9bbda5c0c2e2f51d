"""Norms that write a stream hold its maps: what a map does to their results, new gains must undo.

The results of a norm with gain γ lie on an ellipsoid, which a map of the stream that readers can undo may only send to
another ellipsoid of the same kind. Unknowns are the map and the gains, equations the numbers of the ellipsoid's form
and, where the mean that a LayerNorm takes away is seen, a mean for each direction. Which directions a norm reads, if it
reads few, is free: the maps in front of it follow.
"""

from __future__ import annotations

from symgauge.architecture import Architecture
from symgauge.model_graph import FeedForward, ModelGraph, Norm, graph_of
from symgauge.symmetries.seen import directions_written
from symgauge.symmetries.space import Space
from symgauge.symmetries.spaces import opened_by, spaces


def maps_are_left(a: Architecture) -> bool:
    """Whether some map of a stream is left that the norms which write it allow, and that is no mere change of size."""
    graph = graph_of(a)
    every = spaces(a, graph)
    held = any(_left(a, graph, space, every) for space in every if _held_by_gains(space))
    return a.is_model and (held or any(_turns_are_left(a, graph, space, every) for space in every))


def _held_by_gains(space: Space) -> bool:
    written = space.source is not None or bool(space.outputs)
    tied = any(reader.tied for reader in space.readers)
    return written and not (space.given or space.taken or tied or space.refoldable)


def _left(a: Architecture, graph: ModelGraph, space: Space, every: list[Space]) -> bool:
    d, layer = a.d_model, any(norm.kind == "layer" for norm in space.norms)
    # A norm's result turns with what it reads, which maps behind it must undo; so must that of a norm before.
    after = [opened_by(every, norm) for norm in space.norms]
    turning = space.source in (None, graph.embedding_norm)
    turning &= all(opened is not None and opened.refoldable for opened in after)
    turns = (d - layer) * (d - layer - 1) // 2 if turning else 0
    left = turns + d * (layer and bool(space.readers)) if space.norms else d * d
    fully_seen = 0
    for norm in [*space.outputs, *([] if space.source is None else [space.source])]:
        centred = space.centred(_moment(graph, space, norm))
        fully_seen += not centred
        left += _gains_over_form(a, graph, norm, norm.kind == "layer" and not centred)
    # What LayerNorm gives is flat along 1/γ: with one such norm a shear along that direction moves other writers alone.
    others = [m for i, m in enumerate(space.moments) if not space.centred(i) and (m.writers or m.tables)]
    sheared = layer and bool(space.readers) and fully_seen == 1 and bool(others)
    return sheared or (left > 0 and not graph.tied)


def _turns_are_left(a: Architecture, graph: ModelGraph, space: Space, every: list[Space]) -> bool:
    """The same of a space that a tied table writes and reads, which can only be turned."""
    d, layer = a.d_model, any(norm.kind == "layer" for norm in space.norms)
    after = [opened_by(every, norm) for norm in space.norms]
    refolded = all(opened is not None and opened.refoldable for opened in after)
    if not (space.outputs and refolded and any(r.tied for r in space.readers) and "token_table" in space.tables):
        return False
    left = (d - layer) * (d - layer - 1) // 2
    for norm in space.outputs:
        left += _gains_over_form(a, graph, norm, norm.kind == "layer")
    return left > 0


def _gains_over_form(a: Architecture, graph: ModelGraph, norm: Norm, mean_is_seen: bool) -> int:
    """How many more gains there are than numbers of the form of what a norm reads, and of means where they are seen."""
    full = a.d_model - (norm.kind == "layer")
    r = _inner(a, graph, norm, full)
    # A constant in a direction of its own stands beside ε: together they leave the size of the rest free.
    writers = [m for b in graph.branches() if b.output_norm == norm for m in b.writers]
    biased = any(m.bias is not None for m in writers) and directions_written(a, graph, writers) < full
    constant = biased and not a.epsilon_is_zero
    return a.d_model + constant - (r * (r + 1) // 2 + r * mean_is_seen)


def _moment(graph: ModelGraph, space: Space, norm: Norm) -> int:
    """When a norm writes: each step opens a moment."""
    for number, step in enumerate(graph.steps, start=1):
        if any(branch.output_norm == norm for branch in step.branches):
            return min(number, len(space.moments) - 1)
    return 0


def _inner(a: Architecture, graph: ModelGraph, norm: Norm, most: int) -> int:
    """In how many directions what a norm reads can vary."""
    for branch in graph.branches():
        if branch.output_norm == norm:
            biases = sum(m.bias is not None for m in branch.writers)
            return min(most, directions_written(a, graph, branch.writers) + biases)
    return most


def output_norms_see_too_little(a: Architecture) -> bool:
    """Whether an output norm reads so few directions that a change of its gain can be made up for before it."""
    graph, layer = graph_of(a), a.norm == "layer"
    written = [(space, norm) for space in spaces(a, graph) for norm in space.outputs]
    return any(
        _gain_is_left(a, graph, s, norm, layer and not s.centred(_moment(graph, s, norm))) for s, norm in written
    )


def _gain_is_left(a: Architecture, graph: ModelGraph, space: Space, norm: Norm, mean_is_seen: bool) -> bool:
    """Whether d_model gains exceed the numbers of the form of what ``norm`` reads, and its mean where that is seen."""
    r = _inner(a, graph, norm, a.d_model)
    biased = any(b.output_norm == norm and any(m.bias is not None for m in b.writers) for b in graph.branches())
    # A constant in a direction of its own stands beside ε: together they leave the size of the rest free.
    constant = biased and r < a.d_model
    # Means that maps alone see can follow the direction along which the LayerNorm that opened the space is flat.
    sheared = mean_is_seen and space.source is not None and not space.taken
    r = min(r, a.d_model - (norm.kind == "layer"))
    return a.d_model + constant * (1 + mean_is_seen) + sheared > r * (r + 1) // 2 + r * mean_is_seen


def bias_moves_under_a_norm(a: Architecture) -> bool:
    """Whether the bias of a lone tanh unit moves with the maps and gains behind it, under an output norm.

    tanh(u + c) = (t + s)/(1 + st) with t = tanh u, s = tanh c: but for 1 + st a linear map of the unit and a constant.
    Without ε the norm divides that away. With ε the form of both, and the means that are seen, must follow: gains, a
    size and the bias against their numbers.
    """
    graph = graph_of(a)
    for space in spaces(a, graph):
        for norm in space.outputs:
            if _reads_a_lone_tanh_unit(a, graph, norm):
                mean_is_seen = norm.kind == "layer" and not space.centred(_moment(graph, space, norm))
                r = min(2, a.d_model - (norm.kind == "layer"))
                if a.epsilon_is_zero or a.d_model + 2 > r * (r + 1) // 2 + r * mean_is_seen:
                    return True
    return False


def _reads_a_lone_tanh_unit(a: Architecture, graph: ModelGraph, norm: Norm) -> bool:
    subs = [sub for branch in graph.branches() if branch.output_norm == norm for sub in branch.sublayers]
    alone = subs[0] if len(subs) == 1 else None
    if not isinstance(alone, FeedForward) or alone.gate is not None or a.activation != "tanh":
        return False
    biased = alone.up.bias is not None and alone.down.bias is not None
    return biased and graph.shapes[alone.up.weight][-1] == 1
