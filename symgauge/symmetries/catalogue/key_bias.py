"""Constant keys, which softmax does not see."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry, Unseen
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.elements import shifts, spread
from symgauge.symmetries.examples import ATTENTION
from symgauge.symmetries.softmax import unseen_key_channels


class KeyBias(Symmetry):
    name = "key-bias"
    title = (
        "The key bias moves freely in every channel that does not turn with position: it adds to all scores of a query "
        "the same number, which softmax does not see."
    )
    source = (Cites("namazifar2023bias", part="without rotary encoding"),)
    example = ATTENTION.replace(key_bias=True)

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        biased = [sub for sub in graph.sublayers() if isinstance(sub, Attention) and sub.key.bias is not None]
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

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        return super().unseen_alone(a, role) or Unseen("softmax does not see it")
