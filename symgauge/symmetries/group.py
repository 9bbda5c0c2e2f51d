"""The known symmetries of an architecture, in a fixed order, and the dimension they add up to."""

from __future__ import annotations

from sympy import Expr, Integer

from symgauge.architecture import Architecture
from symgauge.symmetries import symbols as s
from symgauge.symmetries.attention_biases import KeyBias, QueryKeyGains, QueryKeyScale, ValueBias
from symgauge.symmetries.base import Output, Symmetry
from symgauge.symmetries.constant_shifts import BiasCarry, BiasTrade, NormOffset, TableShift
from symgauge.symmetries.embeddings import LogitShift, TiedNullDirection, TiedTokenShift, UnusedTypes
from symgauge.symmetries.feed_forward import GatedRescale, ReluRescale, RouterShift
from symgauge.symmetries.head_factors import QueryKey, ValueOutput
from symgauge.symmetries.head_mixing import HeadMixing
from symgauge.symmetries.norm_folds import MeanDirection, NormGain, NullDirection
from symgauge.symmetries.stream_maps import StreamMap, StreamScale

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
    BiasTrade,
    UnusedTypes,
    TableShift,
    StreamMap,
    StreamScale,
    TiedTokenShift,
    TiedNullDirection,
    LogitShift,
)
"""Every continuous family. Each counts the directions that those before it do not give."""


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
    return s.L * copies * ((s.d_k if a.rotary is not None else s.d_k**2) + s.d_v**2)
