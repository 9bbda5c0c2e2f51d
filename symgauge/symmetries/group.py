"""The known symmetries of an architecture, in a fixed order, and the dimension they add up to."""

from __future__ import annotations

from sympy import Expr, Integer

from symgauge.architecture import Architecture
from symgauge.symmetries import symbols as s
from symgauge.symmetries.attention_biases import KeyBias, QueryKeyGains, QueryKeyScale, ValueBias
from symgauge.symmetries.base import Output, Symmetry, sum_over_layers
from symgauge.symmetries.constant_shifts import BiasCarry, BiasTrade, NormOffset, TableShift, ValueCarry
from symgauge.symmetries.embeddings import LogitShift, TiedNullDirection, TiedTokenShift, UnusedPositions, UnusedTypes
from symgauge.symmetries.feed_forward import GatedRescale, ReluRescale, RouterShift
from symgauge.symmetries.head_factors import QueryKey, ValueOutput
from symgauge.symmetries.head_mixing import HeadMixing
from symgauge.symmetries.norm_folds import MeanDirection, NormGain, NullDirection
from symgauge.symmetries.stream_maps import StreamMap, StreamScale
from symgauge.symmetries.stream_shear import StreamShear
from symgauge.symmetries.token_constants import TokenKeyShift, TokenValueShift
from symgauge.symmetries.value_level import ValueLevel
from symgauge.wiring import wire

REGISTRY: tuple[type[Symmetry], ...] = (
    QueryKey,
    ValueOutput,
    HeadMixing,
    KeyBias,
    ValueBias,
    QueryKeyGains,
    QueryKeyScale,
    GatedRescale,
    ReluRescale,
    RouterShift,
    NormGain,
    NullDirection,
    MeanDirection,
    NormOffset,
    BiasCarry,
    ValueCarry,
    ValueLevel,
    BiasTrade,
    UnusedTypes,
    UnusedPositions,
    TableShift,
    StreamMap,
    StreamScale,
    StreamShear,
    TokenKeyShift,
    TokenValueShift,
    TiedTokenShift,
    TiedNullDirection,
    LogitShift,
)
"""Every continuous family. Each counts the directions that those before it do not give."""

UNCHOSEN_EXPERT = "an expert may never be chosen, and is then free"


def families(a: Architecture, output: Output = "logits") -> list[Symmetry]:
    """The continuous families that act on an architecture, in the order in which they are counted."""
    return [family for family in (kind() for kind in REGISTRY) if family.applies(a, output)]


def table(a: Architecture, output: Output = "logits") -> dict[str, Expr]:
    """Dimension in letters by family name."""
    return {family.name: family.dimension(a) for family in families(a, output)}


def dimension(a: Architecture, output: Output = "logits") -> Expr:
    """Dimension of all known continuous symmetries, in letters (values: :func:`symbols.values`)."""
    return sum(table(a, output).values(), Integer(0)).expand()


def paper_dimension(a: Architecture) -> Expr:
    """What the gauge paper claims to be all: the query-key and value-output factors of every layer.

    h (d_k² + d_v²) per layer (Theorem 3.1), with g in place of h where heads share keys and values, and d_k in place of
    d_k² under rotary encoding (Corollary 3.4), whatever the angles.
    """
    copies = s.h if a.groups == a.heads else s.g
    sizes = [(s.d_k if encoding is not None else s.d_k**2) + s.d_v**2 for encoding in a.encodings]
    return sum_over_layers(a, [(layer, copies * size) for layer, size in enumerate(sizes)])


def limits(a: Architecture) -> list[str]:
    """Why the fibre of this architecture may be larger than the known families: one sentence per reason, often none.

    The counts are for models in general position whose sizes are not degenerate. The cases below are known to have
    further directions. Published models meet four of them. With piecewise activations and experts it depends on the
    point. In DeepSeek-V3's first layer a norm over a latent of q = 1,536 channels leaves q (q + 1) / 2 + 1 forms and
    scales, of which 129,280 tokens fix one each. In GPT-NeoX-20B's first layer d² − 1 + d_ff (2 d − 1) numbers, some
    340 million, face d − 1 equations for each of 50,432 tokens, some 310 million.
    """
    latent = 0 if a.latent is None else max(a.latent.query, a.latent.key_value)
    hidden = a.d_ff if a.experts is None else 2 * a.experts.d_ff * (a.experts.count + a.experts.shared)
    # A linear map of what the first layer reads and the feed-forward's weights, against what each token must keep.
    maps, seen = hidden * ((3 if a.gated else 2) * a.d_model + 1), a.d_model - (a.norm == "layer")
    tables_alone = a.is_model and not a.position_table
    reasons = {
        "the vocabulary is not larger than the stream, so tokens do not act as general vectors": (
            a.is_model and a.vocabulary <= a.d_model
        ),
        "queries, keys and values with biases take up a constant added to the rows of a table of d_model + 1 tokens": (
            tables_alone
            and a.vocabulary == a.d_model + 1
            and a.norm == "rms"
            and a.query_bias
            and a.key_bias
            and a.value_bias
        ),
        "the first layer's latent norm sees one vector per token, too few to fix a quadratic form of the latent": (
            tables_alone
            and a.latent is not None
            and a.vocabulary <= max(latent * (latent + 1), 2 * a.d_model + latent) // 2
        ),
        "head channels wider than the latent that they are made from leave parts of the next map unseen": (
            a.latent is not None
            and (a.d_v > a.latent.key_value or a.d_k - a.latent.d_rope > min(a.latent.query, a.latent.key_value))
        ),
        "the first layer's feed-forward sees one vector per token, too few to fix what it adds and what it reads": (
            tables_alone and a.placement.startswith("parallel") and a.vocabulary * seen < a.d_model**2 + maps
        ),
        "sequences (or windows) of one or two positions do not show all of attention": (
            a.context < 3 or any(0 < window < 3 for window in a.windows)
        ),
        "a neuron of a ReLU layer may be on (or off) for all inputs, and then has more freedom": (
            a.activation in ("relu", "relu2") and (a.d_ff > 0 or a.experts is not None)
        ),
        "a norm that reads nothing but the token table can have its effect written into the table": (
            tables_alone
            and a.norm != "none"
            # A tied table is read by the head as well, which holds it, unless tokens are few.
            and (not a.residual or (a.embedding_norm and (not a.tied or a.vocabulary <= a.d_model + 1)))
        ),
        "a norm that reads only another norm's result adds freedom of scales per channel": (
            a.norm != "none" and a.placement == "post" and (a.final_norm or not a.residual)
        ),
        "without a residual stream narrow layers leave parts of what they read unseen": not a.residual and a.layers > 1,
        "without norms and output biases, constants pass through values into the next bias": (
            a.norm == "none" and not a.output_bias and (a.value_bias or a.ff_bias)
        ),
        "with just two LayerNorms on a Post-LN stream the inner gain may move along one isospectral curve": (
            a.norm == "layer" and a.placement == "post" and len(wire(a).steps) + a.embedding_norm == 2
        ),
        UNCHOSEN_EXPERT: a.experts is not None,
        "an output norm behind fewer than about √(2 d_model) inner channels does not see all of its gain": (
            a.placement in ("sandwich", "output") and min(a.heads * a.d_v, a.d_ff or a.d_model) ** 2 < 2 * a.d_model
        ),
        "keys or values that heads share and that are wider than the stream leave room to each of these heads": (
            a.groups < a.heads and max(a.d_k, a.d_v) > a.d_model
        ),
        "a query or key norm over a single channel leaves only signs": a.qk_norm and a.d_k == 1,
    }
    return [reason for reason, met in reasons.items() if met]
