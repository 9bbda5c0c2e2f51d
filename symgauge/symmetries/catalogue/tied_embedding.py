"""Shifts of a token table that is also the unembedding."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Integer
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import ModelGraph
from symgauge.symmetries.base import Output, Roles, Site, Symmetry, Unseen
from symgauge.symmetries.elements import shifts
from symgauge.symmetries.examples import PRE_LN
from symgauge.symmetries.gaps import Gap
from symgauge.symmetries.space import Constant
from symgauge.symmetries.spaces import norm_before_head, spaces


def _token_gap(a: Architecture, graph: ModelGraph) -> tuple[Gap, Constant | None]:
    """What a shift of a tied token table meets on the stream, and another table that takes it back at once."""
    stream = spaces(a, graph)[0]
    token = Constant(("token_table",), True, a.embedding_scale)
    first, *later = stream.moments
    if first.constants:
        return Gap(a, graph, stream, token, first.constants[0], []), first.constants[0]
    gap = Gap(a, graph, stream, token, None, [first])
    for moment in later:
        if moment.constants:
            gap.then = moment.constants[0]
            break
        gap.moments.append(moment)
    return gap, None


class TiedEmbeddingShift(Symmetry):
    name = "tied-embedding-shift"
    title = (
        "A vector added to all rows of a tied token table moves all logits alike, which probabilities do not see; on "
        "the stream another table takes it back, or LayerNorms do not see it along 1."
    )
    after = ("layernorm-input-mean",)
    outputs = ("probabilities",)
    example = PRE_LN.replace(tied=True)

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        if not graph.tied or a.logit_softcap is not None:
            return []
        gap, _ = _token_gap(a, graph)
        count, size = gap.size()
        if count == 0:
            return []

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            return gap.act(roles, gap.vector(roles, x))

        return [Site(None, size, count, act, shifts(count))]

    def unseen_alone(self, a: Architecture, role: str) -> Unseen | None:
        if a.embedding_norm and not a.position_table:
            return Unseen("along **1** only LayerNorms would see it, and they do not")
        return super().unseen_alone(a, role)


class TiedLayerNormOutputMean(Symmetry):
    name = "tied-layernorm-output-mean"
    title = (
        "A tied token table read after a LayerNorm may move along 1/γ in all rows: logits change by a constant that "
        "the head bias takes back (none without an offset), and another table takes the shift off the stream."
    )
    after = ("tied-embedding-shift",)
    example = PRE_LN.replace(tied=True, head_bias=True)

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        return super().applies(a, output) and not (
            output == "probabilities" and TiedEmbeddingShift().applies(a, "probabilities")
        )

    def sites(self, a: Architecture, graph: ModelGraph) -> Sequence[Site]:
        if not graph.tied or graph.head is None:
            return []
        norm, bias = norm_before_head(a, graph), graph.head.unembedding.bias
        gap, _ = _token_gap(a, graph)
        if norm is None or norm.kind != "layer" or gap.size()[0] < a.d_model:
            return []
        if norm.offset is not None and bias is None:
            return []

        def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
            inverse = 1 / roles[norm.gain]
            changed = gap.act(roles, x * inverse)
            if norm.offset is not None and bias is not None:
                changed[bias] = roles[bias] - x / a.embedding_scale * (roles[norm.offset] * inverse).sum()
            return changed

        return [Site(None, Integer(1), 1, act, shifts(1))]
