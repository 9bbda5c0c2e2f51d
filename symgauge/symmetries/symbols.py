"""The letters in which dimension formulas are written, and their values for an architecture.

Formulas are polynomials in these sizes; ``expression.subs(values(architecture))`` gives the integer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sympy import Expr, Integer, Symbol, sympify

from symgauge.architecture import Architecture


def _size(name: str) -> Symbol:
    return Symbol(name, integer=True, positive=True)


L, h, g, d, d_k, d_v = (_size(name) for name in ("L", "h", "g", "d", "d_k", "d_v"))
d_ff, V, n_ctx, n_types = (_size(name) for name in ("d_ff", "V", "n_ctx", "n_types"))
experts, shared, d_e, dense, g_e = (_size(name) for name in ("n_e", "n_s", "d_e", "L_dense", "g_e"))
"""Routed experts, shared experts, their width, the number of layers before the first that has experts, and groups of
experts between which the router chooses."""
d_c, d_q, d_r = (_size(name) for name in ("d_c", "d_q", "d_r"))
"""Widths of the key/value latent and the query latent, and rotary channels, in multi-head latent attention."""
d_rot = _size("d_rot")
"""Rotated channels of a head."""


def values(a: Architecture) -> dict[Symbol, int]:
    """Every letter that has a value for this architecture."""
    result = {
        L: a.layers, h: a.heads, g: a.groups, d: a.d_model, d_k: a.d_k, d_v: a.d_v, d_ff: a.d_ff, V: a.vocabulary,
        n_ctx: a.context, n_types: a.token_types,
    }  # fmt: skip
    if a.experts is not None:
        e = a.experts
        result |= {experts: e.count, shared: e.shared, d_e: e.d_ff, dense: min(e.first, a.layers), g_e: e.groups}
    if a.latent is not None:
        result |= {d_c: a.latent.key_value, d_q: a.latent.query, d_r: a.latent.d_rope}
    rotated = {2 * len(encoding.turns) for encoding in a.encodings if encoding is not None}
    if rotated:
        result[d_rot] = rotated.pop()
    return result


def evaluate(expression: Expr, a: Architecture) -> int:
    """The value of a formula for an architecture."""
    return int(sympify(expression).subs(values(a)))


def shape(a: Architecture, role: str) -> tuple[Expr, ...]:
    """The shape of a role in letters."""
    latent_query = d_q if a.latent is not None and a.latent.query else d
    width = d_e if ".experts." in role or ".shared." in role else d_ff
    known: dict[str, tuple[Expr, ...]] = {
        "token_table": (V, d), "position_table": (n_ctx, d), "type_table": (n_types, d),
        "query.weight": (h, d, d_k), "key.weight": (g, d, d_k), "value.weight": (g, d, d_v),
        "output.weight": (h, d_v, d), "output.bias": (d,),
        "query_norm.gain": (d_k,) if a.latent is None else (latent_query,), "key_norm.gain": (d_k,),
        "key_value_norm.gain": (d_c,),
        "query_down.weight": (d, d_q), "query_nope.weight": (h, latent_query, d_k - d_r),
        "query_rope.weight": (h, latent_query, d_r), "key_value_down.weight": (d, d_c), "key_rope.weight": (d, d_r),
        "key_up.weight": (h, d_c, d_k - d_r), "value_up.weight": (h, d_c, d_v),
        "up.weight": (d, width), "gate.weight": (d, width), "down.weight": (width, d), "down.bias": (d,),
        "router.weight": (d, experts), "transform.weight": (d, d), "unembedding.weight": (d, V),
        "unembedding.bias": (V,),
    }  # fmt: skip
    suffix = ".".join(role.split(".")[-2:])
    if suffix in known:
        return known[suffix]
    if suffix.endswith(".bias"):
        *head, _, last = known[suffix.removesuffix("bias") + "weight"]
        return (*head, last)
    return (d,)


def total(terms: Iterable[tuple[str, Expr]]) -> Expr:
    """Sum of (role, count) in letters: the experts of a layer are counted once, times their number."""
    result: Expr = Integer(0)
    for role, count in terms:
        match = re.search(r"\.(experts|shared)\.(\d+)\.", role)
        if match is None:
            result += count
        elif match[2] == "0":
            result += count * (experts if match[1] == "experts" else shared)
    return result


def layer_of(role: str) -> int | None:
    """The layer a role belongs to, or None."""
    match = re.match(r"layers\.(\d+)\.", role)
    return int(match[1]) if match else None
