"""Families of parameter maps that keep the function of a transformer, and the group they generate together."""

from symgauge.symmetries.base import DiscreteSymmetry, Family, Output, Site, Symmetry
from symgauge.symmetries.group import degenerate_cases, dimension, discrete_families, families, table

__all__ = [
    "DiscreteSymmetry",
    "Family",
    "Output",
    "Site",
    "Symmetry",
    "degenerate_cases",
    "dimension",
    "discrete_families",
    "families",
    "table",
]
