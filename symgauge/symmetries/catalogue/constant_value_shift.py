"""A constant that attention reads from a Post-LN stream, and that its values take back before the next norm."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence

import torch
from sympy import Expr, Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.elements import shifts, vanishing
from symgauge.symmetries.examples import BLOCK
from symgauge.symmetries.gaps import Gap, gaps
from symgauge.symmetries.spaces import spaces, written_scale
from symgauge.symmetries.value_constants import stacked_output, with_values


class ConstantValueShift(Symmetry):
    name = "constant-value-shift"
    title = (
        "On a Post-LN stream without output biases a vector is added to a table or to a norm's offset, and the values "
        "(by their bias, or through 1/γ by that offset) take it away again, up to a multiple of **1** before a "
        "LayerNorm. Queries and keys take it back as they do for any constant, or it vanishes on them."
    )
    after = ("value-bias", "norm-offset", "successive-bias-shift")
    example = BLOCK.replace(layers=2, placement="post", output_bias=False)

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        if a.attention != "softmax" or a.latent is not None or a.placement != "post" or not a.residual:
            return []
        attentions = {sub.output.weight: sub for sub in graph.sublayers() if isinstance(sub, Attention)}
        found = []
        for space in spaces(a, graph):
            for position, gap in gaps(a, graph, space):
                after = space.moments[position + 1 :]
                subs = [attentions[m.weight] for moment in after for m in moment.writers if m.weight in attentions]
                movable = bool(subs) and (a.value_bias or gap.source is not None)
                if movable and gap.then is None and after[0].norms:
                    found.append(self._site(a, gap, subs[0], centred=space.centred(position + 1)))
        return [site for site in found if site.coordinates]

    def _site(self, a: Architecture, gap: Gap, sub: Attention, *, centred: bool) -> Site:
        counted = gap.size()[0]  # along 1, where no reader is an obstacle
        reading = Gap(a, gap.graph, gap.space, gap.first, None, gap.moments[:1], gap.opening)
        obstacles = reading.obstacles()
        lost = [reading.blocked(reader) for reader in obstacles]
        blocked = sum(number for number, _ in lost)
        values, level = a.groups * a.d_v, int(centred)
        rank = min(a.d_model, values + level)
        count = max(0, rank - counted - blocked)
        width: Expr = s.d if rank == a.d_model else s.g * s.d_v + level
        letters = width - counted - s.total((r.weight, size) for r, (_, size) in zip(obstacles, lost, strict=True))

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            written = stacked_output(a, roles, sub.output.weight) * written_scale(a)
            spanned = torch.cat([written, torch.ones_like(written[: level - counted])])[: count + blocked]
            y = x
            if obstacles:
                y = vanishing(x, spanned @ torch.cat([reading.blocked_matrix(roles, r) for r in obstacles], dim=1))
            changed = reading.act(roles, y @ spanned)
            t = torch.cat([-y[:values], torch.zeros(values - len(y[:values]), dtype=x.dtype, device=x.device)])
            now = ChainMap(changed, roles)  # type: ignore[arg-type]
            return changed | with_values(now, sub, gap.source, t.reshape(a.groups, a.d_v))

        layer = s.layer_of(sub.output.weight)
        return Site(layer, letters if count else Integer(0), count, act, shifts(count))
