"""The known symmetries of an architecture, the dimension they add up to, and where more is free than that."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import Expr, Integer

from symgauge.architecture import Architecture
from symgauge.symmetries import degenerate_architectures, first_layer
from symgauge.symmetries.base import DiscreteSymmetry, Output, Symmetry
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.finding import continuous_families, finite_families


def families(a: Architecture, output: Output = "logits") -> list[Symmetry]:
    """The continuous families that act on an architecture, in the order in which they are counted."""
    return [family for family in (kind() for kind in continuous_families()) if family.applies(a, output)]


def discrete_families(a: Architecture, output: Output = "logits") -> list[DiscreteSymmetry]:
    """The finite families that act on an architecture."""
    return [family for family in (kind() for kind in finite_families()) if family.applies(a, output)]


def table(a: Architecture, output: Output = "logits") -> dict[str, Expr]:
    """Dimension in letters by family name."""
    return {family.name: family.dimension(a) for family in families(a, output)}


def dimension(a: Architecture, output: Output = "logits") -> Expr:
    """Dimension of all known continuous symmetries, in letters (values: :func:`symbols.values`)."""
    return sum(table(a, output).values(), Integer(0)).expand()


def every_degenerate_case() -> Iterator[DegenerateCase]:
    """All that are known: of each family, of first layers, and of whole architectures."""
    for kind in (*continuous_families(), *finite_families()):
        yield from kind.degenerate_cases
    yield from first_layer.DEGENERATE_CASES
    yield from degenerate_architectures.DEGENERATE_CASES


def degenerate_cases(a: Architecture) -> list[str]:
    """Why the fibre of this architecture may be larger than the known families: one clause per reason, often none.

    The counts are for models in general position whose sizes are not degenerate. Published models meet four of the
    cases. With piecewise activations and experts it depends on the point. In DeepSeek-V3's first layer a norm over a
    latent of q = 1,536 channels leaves q (q + 1) / 2 + 1 forms and scales, of which 129,280 tokens fix one each. In
    GPT-NeoX-20B's first layer d² − 1 + d_ff (2 d − 1) numbers, some 340 million, face d − 1 equations for each of
    50,432 tokens, some 310 million.
    """
    return [case.reason for case in every_degenerate_case() if case.met(a)]
