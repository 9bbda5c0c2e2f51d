"""The canonical form of a stored model, a piece at a time: norms folded, the stream in a fixed basis, heads balanced,
neurons and experts in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from symgauge.algorithms import FeedForwardParameters, IllConditioned, NonGeneric, canonicalize
from symgauge.algorithms.minors import Minor
from symgauge.checkpoints import StoredModel
from symgauge.checkpoints.rows import Rows
from symgauge.comparison.acting import feed_forwards, name_of, renumbered_experts
from symgauge.comparison.heads import attention_of, into_roles
from symgauge.comparison.neurons import feed_forward_of, neuron_roles
from symgauge.comparison.pieces import Piece, anatomy, is_inside_head
from symgauge.comparison.sides import Side
from symgauge.comparison.unembedding import ROLE, is_unembedding
from symgauge.errors import InvalidInput
from symgauge.folders.stream_basis import Basis, fixed_basis
from symgauge.model_graph import Attention, LatentAttention, Mixture

Roles = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Fixed:
    """Roles of a piece in canonical form.

    ``constant`` are roles all of whose entries are known (folded gains are 1, moved biases 0), ``minors`` the identity
    blocks of attention layers by name. ``rounding`` bounds the relative error of the heads (first order).
    """

    name: str
    roles: Mapping[str, Tensor | Rows]
    """Tables, and a head of its own as one (V, d_model), by their rows."""
    constant: dict[str, float] = field(default_factory=dict)
    minors: dict[str, tuple[Minor, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rounding: float = 0.0


def canonical_pieces(model: StoredModel, *, minor: bool = False) -> Iterator[Fixed]:
    """The tables, then every piece in the order of the stream, each read, brought into its form and handed out.

    ``minor`` chooses the form of heads in which numbers become superfluous (:func:`symgauge.canonicalize`). What has no
    canonical form here (latent attention, normed queries and keys, factors without full rank) stays, with a note.
    """
    yield from _Canonical(model, minor).run()


class _Canonical:
    def __init__(self, model: StoredModel, minor: bool) -> None:
        # The architecture as it is stored: what a tied head forbids is forbidden.
        self.side = Side(model, model.architecture, model.graph)
        self.anatomy = anatomy(self.side)
        self.minor = minor

    def run(self) -> Iterator[Fixed]:
        tables = self.tables()
        basis = self.basis(tables)
        name = "tables" if tables else "stream"
        moved = {role: x.map(lambda block: block @ basis.map) for role, x in tables.items()}
        del tables
        yield Fixed(name, moved, notes=(f"basis of the stream: {basis.what}", *basis.notes))
        for piece in self.anatomy.pieces:
            yield self.unembedding(piece, basis) if is_unembedding(piece) else self.piece(piece, basis)

    def tables(self) -> dict[str, Rows]:
        """Without means that no LayerNorm lets through; constants of positions and types with the tokens."""
        # What a tied head reads of the token table is seen.
        centred = self.anatomy.centred - ({"token_table"} if self.side.graph.tied else set())
        found = {role: self.side.rows(role) for role in self.anatomy.tables}
        found = {role: (x.map(_without_mean) if role in centred else x).settled() for role, x in found.items()}
        if "token_table" in found and not self.side.graph.tied and self.side.architecture.embedding_scale == 1:
            for role in [r for r in found if r != "token_table"]:
                mean = found[role].column_mean()
                found[role] = found[role].map(lambda x, m=mean: x - m).settled()  # type: ignore[misc]
                found["token_table"] = found["token_table"].map(lambda x, m=mean: x + m).settled()  # type: ignore[misc]
        return found

    def basis(self, tables: dict[str, Rows]) -> Basis:
        if "token_table" not in tables:
            eye = torch.eye(self.side.architecture.d_model, dtype=torch.float64)
            return Basis(eye, eye, "as it was: there is no token table")
        own_head = self.side.graph.head is not None and not self.side.graph.tied
        unembedding = self.side.read(ROLE) if own_head and self.anatomy.stream == "any" else None
        return fixed_basis(self.side, self.anatomy, tables["token_table"], unembedding)

    def piece(self, piece: Piece, basis: Basis) -> Fixed:
        roles = {role: self.side.read(role) for role in piece.roles if role not in self.anatomy.tables}
        constant: dict[str, float] = {}
        notes: list[str] = []
        self.fold(piece, roles, constant)
        self.turn(piece, roles, basis)
        rounding, minors = 0.0, {}
        for s in piece.sublayers:
            if isinstance(s, Attention):
                found, error = self.heads(s, roles, constant, notes)
                rounding = max(rounding, error)
                if found:
                    minors[name_of(s)] = found
            elif isinstance(s, LatentAttention):
                notes.append("latent attention stays as it is")
            elif isinstance(s, Mixture):
                self.experts(s, roles)
        for f in feed_forwards(piece):
            layer = feed_forward_of(roles, f, self.side.architecture.activation)
            roles |= neuron_roles(ordered(layer), f)
        roles |= {role: torch.full_like(roles[role], value) for role, value in constant.items()}
        return Fixed(piece.name, roles, constant, minors, tuple(f"{piece.name}: {n}" for n in notes), rounding)

    def unembedding(self, piece: Piece, basis: Basis) -> Fixed:
        """The same for a head of its own, by its rows (V, d_model)."""
        (head,), rows = piece.readers, self.side.rows(ROLE)
        roles = {r: self.side.read(r) for r in piece.roles if r not in (*self.anatomy.tables, ROLE)}
        constant: dict[str, float] = {}
        norm, rest = piece.norm, replace(piece, readers=())
        offset = None if norm is None or norm.offset is None else roles[norm.offset]
        if offset is not None and head.bias is not None:
            roles[head.bias] = roles[head.bias] + rows.per_row(lambda x: x @ offset)
        if norm is not None:
            gain = roles[norm.gain]
            self.fold(rest, roles, constant, into_biases=head.bias is not None)
            rows = rows.map(lambda x: x * gain)
            if norm.kind == "layer" and (offset is None or head.bias is not None):
                rows = rows.map(_without_mean)
        self.turn(rest, roles, basis)
        if not basis.is_identity and not is_inside_head(piece):
            rows = rows.map(lambda x: x @ basis.inverse.mT)
        roles |= {role: torch.full_like(roles[role], value) for role, value in constant.items()}
        return Fixed(piece.name, {**roles, ROLE: rows}, constant)

    def fold(self, piece: Piece, roles: Roles, constant: dict[str, float], into_biases: bool | None = None) -> None:
        """Gain and offset into what reads the norm; writers without the mean that LayerNorm does not see.

        ``into_biases``: whether all readers have biases, where some are not among those of ``piece``.
        """
        for m in piece.writers:
            for role in (m.weight, m.bias):
                if role is not None and role in self.anatomy.centred:
                    roles[role] = roles[role] - roles[role].mean(-1, keepdim=True)
        norm = piece.norm
        if norm is None or any(m.weight in self.anatomy.tables for m in piece.readers):  # a tied head
            return
        gain = roles[norm.gain]
        offset = None if norm.offset is None else roles[norm.offset]
        if into_biases is None:
            into_biases = all(m.bias is not None for m in piece.readers)
        if offset is not None and not into_biases and bool((gain == 0).any()):
            raise NonGeneric(
                f"{self.side.name(norm.gain)} has a gain of 0 beside an offset that no bias of its readers can take "
                "up, so it cannot be folded"
            )
        for m in piece.readers:
            weight = gain.unsqueeze(-1) * roles[m.weight]
            if offset is not None and into_biases:
                assert m.bias is not None
                roles[m.bias] = roles[m.bias] + (offset @ roles[m.weight])
            if norm.kind == "layer" and (offset is None or into_biases):
                weight = weight - weight.mean(-2, keepdim=True)
            roles[m.weight] = weight
        roles[norm.gain] = torch.ones_like(gain)
        constant[norm.gain] = 1.0
        if offset is not None and norm.offset is not None:
            roles[norm.offset] = torch.zeros_like(offset) if into_biases else offset / gain
            if into_biases:
                constant[norm.offset] = 0.0

    def turn(self, piece: Piece, roles: Roles, basis: Basis) -> None:
        if basis.is_identity:
            return
        # The norm behind a head's dense layer is not of the stream, but a tied table has the stream's order there.
        head, inside = self.side.graph.head, is_inside_head(piece)
        for m in piece.readers:
            if m.weight in roles and not inside:
                roles[m.weight] = basis.inverse @ roles[m.weight]
        written = [role for m in piece.writers for role in (m.weight, m.bias)]
        kept = list(piece.kept)
        if piece.norm is not None and not inside:
            written.append(piece.norm.offset)
        if self.side.graph.tied and head is not None and head.transform in piece.readers:
            written += [head.transform.weight, head.transform.bias]
        if self.side.graph.tied and inside and piece.norm is not None:
            kept.append(piece.norm)
        written += [norm.offset for norm in kept]
        for role in written:
            if role is not None:
                roles[role] = roles[role] @ basis.map
        for norm in kept:  # where a gain stays, channels are renumbered at most, and a sign is no matter of the gain
            roles[norm.gain] = roles[norm.gain] @ basis.map.abs()

    def heads(
        self, s: Attention, roles: Roles, constant: dict[str, float], notes: list[str]
    ) -> tuple[tuple[Minor, ...], float]:
        a = self.side.architecture
        if a.attention != "softmax" or a.qk_norm or a.alibi:
            notes.append("heads stay as they are (linear attention, normed queries and keys, or ALiBi)")
            return (), 0.0
        try:
            found = canonicalize(attention_of(roles, s, a), "minor" if self.minor else None)
        except (NonGeneric, IllConditioned, InvalidInput) as error:
            notes.append(f"heads stay as they are: {error}")
            return (), 0.0
        roles |= into_roles(found.parameters, s)
        p = found.parameters
        if p.value_bias is not None and s.value.bias is not None and p.output_bias is not None:
            constant[s.value.bias] = 0.0
        if p.key_bias is not None and s.key.bias is not None and bool(p.free_key_channels().all()):
            constant[s.key.bias] = 0.0
        notes += found.ambiguous
        return found.minors, found.rounding

    def experts(self, s: Mixture, roles: Roles) -> None:
        """By decreasing size of their column in the router, whose common shift softmax does not see."""
        experts = self.side.architecture.experts
        assert experts is not None
        if experts.routing == "softmax":
            router = roles[s.router.weight]
            roles[s.router.weight] = router - router.mean(-1, keepdim=True)
        if experts.groups == 1:
            sizes = torch.linalg.vector_norm(roles[s.router.weight], dim=0)
            roles |= renumbered_experts(roles, s, sizes.argsort(descending=True, stable=True))


def _without_mean(x: Tensor) -> Tensor:
    return x - x.mean(-1, keepdim=True)


def ordered(p: FeedForwardParameters) -> FeedForwardParameters:
    """Neurons by decreasing size, which no factor changes; a free factor makes what goes in as large as what goes out,
    a free sign the largest outgoing weight positive."""
    inside, outside = (torch.linalg.vector_norm(x, dim=-1) for x in (p.incoming(), p.down))
    gate = torch.linalg.vector_norm(p.fixed(), dim=-1)
    scaled = p.freedom in ("positive", "any")
    size = gate + (inside.pow(p.power) * outside if scaled else inside + outside)
    factors = torch.ones_like(inside)
    if scaled:
        alive = (inside > 0) & (outside > 0)
        factors = torch.where(alive, (outside / inside).pow(1 / (1 + p.power)), 1.0)
    if p.freedom in ("sign", "any"):
        largest = p.down.gather(-1, p.down.abs().argmax(-1, keepdim=True))[:, 0]
        factors = torch.where(largest < 0, -factors, factors)
    order = size.argsort(descending=True, stable=True)
    return p.moved(order, factors[order])
