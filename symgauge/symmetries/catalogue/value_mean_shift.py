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
from symgauge.symmetries.gaps import Gap, gaps, open_gap
from symgauge.symmetries.spaces import spaces, written_scale
from symgauge.symmetries.value_constants import offsets_read, stacked_output, with_values

_Mover = tuple[Attention, Norm | None, int]
"""An attention whose values move, the norm that they read if they have no bias; 1 if they add, −1 if they take."""


class ValueMeanShift(Symmetry):
    name = "value-mean-shift"
    title = (
        "Values without an output bias beside them shift the stream's mean (by their bias, or through 1/γ by their "
        "LayerNorm's offset), which LayerNorms do not see; the next bias on the stream or the next layer's values "
        "shift it back, or they do so themselves with a bias, offset or table before them. Values must be as wide as "
        "the stream."
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
            values: dict[int, tuple[Attention, Norm | None]] = {}
            for position, moment in enumerate(space.moments):
                here = [attentions[m.weight] for m in moment.writers if m.weight in attentions]
                norm = offsets.get(here[0].value.weight) if here else None
                # Where nothing else ever looks, the writers' mean has this already.
                if here and not moment.constants and not space.centred(position) and (a.value_bias or norm):
                    values[position] = here[0], norm
            for position, gap in [*gaps(a, graph, space), *((i, open_gap(a, graph, space, i)) for i in values)]:
                movers = [] if gap.first is not None else [(*values[position], 1)]
                end = min((i for i in values if i > position), default=None)
                if gap.then is None and end is not None and not gap.size()[0]:
                    # No bias comes, and the mean is seen: the next layer's values take away what was added.
                    gap.moments = space.moments[position:end]
                    movers.append((*values[end], -1))
                    free = not gap.obstacles()
                else:
                    free = gap.size()[0] > 0
                kinds = {norm.kind for moment in gap.moments for norm in moment.norms}
                # From constant to constant other families count.
                if movers and free and kinds == {"layer"}:
                    found.append(self._site(a, gap, movers))
        return found

    def _site(self, a: Architecture, gap: Gap, movers: list[_Mover]) -> Site:
        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            c = x * torch.ones(a.d_model, dtype=x.dtype, device=x.device)
            changed = gap.act(roles, c)
            for sub, norm, sign in movers:
                rows = stacked_output(a, roles, sub.output.weight) * written_scale(a)
                t = (sign * c.unsqueeze(0) @ inverse(rows.mT @ rows)) @ rows.mT  # the shortest t with t W_O = ±c
                changed |= with_values(roles, sub, norm, t.reshape(a.groups, a.d_v))
            return changed

        return Site(s.layer_of(movers[0][0].output.weight), Integer(1), 1, act, shifts(1))
