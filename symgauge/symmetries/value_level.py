"""A number that attention's values add to the whole stream while only LayerNorms look."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.symmetries import symbols as s
from symgauge.symmetries.attention_biases import offsets_read, stacked_output, with_values
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.constant_shifts import Gap, open_gap
from symgauge.symmetries.elements import inverse, shifts
from symgauge.symmetries.spaces import spaces
from symgauge.wiring import Attention, Norm, Wiring


class ValueLevel(Symmetry):
    name = "value-level"
    title = (
        "Values without an output bias beside them write a multiple of **1** (by their bias, or by their LayerNorm's "
        "offset through 1/γ), which LayerNorms do not see, and the next bias on the stream takes it away. Values must "
        "be as wide as the stream."
    )
    source = "derived here"

    def sites(self, a: Architecture, w: Wiring) -> Sequence[Site]:
        if a.attention != "softmax" or a.latent is not None or a.groups * a.d_v < a.d_model:
            return []
        attentions = {sub.output.weight: sub for sub in w.sublayers() if isinstance(sub, Attention)}
        offsets = {} if a.value_bias else offsets_read(a, w)
        found = []
        for space in spaces(a, w):
            for position, moment in enumerate(space.moments):
                writers = [attentions[m.weight] for m in moment.writers if m.weight in attentions]
                # Where nothing else ever looks, the writers' mean has this already.
                if not writers or moment.constants or space.centred(position):
                    continue
                gap, norm = open_gap(a, w, space, position), offsets.get(writers[0].value.weight)
                norms = [norm for moment in gap.moments for norm in moment.norms]
                if norms and gap.size()[0] and (a.value_bias or norm):
                    found.append(self._site(a, writers[0], gap, norm))
        return found

    def _site(self, a: Architecture, sub: Attention, gap: Gap, norm: Norm | None) -> Site:
        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            c = x * torch.ones(a.d_model, dtype=x.dtype, device=x.device)
            rows = stacked_output(a, roles, sub)
            t = (c.unsqueeze(0) @ inverse(rows.mT @ rows)) @ rows.mT  # the shortest t with t W_O = c
            return gap.act(roles, c) | with_values(roles, sub, norm, t.reshape(a.groups, a.d_v))

        return Site(s.layer_of(sub.output.weight), Integer(1), 1, act, shifts(1))
