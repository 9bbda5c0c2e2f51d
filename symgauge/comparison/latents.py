"""Multi-head latent attention: the maps of its latents and heads that take one layer to another, and how they act.

A latent passes an RMSNorm, whose gain goes into what reads it; then any orthogonal map of it is undone there. Content
channels of queries and keys mix in every head, values and outputs too; rotary channels turn and scale plane by plane,
in all heads alike, for they share one rotary key.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from symgauge.algorithms import match_heads
from symgauge.algorithms.channels import Blocks, blocks
from symgauge.algorithms.invariants import product_distances
from symgauge.algorithms.pairs import Pair, polar
from symgauge.architecture import Rotary
from symgauge.comparison.heads import amplified_by, misfit, simplest, solve_pair
from symgauge.comparison.pieces import inner_readers
from symgauge.comparison.stream import tidied
from symgauge.model_graph import LatentAttention, Map

PARTS = ("query_latent", "key_value_latent", "heads", "content", "rotary", "value_output")
"""Names of the maps in an element, after the layer's; in the order in which they act."""


def made_through(s: LatentAttention) -> dict[str, tuple[str, ...]]:
    """For each map that reads a latent, the roles whose rounding enters it: the norm's gain, and what makes the latent,
    from which the latent's map is found."""
    downs = {s.key_value_norm.gain: s.key_value_down.weight}
    if s.query_norm is not None and s.query_down is not None:
        downs[s.query_norm.gain] = s.query_down.weight
    return {role: (norm.gain, downs[norm.gain]) for norm, readers in inner_readers(s) for role in readers}


def solve_latents(
    one: Mapping[str, Tensor], two: Mapping[str, Tensor], s: LatentAttention, rotary: Rotary | None, close: float
) -> tuple[dict[str, Tensor], dict[str, float]]:
    """The parts by name, and how much more than rounding a residual may be, per role, because they are found from it.

    Heads stay where they are if that is ``close`` enough, else they are matched by their products.
    """
    parts: dict[str, Tensor] = {}
    for name, down in (("query_latent", s.query_down), ("key_value_latent", s.key_value_down)):
        if down is not None:
            parts[name] = _orthogonal(one[down.weight], two[down.weight], close)
    one = act_on_latents(one, s, parts)
    both = [(pair(one, s), pair(two, s)) for pair in (_content_pair, _value_pair)]
    order = torch.arange(len(one[s.query_nope.weight]))
    if not all(bool(torch.stack(misfit(p, q, solve_pair(p, q))).max() <= close) for p, q in both):
        heads = len(order)
        order = match_heads(torch.stack([product_distances([(q, p)], heads) for p, q in both]).sum(0), heads)
    parts["heads"] = order
    one = act_on_latents(one, s, {"heads": order})
    amplified: dict[str, float] = {}
    for name, pairs, maps in (
        ("content", [(_content_pair(one, s), _content_pair(two, s))], (s.query_nope, s.key_up)),
        ("value_output", [(_value_pair(one, s), _value_pair(two, s))], (s.value_up, s.output)),
        ("rotary", list(zip(_rotary_pairs(one, s, rotary), _rotary_pairs(two, s, rotary), strict=True)),
         (s.query_rope, s.key_rope)),
    ):  # fmt: skip
        found = [simplest(p, q, close) for p, q in pairs]
        parts[name] = found[0][0] if name != "rotary" else _as_matrix([p for p, _ in pairs], found, s, one)
        for (p, _), x in zip(pairs, found, strict=True):
            for m, factor in zip(maps, amplified_by(p, x), strict=True):
                amplified[m.weight] = max(amplified.get(m.weight, 1.0), factor)
    return parts, amplified


def act_on_latents(roles: Mapping[str, Tensor], s: LatentAttention, parts: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The roles of the layer after the parts acted; a part that is missing is the identity."""
    x = {m.weight: roles[m.weight] for m in _maps(s)}
    for name, down, ups in (
        ("query_latent", s.query_down, (s.query_nope, s.query_rope)),
        ("key_value_latent", s.key_value_down, (s.key_up, s.value_up)),
    ):
        if name in parts and down is not None:
            x[down.weight] = x[down.weight] @ parts[name]
            for m in ups:
                x[m.weight] = parts[name].mT @ x[m.weight]
    if "heads" in parts:
        for m in (s.query_nope, s.query_rope, s.key_up, s.value_up, s.output):
            x[m.weight] = x[m.weight][parts["heads"]]
    for name, left, right in (("content", s.query_nope, s.key_up), ("rotary", s.query_rope, s.key_rope)):
        if name in parts:
            x[left.weight] = x[left.weight] @ parts[name]
            x[right.weight] = torch.linalg.solve(parts[name], x[right.weight].mT).mT
    if "value_output" in parts:
        x[s.value_up.weight] = x[s.value_up.weight] @ parts["value_output"]
        x[s.output.weight] = torch.linalg.solve(parts["value_output"], x[s.output.weight])
    return x


def _orthogonal(one: Tensor, two: Tensor, close: float) -> Tensor:
    """The orthogonal map of a latent that takes the rows of ``one`` nearest to those of ``two``; the identity where
    that is ``close`` enough."""
    if torch.linalg.vector_norm(one - two) <= close * torch.linalg.vector_norm(two):
        return torch.eye(one.shape[-1], dtype=one.dtype)
    return tidied(polar(one.mT @ two))


def _maps(s: LatentAttention) -> list[Map]:
    every = [s.query_down, s.query_nope, s.query_rope, s.key_value_down, s.key_rope, s.key_up, s.value_up, s.output]
    return [m for m in every if m is not None]


def _content_pair(roles: Mapping[str, Tensor], s: LatentAttention) -> Pair:
    return Pair(roles[s.query_nope.weight][None], roles[s.key_up.weight][None], None, "queries and keys")


def _value_pair(roles: Mapping[str, Tensor], s: LatentAttention) -> Pair:
    return Pair(roles[s.value_up.weight][None], roles[s.output.weight].mT[None], None, "values and outputs")


def _blocks(x: Tensor, rotary: Rotary | None) -> list[Blocks]:
    return blocks(rotary, x.shape[-1], x.device)


def _rotary_pairs(roles: Mapping[str, Tensor], s: LatentAttention, rotary: Rotary | None) -> list[Pair]:
    """One for each kind of block, all heads stacked against the key that they share."""
    query, key = roles[s.query_rope.weight].flatten(0, 1)[None], roles[s.key_rope.weight][None]
    return [Pair(b.take(query), b.take(key), b, "queries and keys") for b in _blocks(key, rotary)]


def _as_matrix(pairs: list[Pair], found: list[Tensor], s: LatentAttention, roles: Mapping[str, Tensor]) -> Tensor:
    key = roles[s.key_rope.weight]
    matrix = key.new_zeros(1, key.shape[-1], key.shape[-1])
    for pair, x in zip(pairs, found, strict=True):
        assert pair.channels is not None
        pair.channels.put_matrix(x, matrix)
    return matrix[0]
