"""Without a residual stream a sublayer sees what the one before it hands on, and nothing else."""

from __future__ import annotations

import math

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, LatentAttention, ModelGraph, graph_of
from symgauge.symmetries.gaps import Gap, gaps
from symgauge.symmetries.seen import directions_written, seen_by_readers
from symgauge.symmetries.space import Space
from symgauge.symmetries.spaces import opened_by, spaces


def goes_on(a: Architecture) -> bool:
    """Whether something reads what the attention of the first layer writes."""
    return (network_width(a) > 0 and not a.placement.startswith("parallel")) or after_first_layer(a)


def after_first_layer(a: Architecture) -> bool:
    """Whether something reads what the first layer writes."""
    return a.layers > 1 or a.final_norm or a.is_model


def network_width(a: Architecture) -> int:
    """Hidden units of the first layer's networks together."""
    if not a.has_experts(0):
        return a.d_ff
    assert a.experts is not None
    return a.experts.d_ff * (a.experts.count + a.experts.shared)


def router_columns(a: Architecture) -> tuple[int, int]:
    """Columns of the first layer's router, and how many of them its own freedom is worth (see ``router-shift``)."""
    if a.experts is None or not a.has_experts(0):
        return 0, 0
    if a.experts.active == 1:
        return a.experts.count, a.experts.count
    return a.experts.count, int(a.experts.routing == "softmax")


def is_narrow(a: Architecture) -> bool:
    """Whether attention fills less of the stream than is read, or a network reads fewer channels than a head has."""
    if a.residual or not goes_on(a):
        return False
    graph = graph_of(a)
    sub = next(sub for sub in graph.sublayers() if isinstance(sub, Attention | LatentAttention))
    value = sub.value if isinstance(sub, Attention) else sub.value_up
    written = a.heads * min(a.d_v, seen_by_readers(a, graph)[value.weight].linear) + (sub.output.bias is not None)
    if a.placement.startswith("parallel"):
        return written + network_width(a) < a.d_model
    read = network_width(a) * (1 + a.gated)
    if read and after_first_layer(a) and network_width(a) + a.ff_bias < a.d_model:
        return True
    if a.norm != "none":
        return written < a.d_model
    constant = isinstance(sub, Attention) and seen_by_readers(a, graph)[value.weight].constant
    of_router, unseen = router_columns(a)
    columns = read + of_router - unseen
    # What a router's shift moves in the directions that nothing writes, maps of the stream move too.
    apart = columns != a.d_model if unseen else columns > a.d_model
    partly = written < a.d_model and (apart or after_first_layer(a))
    return partly or 0 < read < max(a.d_v * (a.groups if constant else 1), min(written, a.d_model + 1) - 1)


def constants_lift_planes(a: Architecture) -> bool:
    """Whether a layer writes a plane that its bias alone lifts off the origin, and what reads it can use that.

    A reader's weight that is constant on the plane adds a constant, which biases and softmax take back; where the bias
    moves by as much as they can take, that is the same. An RMSNorm finds a size of the plane that ε makes up for.
    """
    if a.residual or a.placement in ("sandwich", "output"):
        return False
    graph = graph_of(a)
    every = spaces(a, graph)
    return any(_lifted(a, graph, space, gap, every) for space in every for _, gap in gaps(a, graph, space))


def _lifted(a: Architecture, graph: ModelGraph, space: Space, gap: Gap, every: list[Space]) -> bool:
    if not space.writers or directions_written(a, graph, space.writers) >= space.width:
        return False
    untied = [reader for reader in space.readers if not reader.tied]
    taken = sum(math.prod(graph.shapes[r.weight][:-2]) * len(r.columns) for r in untied)
    after = [opened_by(every, norm) for norm in space.norms if norm.kind == "rms"]
    scaled = bool(after) and not a.epsilon_is_zero and all(x is not None and x.refoldable for x in after)
    return scaled or taken > gap.size()[0]
