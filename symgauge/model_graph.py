"""From an architecture to its named parameter tensors and its graph: who reads a norm, who writes the stream.

A *role* is a parameter tensor in canonical shape, row-vector convention (y = x W + b): queries (h, d_model, d_k), keys
(g, d_model, d_k), values (g, d_model, d_v), outputs (h, d_v, d_model), linear maps (in, out), tables (rows, d_model).
Symmetry families work on roles alone; a :class:`Layout` says where each role's numbers lie in a module's parameters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from symgauge.architecture import Architecture, Rotary


@dataclass(frozen=True)
class Norm:
    """A LayerNorm or RMSNorm over ``width`` channels; role names of its gain and offset."""

    kind: Literal["layer", "rms"]
    width: int
    gain: str
    offset: str | None


@dataclass(frozen=True)
class Map:
    """A linear map y = x W (+ b), by role names; per-head maps have a leading head (or group) axis."""

    weight: str
    bias: str | None = None


@dataclass(frozen=True)
class Attention:
    """Multi-head attention: reads with query, key, value, writes with output.

    Norms act on each query/key head, or on all heads together. ``window`` is 0, or how many positions are looked back.
    """

    query: Map
    key: Map
    value: Map
    output: Map
    query_norm: Norm | None = None
    key_norm: Norm | None = None
    rotary: Rotary | None = None
    window: int = 0

    @property
    def readers(self) -> tuple[Map, ...]:
        return (self.query, self.key, self.value)

    @property
    def writer(self) -> Map:
        return self.output


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention: stream → latents (``down``) → norm → per-head maps (``up``).

    ``query_down`` is None when queries read the stream directly. ``key_up`` (h, d_c, d_nope), ``key_rope``
    (d_model, d_rope) shared by the heads, ``query_nope`` (h, ·, d_nope), ``query_rope`` (h, ·, d_rope).
    """

    query_down: Map | None
    query_norm: Norm | None
    query_nope: Map
    query_rope: Map
    key_value_down: Map
    key_value_norm: Norm
    key_rope: Map
    key_up: Map
    value_up: Map
    output: Map

    @property
    def readers(self) -> tuple[Map, ...]:
        queries = (self.query_nope, self.query_rope) if self.query_down is None else (self.query_down,)
        return (*queries, self.key_value_down, self.key_rope)

    @property
    def writer(self) -> Map:
        return self.output


@dataclass(frozen=True)
class FeedForward:
    """up/down maps, with a gate for gated activations: (act(x W_gate) ⊙ (x W_up)) W_down."""

    up: Map
    down: Map
    gate: Map | None = None

    @property
    def readers(self) -> tuple[Map, ...]:
        return (self.up,) if self.gate is None else (self.gate, self.up)

    @property
    def writer(self) -> Map:
        return self.down


@dataclass(frozen=True)
class Mixture:
    """Routed and shared experts behind one router."""

    router: Map
    experts: tuple[FeedForward, ...]
    shared: tuple[FeedForward, ...] = ()

    @property
    def readers(self) -> tuple[Map, ...]:
        return (self.router, *(reader for f in (*self.experts, *self.shared) for reader in f.readers))

    @property
    def writers(self) -> tuple[Map, ...]:
        return tuple(f.writer for f in (*self.experts, *self.shared))


Sublayer = Attention | LatentAttention | FeedForward | Mixture


def writers(sublayer: Sublayer) -> tuple[Map, ...]:
    """The maps by which a sublayer writes to the stream."""
    return sublayer.writers if isinstance(sublayer, Mixture) else (sublayer.writer,)


@dataclass(frozen=True)
class Branch:
    """stream → input norm → sublayers (summed) → output norm → added to the stream."""

    sublayers: tuple[Sublayer, ...]
    input_norm: Norm | None = None
    output_norm: Norm | None = None

    @property
    def readers(self) -> tuple[Map, ...]:
        return tuple(reader for sublayer in self.sublayers for reader in sublayer.readers)

    @property
    def writers(self) -> tuple[Map, ...]:
        return tuple(writer for sublayer in self.sublayers for writer in writers(sublayer))


@dataclass(frozen=True)
class Step:
    """One update of the stream: branches that read the same stream and are added together, then (Post-LN) a norm."""

    branches: tuple[Branch, ...]
    stream_norm: Norm | None = None


