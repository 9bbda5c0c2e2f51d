"""The idealized autoregressive model in letters: parameters, symmetries, the true fibre, and what inputs it can tell
apart.

Embedding, L layers of attention (h heads of width d_k = d/h) and a ReLU network of width 4d, output projection; no
biases, norms or positions. Source: idealized paper, sections 3 and 4; the true dimensions are derived here.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp
from sympy.matrices.expressions.matexpr import MatrixExpr

from symgauge.errors import InvalidInput
from symgauge.symbolic.dimensions import Dimension, L, V, d, h
from symgauge.symbolic.functions import Entrywise, RowSoftmax
from symgauge.symbolic.identities import Identity
from symgauge.symbolic.words import Facts

T = sp.Symbol("T", integer=True, positive=True)
"""Length of the input."""


def parameters() -> Dimension:
    """P = 2 |V| d + L (4 d² + 2 d d_ff) with d_ff = 4d: the source's equation (1), tensor by tensor."""
    return Dimension(
        "parameters",
        (
            ("embedding", V * d),
            ("query, key, value, output", 4 * L * d * h * (d / h)),
            ("network", 2 * L * d * 4 * d),
            ("output projection", d * V),
        ),
    )


def listed() -> Dimension:
    """S = L (2 h d_k² + 4 d): the three families that the source lists, equations (2) to (5)."""
    head = (d / h) ** 2
    return Dimension(
        "listed symmetries",
        (("query–key", L * h * head), ("value–output", L * h * head), ("ReLU rescaling", 4 * L * d)),
    )


def ratio() -> sp.Expr:
    """ρ = S / P."""
    return sp.cancel(listed().total / parameters().total)


def fibre(*, residual: bool, embedding: bool = True, tokens_as_wide: bool = False) -> Dimension:
    """The least dimension of the fibre, attained on an open set, for |V| ≥ d ≥ 2.

    Each of the 2L + 1 gaps between a map that writes the stream and those that read it carries a GL(d); a residual
    stream makes them one. Without ``embedding`` (vectors are fed in) the first of them is gone.

    tokens_as_wide: the inputs are tokens (not vectors) and |V| = d, so that some u has E u = 1 and stands in for biases
    of the first layer; d_k directions per head for keys, and as many for values where a residual stream takes them.
    Tokens with |V| > d act like vectors.
    """
    gaps = (1 if residual else 2 * L + 1) - (0 if embedding else 1)
    parts = [*listed().parts, ("maps of the stream", gaps * d**2)]
    if tokens_as_wide:
        if not embedding:
            raise InvalidInput("fibre: tokens need the embedding; leave tokens_as_wide or embedding=False out.")
        parts.append(("common shift of the first keys", d))
        if residual:
            parts.append(("common shift of the tokens, through the first values", d))
    return Dimension(f"fibre, residual {'on' if residual else 'off'}", tuple(parts))


def narrow_output(*, residual: bool) -> sp.Expr:
    """What the fibre has beyond ``fibre(embedding=False)`` when vectors are fed in and |V| < d: the last network may
    write 4d (d − |V|) directions that the output projection does not read; without a residual stream the last GL(d) has
    d (d − |V|) of them already."""
    return sp.expand((4 * d if residual else 3 * d) * (d - V))


def classes(vocabulary: sp.Expr = V, length: sp.Expr = T) -> sp.Expr:
    """Inputs that one layer without positions tells apart at the last position: |V| · C(T + |V| − 2, |V| − 1).

    Pairs of a last token and a multiset of the T − 1 others, of which there are C((T − 1) + |V| − 1, |V| − 1).
    """
    return vocabulary * sp.binomial(length + vocabulary - 2, vocabulary - 1)


def left_null(vocabulary: sp.Expr = V, length: sp.Expr = T) -> sp.Expr:
    """Rows of the Jacobian of all |V| logits on all |V|^T inputs that repeat others: |V| (|V|^T − classes)."""
    return vocabulary * (vocabulary**length - classes(vocabulary, length))


def two_token_left_null(length: int, heads: int, groups: Sequence[Sequence[int]]) -> int:
    """|V| = 2, one layer, a residual stream: what the left null space has at least, by the ReLU patterns met.

    groups: for each of the two query tokens, how many of its T classes share each ReLU pattern. Where n of them share
    one, the two logits are A + Σ_i a_i B_i with the weights a_i = m s_i / (T − m + m s_i) that the heads give to the
    second token (m of T): 2 + 2h numbers for 2n rows, besides the h numbers s_i that all T classes have in common.
    """
    if any(sum(sizes) != length for sizes in groups) or len(groups) != 2:
        raise InvalidInput(f"two_token_left_null: each of two queries has {length} classes, not {groups}.")
    ranks = [min(2 * length, heads + sum(min(2 * n, 2 + 2 * heads) for n in sizes)) for sizes in groups]
    return int(2 * 2**length - sum(ranks))


def layer_symmetry(*, residual: bool) -> Identity:
    """One layer under the listed families and a map of each space it reads or writes: X M₀ goes to (layer of X) M₂.

    Two heads with their own factors and any mask; M₀ = M₁ = M₂ on a residual stream. Layer after layer, with E M₀
    before and M⁻¹ W_out behind, it is the invariance of the whole model for every L; more heads are more such terms.
    """
    n, head, wide = sp.symbols("n d_k d_ff", integer=True, positive=True)
    x, mask, up, down = _matrices(("X", n, d), ("N", n, n), ("W_1", d, wide), ("W_2", wide, d))
    first, middle, last = _matrices(*((f"M_{i}", d, d) for i in ((0, 0, 0) if residual else range(3))))
    scale = sp.MatrixSymbol("Λ", wide, wide)
    heads = [
        _matrices(
            (f"Q_{i}", d, head), (f"K_{i}", d, head), (f"V_{i}", d, head), (f"O_{i}", head, d),
            (f"A_{i}", head, head), (f"B_{i}", head, head),
        )
        for i in (1, 2)
    ]  # fmt: skip

    def layer(start: MatrixExpr, factors: list[tuple[MatrixExpr, ...]], w_1: MatrixExpr, w_2: MatrixExpr) -> MatrixExpr:
        written = [RowSoftmax(start * q * (start * k).T + mask) * start * v * o for q, k, v, o in factors]
        stream = sp.MatAdd(*([start] if residual else []), *written)
        network = Entrywise("relu", stream * w_1, "homogeneous") * w_2
        return stream + network if residual else network

    def turned(out: MatrixExpr, back: MatrixExpr) -> MatrixExpr:
        moved = [
            (first.I * q * a, first.I * k * a.I.T, first.I * v * b, b.I * o * middle) for q, k, v, o, a, b in heads
        ]
        return layer(x * first, moved, back * up * scale, scale.I * down * out)

    plain = layer(x, [factors[:4] for factors in heads], up, down)
    return Identity(
        f"idealized_layer_{'residual' if residual else 'plain'}",
        r"A layer under query–key, value–output and ReLU factors, and maps of the stream: "
        r"$f_{g\theta}(XM_0) = f_\theta(X)M_2$",
        plain * last,
        turned(last, middle.I),
        (plain * last, turned(last, sp.Identity(d))),
        "the network's first matrix not turned",
        Facts(positive=(scale,)),
    )


def _matrices(*described: tuple[str, sp.Expr, sp.Expr]) -> tuple[sp.MatrixSymbol, ...]:
    return tuple(sp.MatrixSymbol(*each) for each in described)
