"""Fibre-dimension formulas as SymPy expressions: derived by hand.

A formula is a `Dimension`: named parts that add up. The parts were found architecture by architecture, and are
written here without looking at the symmetry families, so that the two can be compared. Outputs are logits and every
norm has ε > 0 unless a flag says otherwise; points are generic; token sets and lengths are large enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import sympy as sp

from symgauge.errors import InvalidInput

h, g, d, d_k, d_v, d_ff, L, V, n_ctx = sp.symbols("h g d d_k d_v d_ff L V n_ctx", integer=True, positive=True)
SYMBOLS = {str(symbol): symbol for symbol in (h, g, d, d_k, d_v, d_ff, L, V, n_ctx)}


@dataclass(frozen=True)
class Dimension:
    """A named sum of parts."""

    name: str
    parts: tuple[tuple[str, sp.Expr], ...]

    @property
    def total(self) -> sp.Expr:
        return sp.expand(sum((part for _, part in self.parts), sp.S.Zero))

    def at(self, **sizes: int) -> int:
        """The number at given sizes, such as at(h=12, d_k=64). Raises InvalidInput for unknown or missing symbols."""
        unknown = sorted(set(sizes) - set(SYMBOLS))
        if unknown:
            raise InvalidInput(f"{self.name}: no symbol named {', '.join(unknown)}; known are {', '.join(SYMBOLS)}.")
        value = self.total.subs({SYMBOLS[name]: size for name, size in sizes.items()})
        if not value.is_Integer:
            missing = ", ".join(sorted(str(symbol) for symbol in value.free_symbols)) or f"none, yet it is {value}"
            raise InvalidInput(f"{self.name}: give every size it depends on (missing: {missing}).")
        return int(value)


def mha() -> Dimension:
    """Multi-head attention alone, no biases (n ≥ 3, full ranks, distinct heads)."""
    return Dimension("MHA", (("query–key GL(d_k)", h * d_k**2), ("value–output GL(d_v)", h * d_v**2)))


def mha_biased(*, output_bias: bool = True) -> Dimension:
    """With b_Q, b_K, b_V, and b_O if `output_bias`; without b_O only Σ b_V W_O is seen: max(0, h d_v − d) are free."""
    shift = h * d_v if output_bias else sp.Max(0, h * d_v - d)
    return Dimension("MHA with biases", (*mha().parts, ("key bias", h * d_k), ("value bias", shift)))


def gqa(*, commutant: sp.Expr | int | None = None) -> Dimension:
    """g key/value groups, no biases; `commutant` is the real dimension of the RoPE commutant (d_k if standard)."""
    query_key = d_k**2 if commutant is None else sp.sympify(commutant)
    return Dimension("grouped attention", (("query–key", g * query_key), ("value–output GL(d_v)", g * d_v**2)))


def feed_forward(activation: Literal["gelu", "silu", "tanh", "relu", "swiglu", "geglu"]) -> Dimension:
    """Continuous redundancy of a feed-forward network: one rescaling per neuron where there is one, else none."""
    rescaled = {"gelu": False, "silu": False, "tanh": False, "relu": True, "swiglu": True, "geglu": True}
    if activation not in rescaled:
        raise InvalidInput(f"feed_forward: activation {activation!r} is not one of {', '.join(rescaled)}.")
    return Dimension(f"{activation} network", (("neuron rescaling", d_ff if rescaled[activation] else sp.S.Zero),))


def pre_ln_block() -> Dimension:
    """One Pre-LN block with biases and GELU, residual in and residual out."""
    shared_constant = (("constant traded between b_O and b_2", sp.S.One),)
    return Dimension("Pre-LN block", (*mha_biased().parts, *_pre_ln_reader_parts(), *shared_constant))


def gpt2_model(*, tied: bool, output: str = "logits", epsilon: bool = True, positions: bool = True) -> Dimension:
    """Pre-LN, biases, GELU, learned positions, final LayerNorm, head without bias.

    output: 'logits' or 'probabilities'; epsilon: False means ε = 0 in every norm; positions: a learned table is added.
    """
    layer = (
        *mha_biased().parts,
        *_pre_ln_reader_parts(),
        ("centring of W_O, b_O", h * d_v + 1),
        ("centring of W_2, b_2", d_ff + 1),
    )
    parts = [(name, L * part) for name, part in layer]
    if positions:
        parts.append(("centring of the position table", n_ctx))
    if not tied:
        parts.append(("centring of the token table", V))
        if positions:
            parts.append(("shift between the tables", d - 1))
        parts += [
            ("final LayerNorm into the head", 2 * d),
            ("residual rotations that fix 1", (d - 1) * (d - 2) / 2),
        ]
    return Dimension(f"GPT-2-like, {'tied' if tied else 'untied'}", (*parts, *_global_parts(output, epsilon)))


def bert_model(*, epsilon: bool = True) -> Dimension:
    """Post-LN encoder with biases and GELU behind a normalised token table, untied head without bias."""
    layer = (
        *mha_biased().parts,
        ("offset of the norm before attention", d),
        ("null direction of W_Q, W_K, W_V", 2 * h * d_k + h * d_v),
        ("centring of W_O, b_O", h * d_v + 1),
        ("offset of the norm before the network", d),
        ("null direction of W_1", d_ff),
        ("centring of W_2, b_2", d_ff + 1),
    )
    parts = [(name, L * part) for name, part in layer]
    parts += [("centring of the token table", V), ("last LayerNorm into the head", 2 * d)]
    if not epsilon:
        parts.append(("scales between norms (ε = 0)", 2 * L + 1))
    return Dimension("BERT-like", tuple(parts))


def llama_model(*, tied: bool, output: str = "logits", epsilon: bool = True) -> Dimension:
    """RMSNorm, standard RoPE on all channels, g key/value groups, SwiGLU, no biases."""
    layer = (*gqa(commutant=d_k).parts, ("RMSNorm gains", 2 * d), ("SwiGLU rescaling", d_ff))
    parts = [(name, L * part) for name, part in layer]
    if not tied:
        parts += [("final gain into the head", d), ("residual rotations O(d)", d * (d - 1) / 2)]
    return Dimension(f"LLaMA-like, {'tied' if tied else 'untied'}", (*parts, *_global_parts(output, epsilon)))


def query_key_norm(*, epsilon: bool = True) -> Dimension:
    """Attention with normalised queries and keys, shared gains and RoPE: one scale per plane trades between the gains;
    with ε = 0 each W_Q and W_K may be scaled."""
    free = () if epsilon else (("scale of each W_Q and W_K (ε = 0)", h + g),)
    return Dimension("QK-norm attention", (("gains, per plane", d_k / 2), ("value–output GL(d_v)", g * d_v**2), *free))


def _pre_ln_reader_parts() -> tuple[tuple[str, sp.Expr], ...]:
    return (
        ("LayerNorm before attention", 2 * d),
        ("null direction of W_Q, W_K, W_V", 2 * h * d_k + h * d_v),
        ("LayerNorm before the network", 2 * d),
        ("null direction of W_1", d_ff),
    )


def _global_parts(output: str, epsilon: bool) -> tuple[tuple[str, sp.Expr], ...]:
    if output not in ("logits", "probabilities"):
        raise InvalidInput(f"output {output!r}: expected 'logits' or 'probabilities'.")
    shift = (("logit shift", d),) if output == "probabilities" else ()
    return (*shift, *(() if epsilon else (("scale of the residual stream (ε = 0)", sp.S.One),)))
