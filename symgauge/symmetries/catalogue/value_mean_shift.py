"""A number that attention's values add to the whole stream while only LayerNorms look."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, ModelGraph, Norm
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.elements import inverse, shifts
from symgauge.symmetries.examples import BLOCK
from symgauge.symmetries.gaps import Gap, open_gap
from symgauge.symmetries.spaces import spaces, written_scale
from symgauge.symmetries.value_constants import offsets_read, stacked_output, with_values


class ValueMeanShift(Symmetry):
    name = "value-mean-shift"
    title = (
        "Values without an output bias beside them shift the stream's mean (by their bias, or through 1/γ by their "
        "LayerNorm's offset), which LayerNorms do not see; the next bias on the stream or the next layer's values "
        "shift it back. Values must be as wide as the stream."
    )
    after = ("value-bias", "layernorm-output-mean", "layernorm-input-mean")
    example = BLOCK.replace(output_bias=False)

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        if a.attention != "softmax" or a.latent is not None or a.groups * a.d_v < a.d_model:
            return []
        attentions = {sub.output.weight: sub for sub in graph.sublayers() if isinstance(sub, Attention)}
        offsets = {} if a.value_bias else offsets_read(a, graph)
        found = []
        for space in spaces(a, graph):
            writers: list[tuple[int, Attention, Norm | None]] = []
            for position, moment in enumerate(space.moments):
                here = [attentions[m.weight] for m in moment.writers if m.weight in attentions]
                norm = offsets.get(here[0].value.weight) if here else None
                # Where nothing else ever looks, the writers' mean has this already.
                if here and not moment.constants and not space.centred(position) and (a.value_bias or norm):
                    writers.append((position, here[0], norm))
            for number, (position, sub, norm) in enumerate(writers):
                gap, involved = open_gap(a, graph, space, position), [(sub, norm, 1)]
                size = gap.size()[0]
                if gap.then is None and space.taken and number + 1 < len(writers):
                    # No bias comes: the next layer's values take away what these have written.
                    end, closing, its_norm = writers[number + 1]
                    gap.moments = space.moments[position:end]
                    involved.append((closing, its_norm, -1))
                    size = 0 if gap.obstacles() else 1
                norms = [norm for moment in gap.moments for norm in moment.norms]
                if size and norms and all(norm.kind == "layer" for norm in norms):
                    found.append(self._site(a, gap, involved))
        return found

    def _site(self, a: Architecture, gap: Gap, writers: Sequence[tuple[Attention, Norm | None, int]]) -> Site:
        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            c = x * torch.ones(a.d_model, dtype=x.dtype, device=x.device)
            changed = gap.act(roles, c)
            for sub, norm, sign in writers:
                rows = stacked_output(a, roles, sub.output.weight) * written_scale(a)
                t = (sign * c.unsqueeze(0) @ inverse(rows.mT @ rows)) @ rows.mT  # the shortest t with t W_O = ±c
                changed |= with_values(roles, sub, norm, t.reshape(a.groups, a.d_v))
            return changed

        return Site(s.layer_of(writers[0][0].output.weight), Integer(1), 1, act, shifts(1))
