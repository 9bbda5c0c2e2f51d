"""Biases inside attention that softmax does not see: the keys', and the values' against the output's."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture, Rotary
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.elements import differences, factors, inverse, shifts
from symgauge.symmetries.head_factors import per_head
from symgauge.symmetries.spaces import Constant, constants_of, spaces, unseen_key_channels
from symgauge.wiring import Attention, Branch, Norm, Step, Wiring


def offsets_read(a: Architecture, w: Wiring) -> dict[str, Norm]:
    """Weight that reads what a LayerNorm with offset hands on -> that norm."""
    opened = [(space.source, space.moments[0]) for space in spaces(a, w) if space.source is not None]
    return {
        reader.weight: norm
        for norm, moment in opened
        for reader in moment.readers
        if norm.kind == "layer" and norm.offset is not None and not moment.norms
    }


def stacked_output(a: Architecture, roles: Roles, sub: Attention) -> Tensor:
    """The map (g d_v, d_model) from constant values, one per group, to what the heads write."""
    return roles[sub.output.weight].reshape(a.groups, -1, a.d_v, a.d_model).sum(1).reshape(-1, a.d_model)


def with_values(roles: Roles, sub: Attention, norm: Norm | None, t: Tensor) -> dict[str, Tensor]:
    """Add t (g, d_v) to all values: by their bias, or without one by their norm's offset, W_V + (1/γ) t / Σ β/γ."""
    if sub.value.bias is not None:
        return {sub.value.bias: roles[sub.value.bias] + t}
    assert norm is not None
    assert norm.offset is not None
    inverse_gain = 1 / roles[norm.gain]
    lever = inverse_gain / (roles[norm.offset] * inverse_gain).sum()
    return {sub.value.weight: roles[sub.value.weight] + lever.unsqueeze(-1) * t.unsqueeze(-2)}


class KeyBias(Symmetry):
    name = "key-bias"
    title = (
        "The key bias moves freely in every channel that does not turn with position: it adds to all scores of a query "
        "the same number, which softmax does not see."
    )
    source = "claims CT-3; partial rotary encoding derived here"

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        biased = [sub for sub in w.sublayers() if isinstance(sub, Attention) and sub.key.bias is not None]
        return [self._site(a, sub) for sub in biased if unseen_key_channels(a, sub.rotary)]

    def _site(self, a: Architecture, sub: Attention) -> Site:
        channels, rotary, bias = unseen_key_channels(a, sub.rotary), sub.rotary, sub.key.bias
        assert bias is not None
        n = len(channels)
        unrotated = rotary is not None and n == a.d_k - 2 * len(rotary.turns)
        width = s.d_k if rotary is None else s.d_k - s.d_rot if unrotated else Integer(n)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            return {bias: roles[bias] + spread(x.reshape(a.groups, n), channels, a.d_k)}

        return Site(s.layer_of(bias), s.g * width, a.groups * n, act, shifts(a.groups * n))


def spread(x: Tensor, channels: Sequence[int], width: int) -> Tensor:
    """Put the last axis of ``x`` at ``channels`` of a vector of ``width``, zero elsewhere."""
    bank = torch.cat([x, torch.zeros_like(x[..., :1])], dim=-1)
    index = [len(channels)] * width
    for position, channel in enumerate(channels):
        index[channel] = position
    return bank[..., torch.tensor(index, device=x.device)]


def through_heads(a: Architecture, roles: Roles, output: str, value: Tensor) -> Tensor:
    """What the heads write, (d_model,), when their values are the constant ``value`` (g, d_v)."""
    heads = per_head(a, value, a.groups).reshape(1, -1)
    weight = roles[output]
    return (heads @ weight.reshape(-1, weight.shape[-1])).squeeze(0)


def moved(roles: Roles, constant: Constant, by: Tensor) -> dict[str, Tensor]:
    """The roles of a constant after it has moved by a vector (or by one number, in every channel)."""
    return {role: roles[role] + by / constant.factor for role in constant.roles}


class ValueBias(Symmetry):
    name = "value-bias"
    title = (
        "The value bias moves and a bias added at the same place (the output's, in parallel blocks also the "
        "feed-forward's) takes it back, for attention weights sum to one. Without one, only what the output map "
        "kills moves. A LayerNorm's offset makes a value bias of its own: values that add 1/γ add a constant."
    )
    source = "claims CT-3; without an output bias derived here"

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        if a.attention != "softmax" or a.latent is not None:
            return []
        sources = {} if a.value_bias else offsets_read(a, w)
        moments = [(space.centred(i), m) for space in spaces(a, w) for i, m in enumerate(space.moments)]
        centred = {m.weight for unseen, moment in moments if unseen for m in moment.writers}
        found = []
        for step in w.steps:
            for branch in step.branches:
                for sub in branch.sublayers:
                    if not isinstance(sub, Attention):
                        continue
                    sink, norm = self._sink(a, step, branch), sources.get(sub.value.weight)
                    if sink and a.value_bias:
                        found.append(self._absorbed(a, sub, sink))
                    elif a.value_bias or (norm and not sink):
                        found.append(self._killed(a, sub, 1 if sub.output.weight in centred else 0, norm))
        return [site for site in found if site.coordinates]

    def _sink(self, a: Architecture, step: Step, branch: Branch) -> Constant | None:
        together = step.branches if branch.output_norm is None else (branch,)
        found = constants_of(a, tuple(m for b in together for m in b.writers))
        return found[0] if found else None

    def _absorbed(self, a: Architecture, sub: Attention, sink: Constant) -> Site:
        bias = sub.value.bias
        assert bias is not None

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            t = x.reshape(a.groups, a.d_v)
            written = through_heads(a, roles, sub.output.weight, t)
            return {bias: roles[bias] + t, **moved(roles, sink, -written)}

        count = a.groups * a.d_v
        return Site(s.layer_of(bias), s.g * s.d_v, count, act, shifts(count))

    def _killed(self, a: Architecture, sub: Attention, unseen: int, norm: Norm | None) -> Site:
        """Value biases t with t W_O = 0 (or along **1**, where only LayerNorms read the stream)."""

        rank = a.d_model - unseen
        count = max(0, a.groups * a.d_v - rank)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            rows = stacked_output(a, roles, sub)
            seen = rows @ differences(a.d_model, rows) if unseen else rows
            first = -(x.reshape(1, -1) @ seen[rank:]) @ inverse(seen[:rank])
            return with_values(roles, sub, norm, torch.cat([first.squeeze(0), x]).reshape(a.groups, a.d_v))

        size = s.g * s.d_v - s.d + unseen if count else Integer(0)
        return Site(s.layer_of(sub.value.weight), size, count, act, shifts(count))


class QueryKeyGains(Symmetry):
    name = "query-key-gains"
    title = (
        "Normalised queries and keys trade gain: γ_q times a, γ_k divided by a, one factor per rotated plane and one "
        "per channel that does not turn (or turns by half turns), in every group that has gains of its own."
    )
    source = "claims CT-5 (Qwen3-like); partial rotary encoding derived here"

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        return [
            self._site(a, sub.rotary, sub.query_norm.gain, sub.key_norm.gain)
            for sub in w.sublayers()
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


class QueryKeyScale(Symmetry):
    name = "query-key-scale"
    title = (
        "Where queries and keys are normalised with ε = 0, the size of each query head and key group is unseen (of all "
        "of them together, where one norm goes across the heads)."
    )
    source = "claims CT-5 (Qwen3-like)"

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        if not (a.qk_norm and a.epsilon_is_zero):
            return []
        subs = [sub for sub in w.sublayers() if isinstance(sub, Attention)]
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
