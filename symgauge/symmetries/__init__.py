"""Families of parameter maps that keep the function of a transformer, and the group they generate together."""

from symgauge.symmetries.base import DiscreteSymmetry, Output, Site, Symmetry
from symgauge.symmetries.group import REGISTRY, dimension, families, limits, paper_dimension, table

__all__ = [
    "REGISTRY",
    "DiscreteSymmetry",
    "Output",
    "Site",
    "Symmetry",
    "dimension",
    "families",
    "limits",
    "paper_dimension",
    "table",
]
