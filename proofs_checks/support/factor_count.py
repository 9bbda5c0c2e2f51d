"""The dimension of the query-key and value-output factors of every layer, which "Maximal Gauge Symmetry" claims to be
all that is free."""

from __future__ import annotations

from sympy import Expr

from symgauge.architecture import Architecture
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import sum_over_layers


def factor_count(a: Architecture) -> Expr:
    """h (d_k² + d_v²) per layer (Theorem 3.1, Corollary 3.7).

    With g in place of h where heads share keys and values, and d_k in place of d_k² under rotary encoding
    (Corollary 3.4), whatever the angles.
    """
    copies = s.h if a.groups == a.heads else s.g
    sizes = [(s.d_k if encoding is not None else s.d_k**2) + s.d_v**2 for encoding in a.encodings]
    return sum_over_layers(a, [(layer, copies * size) for layer, size in enumerate(sizes)])
