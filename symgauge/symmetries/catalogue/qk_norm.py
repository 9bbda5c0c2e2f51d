"""Gains and sizes of queries and keys that are normalised."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture, Rotary
from symgauge.model_graph import Attention, ModelGraph, graph_of
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry, Unseen
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.elements import factors
from symgauge.symmetries.examples import RMS
from symgauge.symmetries.heads import per_head
from symgauge.symmetries.seen import seen_by_readers


def _norm_over_empty_channels(a: Architecture) -> bool:
    if not a.qk_norm or a.latent is not None:
        return False
    graph = graph_of(a)
    seen = seen_by_readers(a, graph)
    across = (a.heads, a.groups) if a.qk_norm_across else (1, 1)
    for sub in graph.sublayers():
        if isinstance(sub, Attention):
            for m, heads in zip((sub.query, sub.key), across, strict=True):
                # A constant in what is normed stands beside ε, so that a full set of channels is one too many.
                if heads * a.d_k > seen[m.weight].linear:
                    return True
    return False


class QKNormGain(Symmetry):
    name = "qk-norm-gain"
    title = (
        "Normalised queries and keys trade gain: γ_q times a, γ_k divided by a, one factor per rotated plane and one "
        "per channel that does not turn (or turns by half turns), in every group that has gains of its own."
    )
    example = RMS.replace(qk_norm=True)
    degenerate_cases = (
        DegenerateCase(
            "a query or key norm over a single channel leaves only signs",
            lambda a: a.qk_norm and a.d_k == 1 and a.epsilon_is_zero,
            example=RMS.replace(qk_norm=True, d_k=1, rotary=None, epsilon=0.0),
            beside=RMS.replace(qk_norm=True, d_k=2, rotary=None, epsilon=0.0),
        ),
        DegenerateCase(
            "a query or key norm over more channels than the maps before it fill sees only a form on what they read",
            _norm_over_empty_channels,
            example=RMS.replace(qk_norm=True, d_k=5, rotary=None),
            beside=RMS.replace(qk_norm=True, d_k=4, rotary=None),
        ),
    )

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        return [
            self._site(a, sub.rotary, sub.query_norm.gain, sub.key_norm.gain)
            for sub in graph.sublayers()
            if isinstance(sub, Attention) and sub.query_norm is not None and sub.key_norm is not None
        ]

    def _site(self, a: Architecture, rotary: Rotary | None, query: str, key: str) -> Site:
        index, width = list(range(a.d_k)), s.d_k
        if rotary is not None:
            free = [block.channels for block in rotary.classes() if block.kind == "real"]
            planes = [rotary.plane(j) for j, turn in enumerate(rotary.turns) if 2 * turn % 1 != 0]
            blocks = [*planes, *((c,) for channels in free for c in channels)]
            index = [next(i for i, block in enumerate(blocks) if c in block) for c in range(a.d_k)]
            width = s.d_k - s.d_rot / 2 if len(planes) == len(rotary.turns) else Integer(len(blocks))
            if 2 * len(planes) == a.d_k:
                width = s.d_k / 2
        # Gains that all heads share trade once; those of a norm across the heads trade in every key group.
        groups, letter = (a.groups, s.g) if a.qk_norm_across else (1, Integer(1))
        count = groups * (max(index) + 1)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            factor = (1 + x).reshape(groups, -1)[:, torch.tensor(index, device=x.device)]
            if not a.qk_norm_across:
                return {query: roles[query] * factor[0], key: roles[key] / factor[0]}
            return {query: roles[query] * per_head(a, factor, groups), key: roles[key] / factor}

        return Site(s.layer_of(query), letter * width, count, act, factors(count))


class QKNormScale(Symmetry):
    name = "qk-norm-scale"
    title = (
        "Where queries and keys are normalised with ε = 0, the size of each query head and key group is unseen (of all "
        "of them together, where one norm goes across the heads)."
    )
    source = (Cites("zhang2019rmsnorm", part="the scale of what a norm reads"),)
    example = RMS.replace(qk_norm=True, epsilon=0.0)

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        if not (a.qk_norm and a.epsilon_is_zero):
            return []
        subs = [sub for sub in graph.sublayers() if isinstance(sub, Attention)]
        return [self._site(a, sub) for sub in subs]

    def _site(self, a: Architecture, sub: Attention) -> Site:
        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            changed = {}
            for m, factor in ((sub.query, 1 + x[:heads]), (sub.key, 1 + x[heads:])):
                changed[m.weight] = roles[m.weight] * factor.reshape(-1, 1, 1)
                if m.bias is not None:
                    changed[m.bias] = roles[m.bias] * factor.reshape(-1, 1)
            return changed

        heads, count = (1, 2) if a.qk_norm_across else (a.heads, a.heads + a.groups)
        size = Integer(2) if a.qk_norm_across else s.h + s.g
        return Site(s.layer_of(sub.query.weight), size, count, act, factors(count, positive=True))

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        return Unseen("the norm after each map does not see its size")
