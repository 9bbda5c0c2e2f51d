"""A norm's gain against the maps that read the norm."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import ModelGraph, graph_of
from symgauge.symmetries.base import Roles, Site, Symmetry
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.elements import factors
from symgauge.symmetries.examples import POST_LN, RMS
from symgauge.symmetries.gains_and_maps import bias_moves_under_a_norm, output_norms_see_too_little
from symgauge.symmetries.no_residual import goes_on
from symgauge.symmetries.space import Space
from symgauge.symmetries.spaces import spaces, width_of


def _norm_of_a_norm(a: Architecture) -> bool:
    if a.norm == "none":
        return False
    seen_twice = a.final_norm and (a.is_model or a.norm == "rms" or a.epsilon_is_zero)
    after_stream = a.placement == "post" and (not a.residual or seen_twice)
    after_sublayer = a.placement in ("sandwich", "output") and not a.residual and goes_on(a)
    return after_stream or after_sublayer or (a.is_model and a.embedding_norm and not a.residual)


_LONE_UNIT = Architecture(
    2, 1, 1, 2, d_ff=1, context=3, activation="tanh", ff_bias=True, norm="rms", placement="output", epsilon=0.1
)


class NormGain(Symmetry):
    name = "norm-gain"
    title = "A norm's gain (and offset) is multiplied channel by channel and the rows of the maps that read it divided."
    source = (Cites("ashkboos2024slicegpt", "Section 3.2"),)
    example = RMS
    degenerate_cases = (
        DegenerateCase(
            "a norm that reads only another norm's result adds freedom of scales per channel",
            _norm_of_a_norm,
            example=POST_LN.replace(norm="rms", norm_offset=False, final_norm=True),
            beside=POST_LN.replace(norm="rms", norm_offset=False),
        ),
        DegenerateCase(
            "with just two LayerNorms on a Post-LN stream the inner gain may move along one isospectral curve",
            lambda a: (
                a.is_model
                and a.norm == "layer"
                and a.placement == "post"
                and len(graph_of(a).steps) + a.embedding_norm == 2
            ),
            example=POST_LN.replace(embedding_norm=False),
            beside=POST_LN,
        ),
        DegenerateCase(
            "an output norm behind fewer than about √(2 d_model) inner channels does not see all of its gain",
            output_norms_see_too_little,
            example=RMS.replace(placement="output", d_v=1),
            beside=RMS.replace(placement="output"),
        ),
        DegenerateCase(
            "under an output norm the bias of a lone tanh unit moves with the maps and gains behind it",
            bias_moves_under_a_norm,
            example=_LONE_UNIT,
            beside=_LONE_UNIT.replace(activation="silu"),
        ),
    )

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        return [self._site(a, space) for space in spaces(a, graph) if space.refoldable]

    def _site(self, a: Architecture, space: Space) -> Site:
        norm, readers = space.source, space.readers
        assert norm is not None

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            factor = 1 + x
            changed = {r.weight: roles[r.weight] / factor.unsqueeze(-1) for r in readers}
            changed[norm.gain] = roles[norm.gain] * factor
            if norm.offset is not None:
                changed[norm.offset] = roles[norm.offset] * factor
            return changed

        return Site(space.layer, width_of(a, norm), norm.width, act, factors(norm.width))
