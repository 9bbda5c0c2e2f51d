"""A model in pieces that are read one after the other, each in a form without the gauges that can be removed at sight.

Norm gains and offsets are folded into what reads them, and means that LayerNorm does not see are taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.comparison.sides import Side
from symgauge.model_graph import Attention, LatentAttention, Map, Mixture, ModelGraph, Norm, Sublayer
from symgauge.symmetries.catalogue.stream_map import Kind, kind_of
from symgauge.symmetries.spaces import spaces


@dataclass(frozen=True)
class Piece:
    """What reads the stream through one norm (or as it is), and what it writes.

    ``kept`` are norms that the readers do not absorb: their gains and offsets are compared as they are.
    """

    name: str
    norm: Norm | None
    """Folded into the readers."""
    readers: tuple[Map, ...]
    writers: tuple[Map, ...]
    sublayers: tuple[Sublayer, ...]
    kept: tuple[Norm, ...]

    @property
    def roles(self) -> list[str]:
        """Roles that are read for this piece, in the order in which a token meets them."""
        norms = [n for n in (self.norm, *self.kept) if n is not None]
        found = [role for n in norms for role in (n.gain, n.offset) if role is not None]
        maps = [role for m in (*self.readers, *self.writers) for role in (m.weight, m.bias) if role is not None]
        for s in self.sublayers:
            found += [n.gain for n in inner_norms(s)]
            if isinstance(s, LatentAttention):
                maps += [m.weight for m in (s.query_nope, s.query_rope, s.key_up, s.value_up)]
        return [*found, *dict.fromkeys(maps)]


def inner_norms(s: Sublayer) -> list[Norm]:
    """Norms of queries and keys, or of the latents that these and values are made of."""
    if isinstance(s, Attention | LatentAttention):
        norms = (s.query_norm, s.key_norm if isinstance(s, Attention) else s.key_value_norm)
        return [n for n in norms if n is not None]
    return []


@dataclass(frozen=True, eq=False)
class Anatomy:
    """The pieces of a model in order, and what moves its stream."""

    pieces: tuple[Piece, ...]
    tables: tuple[str, ...]
    stream: Kind | None
    """Which linear maps of the stream its readers can undo; None for permutations at most."""
    permutable: bool
    """Whether channels of the stream may be renumbered: nothing outside of the model reads it."""
    centred: frozenset[str]
    """Roles whose part along **1** no LayerNorm that reads it lets through."""


def anatomy(side: Side) -> Anatomy:
    """The pieces of the architecture that both sides have."""
    a, graph = side.architecture, side.graph
    every = spaces(a, graph)
    refoldable = {space.source.gain for space in every if space.refoldable and space.source is not None}
    centred: set[str] = set()
    for space in every:
        for position, moment in enumerate(space.moments):
            if space.centred(position):
                centred |= set(moment.tables) | {m.weight for m in moment.writers}
                centred |= {role for constant in moment.constants if not constant.table for role in constant.roles}
    stream = kind_of(graph, every[0], every)
    return Anatomy(
        tuple(_pieces(graph, refoldable)), graph.tables, stream, not any(s.taken for s in every) and bool(graph.tables),
        frozenset(centred),
    )  # fmt: skip


def _pieces(graph: ModelGraph, refoldable: set[str]) -> Iterator[Piece]:
    final = graph.final_norm
    if graph.embedding_norm is not None:
        yield Piece("embedding", None, (), (), (), (graph.embedding_norm,))
    for step in graph.steps:
        for branch in step.branches:
            kept = tuple(n for n in (branch.output_norm,) if n is not None)
            norm = branch.input_norm
            if norm is not None and norm.gain not in refoldable:
                kept, norm = (norm, *kept), None
            name = branch.writers[0].weight.rsplit(".", 2)[0]
            yield Piece(name, norm, branch.readers, branch.writers, branch.sublayers, kept)
        if step is graph.steps[-1] and graph.final_norm is None and step.stream_norm is not None:
            final = step.stream_norm
        elif step.stream_norm is not None:
            yield Piece(step.stream_norm.gain.removesuffix(".gain"), None, (), (), (), (step.stream_norm,))
    yield from _end(graph, final, refoldable)


def _end(graph: ModelGraph, final: Norm | None, refoldable: set[str]) -> Iterator[Piece]:
    head = graph.head
    folded = final if final is not None and final.gain in refoldable else None
    kept = (final,) if final is not None and folded is None else ()
    if head is None:
        if kept:
            yield Piece("final_norm", None, (), (), (), kept)
    elif head.transform is None:
        yield Piece("unembedding", folded, (head.unembedding,), (), (), kept)
    else:
        yield Piece("head", folded, (head.transform,), (), (), kept)
        yield Piece("unembedding", head.transform_norm, (head.unembedding,), (), (), ())


@dataclass(frozen=True, eq=False)
class Normal:
    """A piece of one side in its normal form: weights and constants by role.

    Readers are diag(γ) W; a reader's bias is what it adds to a token, b + β W, also where there is no bias.
    ``scale`` is the size of what a role was made of, against which rounding is measured.
    """

    roles: dict[str, Tensor]
    scale: dict[str, float]


def bias_of(m: Map) -> str:
    """The role of a map's constant, whether it has a bias or not."""
    return m.bias or m.weight.replace(".weight", ".bias")