@dataclass(frozen=True)
class Head:
    """final norm → (transform → activation → norm) → unembedding (d_model, V), or the token table if tied."""

    unembedding: Map
    transform: Map | None = None
    transform_norm: Norm | None = None


@dataclass(frozen=True)
class ModelGraph:
    """What a symmetry family needs to know of a model: role shapes, and the order in which the stream meets them."""

    shapes: dict[str, tuple[int, ...]]
    tables: tuple[str, ...]
    """Embedding tables whose rows are added to make the stream: token, then position, then token type."""
    steps: tuple[Step, ...]
    embedding_norm: Norm | None = None
    final_norm: Norm | None = None
    head: Head | None = None
    tied: bool = False

    @property
    def parameters(self) -> int:
        """Number of parameter entries in all roles together."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def sublayers(self) -> Iterator[Sublayer]:
        for step in self.steps:
            for branch in step.branches:
                yield from branch.sublayers

    def branches(self) -> Iterator[Branch]:
        for step in self.steps:
            yield from step.branches


@dataclass
class _Builder:
    """Collects role shapes while the graph is laid out."""

    a: Architecture
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def role(self, name: str, *shape: int) -> str:
        self.shapes[name] = shape
        return name

    def norm(self, name: str, width: int | None = None, kind: Literal["layer", "rms"] | None = None) -> Norm:
        width = width or self.a.d_model
        chosen = kind or ("layer" if self.a.norm == "layer" else "rms")
        gain = self.role(f"{name}.gain", width)
        has_offset = chosen == "layer" and self.a.norm_offset
        return Norm(chosen, width, gain, self.role(f"{name}.offset", width) if has_offset else None)

    def map(self, name: str, *shape: int, bias: bool = False) -> Map:
        weight = self.role(f"{name}.weight", *shape)
        return Map(weight, self.role(f"{name}.bias", *shape[:-2], shape[-1]) if bias else None)

    def head_norm(self, name: str, heads: int) -> Norm:
        """An RMSNorm over the channels of each head, or over those of all heads."""
        a = self.a
        if not a.qk_norm_across:
            return self.norm(name, a.d_k, "rms")
        return Norm("rms", heads * a.d_k, self.role(f"{name}.gain", heads, a.d_k), None)

    def attention(self, name: str, layer: int) -> Attention | LatentAttention:
        a = self.a
        if a.latent is not None:
            return self.latent_attention(name)
        query = self.map(f"{name}.query", a.heads, a.d_model, a.d_k, bias=a.query_bias)
        key = self.map(f"{name}.key", a.groups, a.d_model, a.d_k, bias=a.key_bias)
        value = self.map(f"{name}.value", a.groups, a.d_model, a.d_v, bias=a.value_bias)
        output = Map(
            self.role(f"{name}.output.weight", a.heads, a.d_v, a.d_model),
            self.role(f"{name}.output.bias", a.d_model) if a.output_bias else None,
        )
        query_norm = self.head_norm(f"{name}.query_norm", a.heads) if a.qk_norm else None
        key_norm = self.head_norm(f"{name}.key_norm", a.groups) if a.qk_norm else None
        window = a.windows[layer] if a.windows else 0
        return Attention(query, key, value, output, query_norm, key_norm, a.encodings[layer], window)

    def latent_attention(self, name: str) -> LatentAttention:
        a, latent = self.a, self.a.latent
        assert latent is not None
        d_nope = a.d_k - latent.d_rope
        width = latent.query or a.d_model
        down = self.map(f"{name}.query_down", a.d_model, width) if latent.query else None
        return LatentAttention(
            query_down=down,
            query_norm=self.norm(f"{name}.query_norm", width, "rms") if latent.query else None,
            query_nope=self.map(f"{name}.query_nope", a.heads, width, d_nope),
            query_rope=self.map(f"{name}.query_rope", a.heads, width, latent.d_rope),
            key_value_down=self.map(f"{name}.key_value_down", a.d_model, latent.key_value),
            key_value_norm=self.norm(f"{name}.key_value_norm", latent.key_value, "rms"),
            key_rope=self.map(f"{name}.key_rope", a.d_model, latent.d_rope),
            key_up=self.map(f"{name}.key_up", a.heads, latent.key_value, d_nope),
            value_up=self.map(f"{name}.value_up", a.heads, latent.key_value, a.d_v),
            output=Map(self.role(f"{name}.output.weight", a.heads, a.d_v, a.d_model)),
        )

    def feed_forward(self, name: str, width: int) -> FeedForward:
        a = self.a
        gate = self.map(f"{name}.gate", a.d_model, width, bias=a.ff_bias) if a.gated else None
        up = self.map(f"{name}.up", a.d_model, width, bias=a.ff_bias)
        return FeedForward(up, self.map(f"{name}.down", width, a.d_model, bias=a.ff_bias), gate)

    def second(self, name: str, layer: int) -> FeedForward | Mixture:
        a = self.a
        if not a.has_experts(layer):
            return self.feed_forward(name, a.d_ff)
        e = a.experts
        assert e is not None
        return Mixture(
            self.map(f"{name}.router", a.d_model, e.count),
            tuple(self.feed_forward(f"{name}.experts.{i}", e.d_ff) for i in range(e.count)),
            tuple(self.feed_forward(f"{name}.shared.{i}", e.d_ff) for i in range(e.shared)),
        )

    def steps(self, layer: int) -> Iterator[Step]:
        a, name = self.a, f"layers.{layer}"
        has_norm, before = a.norm != "none", a.placement in ("pre", "sandwich")
        around, after = a.placement in ("sandwich", "output"), a.placement == "post"
        attention = self.attention(f"{name}.attention", layer)
        second = self.second(f"{name}.ff", layer) if a.d_ff or a.has_experts(layer) else None
        if a.placement in ("parallel", "parallel_shared"):
            first_norm = self.norm(f"{name}.norm_1")
            if second is None:
                yield Step((Branch((attention,), first_norm),))
            elif a.placement == "parallel_shared":
                yield Step((Branch((attention, second), first_norm),))
            else:
                yield Step((Branch((attention,), first_norm), Branch((second,), self.norm(f"{name}.norm_2"))))
            return
        for index, sublayer in enumerate(s for s in (attention, second) if s is not None):
            inner = self.norm(f"{name}.norm_{index + 1}") if has_norm and before else None
            outer = self.norm(f"{name}.output_norm_{index + 1}") if has_norm and around else None
            post = self.norm(f"{name}.norm_{index + 1}") if has_norm and after else None
            yield Step((Branch((sublayer,), inner, outer),), post)

    def graph(self) -> ModelGraph:
        a = self.a
        tables = []
        if a.is_model:
            tables.append(self.role("token_table", a.vocabulary, a.d_model))
            if a.position_table:
                tables.append(self.role("position_table", a.context, a.d_model))
                if a.unused_positions:
                    self.role("unused_positions", a.unused_positions, a.d_model)
            if a.token_types:
                tables.append(self.role("type_table", a.token_types, a.d_model))
        embedding_norm = self.norm("embedding_norm") if a.embedding_norm else None
        steps = tuple(step for layer in range(a.layers) for step in self.steps(layer))
        final_norm = self.norm("final_norm") if a.final_norm else None
        head = None
        if a.is_model:
            transform = transform_norm = None
            if a.head_transform:
                transform = self.map("head.transform", a.d_model, a.d_model, bias=True)
                transform_norm = self.norm("head.norm")
            bias = self.role("unembedding.bias", a.vocabulary) if a.head_bias else None
            # A tied head reads the transpose of the token table and has no weight role of its own.
            weight = "token_table" if a.tied else self.role("unembedding.weight", a.d_model, a.vocabulary)
            head = Head(Map(weight, bias), transform, transform_norm)
        return ModelGraph(self.shapes, tuple(tables), steps, embedding_norm, final_norm, head, a.tied)


def graph_of(architecture: Architecture) -> ModelGraph:
    """The roles of an architecture and its model graph.

    Example:
        >>> import symgauge
        >>> a = symgauge.Architecture(d_model=4, heads=2, d_k=3, d_v=2, groups=1)
        >>> for role, shape in symgauge.graph_of(a).shapes.items():
        ...     print(role, shape)
        ...
        layers.0.attention.query.weight (2, 4, 3)
        layers.0.attention.key.weight (1, 4, 3)
        layers.0.attention.value.weight (1, 4, 2)
        layers.0.attention.output.weight (2, 2, 4)
    """
    graph = _built(architecture)
    # All but this dict is immutable, so a caller may do with it as it likes.
    return replace(graph, shapes=dict(graph.shapes))


# Every family asks for it, and equal architectures have equal graphs.
@lru_cache(maxsize=64)
def _built(architecture: Architecture) -> ModelGraph:
    return _Builder(architecture).graph()
