"""A constant on the stream, added at one place and taken away at the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, ModelGraph
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.elements import shifts, vanishing
from symgauge.symmetries.examples import PLAIN, PRE_LN
from symgauge.symmetries.gaps import Gap, gaps, open_gap
from symgauge.symmetries.softmax import unseen_key_channels
from symgauge.symmetries.spaces import spaces, written_scale
from symgauge.symmetries.value_constants import stacked_output, through_heads


class _GapFamily(Symmetry):
    """Shifts across gaps; subclasses say which."""

    def opening(self) -> bool:
        raise NotImplementedError

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        found = []
        for space in spaces(a, graph):
            # Where only LayerNorms read, every constant moves along 1 alone: the writers' mean has that already.
            for position, gap in gaps(a, graph, space):
                count, size = (0, Integer(0)) if space.centred(position) else gap.size()
                if count and (gap.opening and space.source is not None) == self.opening():
                    layer = s.layer_of(space.moments[position].constants[0].roles[0])
                    found.append(Site(layer, size, count, _crossing(gap), shifts(count)))
        return found


def _crossing(gap: Gap) -> Callable[[Roles, Tensor], dict[str, Tensor]]:
    return lambda roles, x: gap.act(roles, gap.vector(roles, x))


class NormOffset(_GapFamily):
    name = "norm-offset"
    title = (
        "A norm's offset moves; the maps that read it take the constant back, in their biases or by the zero mean of "
        "LayerNorm's output, and in Post-LN models the next bias on the stream takes it away."
    )
    after = ("layernorm-output-mean", "layernorm-input-mean")
    example = PRE_LN

    def opening(self) -> bool:
        return True


class SuccessiveBiasShift(_GapFamily):
    name = "successive-bias-shift"
    title = (
        "A vector added to one bias (or table) on the residual stream is taken from the next one; what reads in "
        "between takes it back in its own bias, or does not see it."
    )
    after = ("layernorm-output-mean", "layernorm-input-mean")
    example = PLAIN.replace(output_bias=True, ff_bias=True)

    def opening(self) -> bool:
        return False


def _values_take_constants(a: Architecture) -> bool:
    """Whether a value bias can add or take a constant, or values hand one on to another space."""
    if a.norm != "none" or a.output_bias or a.attention != "softmax" or a.latent is not None:
        return False
    tables = a.is_model and (not a.tied or a.position_table or a.token_types > 0)
    room = _borne_by_scores(a) > 0 and (tables or a.layers > 1)
    if a.value_bias:
        return room or a.head_transform
    return not a.residual and room and (a.ff_bias or a.head_bias or a.head_transform)


def _borne_by_scores(a: Architecture) -> int:
    """Dimension of the constants that no query and no key of some layer shows."""
    queries = 0 if a.query_bias else a.heads * a.d_k
    seen = 0 if a.key_bias else min(a.d_k - len(unseen_key_channels(a, rotary)) for rotary in a.encodings)
    return max(0, a.d_model - queries - a.groups * seen)


def _offset_reaches_the_head(a: Architecture) -> bool:
    last = a.placement.startswith("parallel") or (a.placement == "pre" and not (a.d_ff or a.experts))
    constant = a.is_model and a.norm_offset and not (a.value_bias or a.output_bias)
    return last and constant and not a.final_norm and (a.head_bias or a.head_transform)


_OFFSET = PLAIN.replace(
    d_ff=0, d_v=1, vocabulary=23, norm="layer", norm_offset=True, placement="parallel_shared", head_bias=True
)


class SuccessiveValueBiasShift(Symmetry):
    name = "successive-value-bias-shift"
    title = (
        "Where attention has a value bias but nothing added with it, what the value bias writes is taken from the next "
        "bias on the stream, if everything that reads in between takes it back or does not see it."
    )
    after = ("value-bias",)
    example = PLAIN.replace(value_bias=True, ff_bias=True)
    degenerate_cases = (
        DegenerateCase(
            "without norms and output biases, constants pass between a value bias and the next or the last bias",
            _values_take_constants,
            example=PLAIN.replace(d_k=1, layers=2, value_bias=True),
            beside=PLAIN.replace(d_k=1, layers=2, value_bias=True, output_bias=True),
        ),
        DegenerateCase(
            "what values make of a LayerNorm's offset reaches the head with no norm between, and moves into its bias",
            _offset_reaches_the_head,
            example=_OFFSET,
            beside=_OFFSET.replace(final_norm=True),
        ),
    )

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        if a.attention != "softmax" or not a.value_bias:
            return []
        values = {sub.output.weight: sub.value.bias for sub in graph.sublayers() if isinstance(sub, Attention)}
        found = []
        for space in spaces(a, graph):
            for position, moment in enumerate(space.moments):
                outputs = [m.weight for m in moment.writers if m.weight in values]
                if outputs and not moment.constants:
                    gap = open_gap(a, graph, space, position)
                    if not any(moment.norms for moment in gap.moments):
                        found.append(self._site(a, gap, outputs[0], str(values[outputs[0]])))
        return [site for site in found if site.coordinates]

    def _site(self, a: Architecture, gap: Gap, output: str, bias: str) -> Site:
        # Beyond d_model directions, the output map kills the rest: those are counted with the value bias.
        total = a.groups * a.d_v
        rank, (borne, letters) = min(total, a.d_model), gap.size()
        blocked = a.d_model - borne
        count = max(0, rank - blocked)

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            y = x
            if blocked:
                rows = stacked_output(a, roles, output)[:rank]
                y = vanishing(x, rows @ torch.cat([gap.blocked_matrix(roles, r) for r in gap.obstacles()], dim=1))
            t = torch.cat([y, torch.zeros(total - rank, dtype=x.dtype, device=x.device)]).reshape(a.groups, a.d_v)
            written = through_heads(a, roles, output, t) * written_scale(a)
            return {**gap.act(roles, written), bias: roles[bias] + t}

        size = letters if rank == a.d_model else s.g * s.d_v + letters - s.d
        return Site(s.layer_of(output), size if count else Integer(0), count, act, shifts(count))
