"""The count that the paper offers to accounts."""

from __future__ import annotations

from sympy import Expr

from proofs_checks.support.factor_count import factor_count
from symgauge.architecture import Architecture


def claimed(a: Architecture) -> Expr:
    """The query-key and value-output factors of every layer, whatever else the architecture has."""
    return factor_count(a)
