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
    """The continuous families that act on an architecture, in the order in which they are counted.

    Example:
        >>> import symgauge
        >>> from symgauge.symmetries import families
        >>> [family.name for family in families(symgauge.Architecture(d_model=4, heads=3, d_k=2, d_v=2))]
        ['query-key', 'value-output']
    """
    return [family for family in (kind() for kind in continuous_families()) if family.applies(a, output)]


def discrete_families(a: Architecture, output: Output = "logits") -> list[DiscreteSymmetry]:
    """The finite families that act on an architecture.

    Example:
        >>> import symgauge
        >>> from symgauge.symmetries import discrete_families
        >>> [family.name for family in discrete_families(symgauge.Architecture(d_model=4, heads=3, d_k=2, d_v=2))]
        ['head-permutation']
    """
    return [family for family in (kind() for kind in finite_families()) if family.applies(a, output)]


def table(a: Architecture, output: Output = "logits") -> dict[str, Expr]:
    """Dimension in letters by family name.

    Example:
        >>> import symgauge
        >>> from symgauge.symmetries import table
        >>> table(symgauge.Architecture(d_model=4, heads=3, d_k=2, d_v=2, residual=False))
        {'query-key': L*d_k**2*g, 'value-output': L*d_v**2*g}
    """
    return {family.name: family.dimension(a) for family in families(a, output)}


def dimension(a: Architecture, output: Output = "logits") -> Expr:
    """Dimension of all known continuous symmetries, in letters (values: :func:`symbols.values`).

    Example:
        >>> import symgauge
        >>> from symgauge.symmetries import dimension, symbols
        >>> a = symgauge.Architecture(d_model=4, heads=2, d_k=3, d_v=2, residual=False)
        >>> dimension(a), dimension(a).subs(symbols.values(a))
        (L*d_k**2*g + L*d_v**2*g, 26)
    """
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

    Example:
        >>> import symgauge
        >>> from symgauge.symmetries import degenerate_cases
        >>> a = symgauge.Architecture(d_model=4, heads=2, d_k=3, d_v=2, d_ff=6)
        >>> degenerate_cases(a), len(degenerate_cases(a.replace(activation="relu")))
        ([], 1)
    """
    return [case.reason for case in every_degenerate_case() if case.met(a)]