def softmax_routers(side: Side, piece: Piece) -> list[str]:
    """Routers of a piece whose logits may all move alike."""
    experts = side.architecture.experts
    alike = experts is not None and experts.routing == "softmax"
    return [s.router.weight for s in piece.sublayers if alike and isinstance(s, Mixture)]


def is_inside_head(piece: Piece) -> bool:
    """Whether it reads what a head's own norm gives, another space than the stream."""
    return piece.norm is not None and piece.norm.gain.startswith("head.")


def normal(side: Side, piece: Piece, anatomy: Anatomy, *, centred: bool = True) -> Normal:
    """Read a piece and bring it into its normal form; without ``centred`` what LayerNorms do not see stays in."""
    roles: dict[str, Tensor] = {}
    scale: dict[str, float] = {}
    norm = piece.norm
    gain = None if norm is None else side.read(norm.gain)
    offset = None if norm is None or norm.offset is None else side.read(norm.offset)
    for m in piece.readers:
        raw = side.read(m.weight)
        weight = raw if gain is None else gain.unsqueeze(-1) * raw
        if centred and norm is not None and norm.kind == "layer":
            scale[m.weight] = float(torch.linalg.vector_norm(weight))
            weight = weight - weight.mean(-2, keepdim=True)
        roles[m.weight] = weight
        parts = [] if m.bias is None else [side.read(m.bias)]
        size = [] if m.bias is None else [parts[0].abs()]
        if offset is not None:
            parts.append(offset @ raw)
            size.append(offset.abs() @ raw.abs())
        if parts:
            roles[bias_of(m)] = torch.stack(parts).sum(0)
            scale[bias_of(m)] = float(torch.linalg.vector_norm(torch.stack(size).sum(0)))
    for m in piece.writers:
        for role in (m.weight, m.bias):
            if role is not None:
                x = side.read(role)
                roles[role] = x - x.mean(-1, keepdim=True) if centred and role in anatomy.centred else x
                if role == m.bias or role in anatomy.centred:
                    scale[role] = float(torch.linalg.vector_norm(x))
    for role in piece.roles:
        if role not in roles and not (norm is not None and role in (norm.gain, norm.offset)):
            x = side.read(role)
            roles[role] = x
            if centred and role in anatomy.centred:
                roles[role] = x - x.mean(-1, keepdim=True)
                scale[role] = float(torch.linalg.vector_norm(x))
    for s in piece.sublayers:
        if isinstance(s, Attention):
            _balance_gains(roles, s)
        elif isinstance(s, LatentAttention):
            for inner, reading in inner_readers(s):
                gain = roles.pop(inner.gain)
                roles |= {role: gain.unsqueeze(-1) * roles[role] for role in reading}
    return Normal(roles, scale)


def inner_readers(s: LatentAttention) -> list[tuple[Norm, list[str]]]:
    """The norms of latents, and the weights that read what they give, into which their gains go."""
    found = [(s.key_value_norm, [s.key_up.weight, s.value_up.weight])]
    if s.query_norm is not None:
        found.insert(0, (s.query_norm, [s.query_nope.weight, s.query_rope.weight]))
    return found


def _balance_gains(roles: dict[str, Tensor], s: Attention) -> None:
    """Gains of normed queries and keys trade a factor on every rotary plane (channel, without rotary encoding): the
    queries' take all of it. Where a norm goes across heads, those of every group do."""
    if s.query_norm is None or s.key_norm is None:
        return
    query, key = roles[s.query_norm.gain], roles[s.key_norm.gain]
    turns = () if s.rotary is None else s.rotary.turns
    planes = [list(s.rotary.plane(j)) for j in range(len(turns))] if s.rotary is not None else []
    planes += [[c] for c in range(2 * len(turns), key.shape[-1])]
    factor = torch.ones_like(key)
    for plane in planes:
        factor[..., plane] = (key[..., plane].square().mean(-1).sqrt() * key[..., plane[0]].sign()).unsqueeze(-1)
    factor = torch.where(factor == 0, 1.0, factor)
    shared = factor if key.dim() == 1 else factor.repeat_interleave(len(query) // len(key), 0)
    roles[s.query_norm.gain], roles[s.key_norm.gain] = query * shared, key / factor
