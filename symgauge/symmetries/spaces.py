"""The vector spaces that activations live in: who writes each one, who reads it, and in which order.

The residual stream of a Pre-LN model is one space; in a Post-LN model every norm opens a new one; what a norm hands to
its sublayer, what an output norm reads, and a latent of multi-head latent attention are spaces too. Symmetries of norms
and of the stream are maps of one space that its writers produce and its readers undo.
"""

from __future__ import annotations

from sympy import Expr

from symgauge.architecture import Architecture
from symgauge.model_graph import (
    Attention,
    Branch,
    FeedForward,
    LatentAttention,
    Map,
    Mixture,
    ModelGraph,
    Norm,
    Step,
    Sublayer,
)
from symgauge.symmetries import symbols
from symgauge.symmetries.softmax import unseen_key_channels
from symgauge.symmetries.space import Constant, Moment, Reader, Space


def spaces(a: Architecture, graph: ModelGraph) -> list[Space]:
    """All spaces of an architecture except those inside heads and hidden layers."""
    return _Tour(a, graph).run()


def opened_by(all_spaces: list[Space], norm: Norm) -> Space | None:
    """The space that a norm's result opens; None for output norms, which add to a space that is there already."""
    return next((space for space in all_spaces if space.source == norm), None)


def constants_of(a: Architecture, maps: tuple[Map, ...], factor: float = 1.0) -> list[Constant]:
    """The biases among maps as constants; those of routed experts move together, as their weights have a fixed sum."""
    routed = tuple(m.bias for m in maps if m.bias is not None and ".experts." in m.bias)
    alone = [Constant((m.bias,), factor=factor) for m in maps if m.bias is not None and ".experts." not in m.bias]
    scale = 1.0 if a.experts is None else a.experts.scale
    return [*alone, Constant(routed, factor=factor * scale)] if routed else alone


def written_scale(a: Architecture) -> float:
    """The factor between a map's result and the space it writes; the space before an output norm has it as it is."""
    return 1.0 if a.placement in ("sandwich", "output") else a.residual_scale


def norm_before_head(a: Architecture, graph: ModelGraph) -> Norm | None:
    """The norm whose result the unembedding reads, if nothing is added in between."""
    if graph.head is None:
        return None
    head = graph.head.unembedding.weight
    read = next(x for x in spaces(a, graph) if any(reader.weight == head for reader in x.moments[-1].readers))
    return read.source if len(read.moments) == 1 else None


def width_of(a: Architecture, norm: Norm) -> Expr:
    """Width of a norm in letters."""
    return symbols.shape(a, norm.gain)[0]


