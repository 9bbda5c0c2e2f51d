"""What softmax over keys does not see: the same number added to all scores of a query."""

from __future__ import annotations

from symgauge.architecture import Architecture, Rotary
from symgauge.symmetries.symbols import layer_of


def unseen_key_channels(a: Architecture, rotary: Rotary | None) -> tuple[int, ...]:
    """Key channels, under a layer's encoding, where a constant shifts all scores of a query alike, unseen by softmax.

    All of them without rotary encoding, the channels that do not turn with it; none where scores are not simply
    query · key under softmax (linear attention, soft-capped scores, normalised keys).
    """
    if a.attention != "softmax" or a.qk_norm or a.attention_softcap is not None:
        return ()
    channels = a.d_k if a.latent is None else a.latent.d_rope
    if rotary is None:
        return tuple(range(channels))
    still = [j for j, turn in enumerate(rotary.turns) if turn % 1 == 0]
    rotated = 2 * len(rotary.turns)
    return tuple(sorted([c for j in still for c in rotary.plane(j)] + list(range(rotated, channels))))


def constant_keys_unseen(a: Architecture, role: str) -> bool:
    """Whether softmax sees no constant in the keys of the layer that a role belongs to."""
    return len(unseen_key_channels(a, a.encodings[layer_of(role) or 0])) == a.d_k
