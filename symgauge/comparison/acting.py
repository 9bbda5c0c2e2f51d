"""How an element acts on a piece of a model in its normal form."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.algorithms import GaugeElement, apply
from symgauge.comparison.element import INNER, Element
from symgauge.comparison.heads import attention_of, into_roles
from symgauge.comparison.latents import PARTS, act_on_latents
from symgauge.comparison.neurons import feed_forward_of, neuron_roles
from symgauge.comparison.pieces import Anatomy, Normal, Piece, bias_of, is_inside_head
from symgauge.comparison.sides import Side
from symgauge.comparison.stream import is_identity
from symgauge.model_graph import Attention, FeedForward, LatentAttention, Mixture, Sublayer


def in_new_stream(x: Normal, piece: Piece, t: Tensor, orthogonal: bool) -> Normal:
    """Readers by T⁻¹, writers and gains by T."""
    if is_identity(t):
        return x
    inverse = t.mT if orthogonal else torch.linalg.inv(t)
    roles = dict(x.roles)
    for m in () if is_inside_head(piece) else piece.readers:
        roles[m.weight] = inverse @ roles[m.weight]
    for m in piece.writers:
        roles[m.weight] = roles[m.weight] @ t
        if m.bias is not None:
            roles[m.bias] = roles[m.bias] @ t
    for norm in piece.kept:  # where a gain stays, channels are renumbered at most, and a sign is no matter of the gain
        roles[norm.gain] = roles[norm.gain] @ t.abs()
        if norm.offset is not None:
            roles[norm.offset] = roles[norm.offset] @ t
    return Normal(roles, x.scale)


def feed_forwards(piece: Piece) -> list[FeedForward]:
    """Feed-forward layers of a piece, experts included."""
    found: list[FeedForward] = []
    for s in piece.sublayers:
        if isinstance(s, FeedForward):
            found.append(s)
        elif isinstance(s, Mixture):
            found += [*s.experts, *s.shared]
    return found


def name_of(s: Sublayer) -> str:
    """The name of a sublayer, as an element's file has it."""
    if isinstance(s, Attention | LatentAttention):
        return s.output.weight.rsplit(".", 2)[0]
    return (s.up if isinstance(s, FeedForward) else s.router).weight.rsplit(".", 2)[0]


def act(element: Element, x: Normal, piece: Piece, side: Side) -> Normal:
    """The parts of ``element`` that renumber and mix heads, neurons and experts of this piece."""
    roles = dict(x.roles)
    if piece.name == "head" and INNER in element.tensors:
        for role in (piece.readers[0].weight, bias_of(piece.readers[0])):
            if role in roles:
                roles[role] = roles[role][..., element.tensors[INNER]]
    for s in piece.sublayers:
        if isinstance(s, Attention):
            found = element.attention(name_of(s))
            if found is not None:
                roles |= into_roles(apply(attention_of(roles, s, side.architecture), found), s)
                _renumber_gains(roles, s, found)
        elif isinstance(s, LatentAttention):
            roles |= act_on_latents(roles, s, element.parts(name_of(s), PARTS))
        elif isinstance(s, Mixture) and f"{name_of(s)}.experts" in element.tensors:
            roles |= renumbered_experts(roles, s, element.tensors[f"{name_of(s)}.experts"])
    for f in feed_forwards(piece):
        order = element.tensors.get(f"{name_of(f)}.order")
        if order is not None:
            factors = element.tensors[f"{name_of(f)}.factors"]
            roles |= neuron_roles(feed_forward_of(roles, f, side.architecture.activation).moved(order, factors), f)
    return Normal(roles, x.scale)


def _renumber_gains(roles: dict[str, Tensor], s: Attention, element: GaugeElement) -> None:
    """Gains of a norm across heads go with the heads."""
    for norm, order in ((s.query_norm, element.heads), (s.key_norm, element.groups)):
        if norm is not None and roles[norm.gain].dim() == 2:
            roles[norm.gain] = roles[norm.gain][order]


def renumbered_experts(roles: dict[str, Tensor], s: Mixture, order: Tensor) -> dict[str, Tensor]:
    """Expert i is the old expert order[i]."""
    changed = {s.router.weight: roles[s.router.weight][..., order]}
    for new, old in enumerate(order.tolist()):
        pairs = zip(
            (*s.experts[new].readers, s.experts[new].writer),
            (*s.experts[old].readers, s.experts[old].writer),
            strict=True,
        )
        for mine, its in pairs:
            changed[mine.weight] = roles[its.weight]
            if bias_of(its) in roles:
                changed[bias_of(mine)] = roles[bias_of(its)]
    return changed


def moved_by(element: Element, x: Normal, piece: Piece, side: Side, anatomy: Anatomy) -> Normal:
    """All of the element's action on a piece, in the normal form."""
    return act(element, in_new_stream(x, piece, element.tensors["stream"], anatomy.stream != "any"), piece, side)