class _Tour:
    """Follows the stream from the tables to the head and notes what it meets."""

    def __init__(self, a: Architecture, graph: ModelGraph) -> None:
        self.a, self.graph = a, graph
        self.found: list[Space] = []
        self.at_once = a.norm == "none" or a.placement == "post"
        """Whether attention reads the very space that it writes."""

    def open(self, width: int, source: Norm | None = None, *, given: bool = False, layer: int | None = None) -> Space:
        space = Space(width, layer, source, given=given)
        if source is not None and source.offset is not None:
            space.moments[0].constants.append(Constant((source.offset,)))
        self.found.append(space)
        return space

    def pass_norm(self, space: Space, norm: Norm, layer: int | None) -> Space:
        """``norm`` reads ``space``; its result opens the next space."""
        space.moments[-1].norms.append(norm)
        return self.open(norm.width, norm, layer=layer)

    def run(self) -> list[Space]:
        a, graph = self.a, self.graph
        stream = self.open(a.d_model, given=not graph.tables, layer=None if a.residual else 0)
        for table in graph.tables:
            stream.moments[0].tables.append(table)
            if not (graph.tied and table == "token_table"):
                factor = a.embedding_scale if table == "token_table" else 1.0
                stream.moments[0].constants.append(Constant((table,), True, factor))
        if graph.embedding_norm is not None:
            stream = self.pass_norm(stream, graph.embedding_norm, None)
        for step in graph.steps:
            stream = self.step(stream, step)
        if graph.final_norm is not None:
            stream = self.pass_norm(stream, graph.final_norm, None)
        self.head(stream)
        return self.found

    def step(self, stream: Space, step: Step) -> Space:
        a = self.a
        layer = symbols.layer_of(step.branches[0].writers[0].weight)
        for branch in step.branches:
            source = stream if branch.input_norm is None else self.pass_norm(stream, branch.input_norm, layer)
            for sublayer in branch.sublayers:
                source.moments[-1].readers += self.readers(sublayer, self.sinks(step, branch))
                self.latents(sublayer, layer)
        if a.residual:
            stream.moments.append(Moment())
            after = stream
        else:
            after = self.open(a.d_model, layer=layer)
        for branch in step.branches:
            target = after
            if branch.output_norm is not None:
                target = self.open(a.d_model, layer=layer)
                target.moments[-1].norms.append(branch.output_norm)
                after.outputs.append(branch.output_norm)
                if branch.output_norm.offset is not None:
                    scale = a.residual_scale
                    after.moments[-1].constants.append(Constant((branch.output_norm.offset,), factor=scale))
            target.moments[-1].writers += branch.writers
            target.moments[-1].constants += constants_of(a, branch.writers, written_scale(a))
        return after if step.stream_norm is None else self.pass_norm(after, step.stream_norm, layer)

    def head(self, stream: Space) -> None:
        head = self.graph.head
        if head is None:
            stream.taken = True
            return
        if head.transform is not None and head.transform_norm is not None:
            stream.moments[-1].readers.append(self.biased(head.transform, self.a.d_model))
            hidden = self.open(self.a.d_model, given=True)
            if self.a.activation in ("relu", "relu2"):
                hidden.homogeneous = head.transform
            stream = self.pass_norm(hidden, head.transform_norm, None)
        bias = head.unembedding.bias
        columns = range(self.a.vocabulary if bias else 0)
        stream.moments[-1].readers.append(Reader(head.unembedding.weight, tuple(columns), bias, tied=self.graph.tied))

    def biased(self, m: Map, columns: int) -> Reader:
        return Reader(m.weight, tuple(range(columns if m.bias else 0)), m.bias)

    def sinks(self, step: Step, branch: Branch) -> Constant | None:
        """A bias added at the same place (before any scale) as the attention of ``branch``, if any."""
        together = step.branches if branch.output_norm is None else (branch,)
        found = constants_of(self.a, tuple(m for b in together for m in b.writers))
        return found[0] if found else None

    def readers(self, sublayer: Sublayer, sink: Constant | None) -> list[Reader]:
        a, graph = self.a, self.graph
        match sublayer:
            case Attention():
                query, key = (self.biased(m, a.d_k) for m in (sublayer.query, sublayer.key))
                if key.bias is None:
                    key = Reader(key.weight, unseen_key_channels(a, sublayer.rotary))
                value = self.biased(sublayer.value, a.d_v)
                if value.bias is None and a.attention == "softmax" and sink is not None:
                    value = Reader(value.weight, tuple(range(a.d_v)), None, sublayer.output.weight, sink)
                elif value.bias is None and a.attention == "softmax" and a.residual and self.at_once:
                    value = Reader(value.weight, onward=sublayer.output.weight)
                return [query, key, value]
            case LatentAttention():
                others = [Reader(m.weight) for m in sublayer.readers[:-1]]
                return [*others, Reader(sublayer.key_rope.weight, unseen_key_channels(a, a.rotary))]
            case FeedForward():
                return [self.biased(m, graph.shapes[m.weight][-1]) for m in sublayer.readers]
            case Mixture():
                inner = [self.biased(m, graph.shapes[m.weight][-1]) for m in sublayer.readers[1:]]
                return [Reader(sublayer.router.weight, router=True), *inner]

    def latents(self, sublayer: Sublayer, layer: int | None) -> None:
        """The latents of multi-head latent attention: written by a down map, read through a norm by the up maps."""
        if not isinstance(sublayer, LatentAttention):
            return
        pairs = [(sublayer.key_value_down, sublayer.key_value_norm, (sublayer.key_up, sublayer.value_up))]
        if sublayer.query_down is not None and sublayer.query_norm is not None:
            pairs.append((sublayer.query_down, sublayer.query_norm, (sublayer.query_nope, sublayer.query_rope)))
        for down, norm, ups in pairs:
            latent = self.open(norm.width, layer=layer)
            latent.moments[0].writers.append(down)
            self.pass_norm(latent, norm, layer).moments[-1].readers += [Reader(m.weight) for m in ups]
