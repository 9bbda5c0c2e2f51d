"""Small architectures on which families show themselves: sizes distinct, tokens enough to act as general vectors."""

from __future__ import annotations

from fractions import Fraction

from symgauge.architecture import Architecture, Latent, Rotary

BIASES = dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias", "ff_bias"), True)
ROTARY = Rotary((Fraction(1, 7),))
ATTENTION = Architecture(d_model=4, heads=2, d_k=2, d_v=3, context=3, residual=False)
"""One layer alone, vectors in and out."""
PLAIN = ATTENTION.replace(d_ff=5, vocabulary=17, residual=True)
"""A model of one layer without norms, biases and position encoding."""
PRE_LN = PLAIN.replace(norm="layer", norm_offset=True, final_norm=True, position_table=True, **BIASES)
BLOCK = PRE_LN.replace(vocabulary=0, position_table=False, final_norm=False)
POST_LN = PRE_LN.replace(placement="post", final_norm=False, embedding_norm=True, causal=False)
RMS = PLAIN.replace(norm="rms", final_norm=True, gated=True, activation="silu", rotary=ROTARY)
LATENT = RMS.replace(
    d_model=5, d_k=4, d_v=2, d_ff=3, vocabulary=11, context=4, latent=Latent(4, 3, d_rope=2),
    rotary=Rotary.standard(2, interleaved=True),
)  # fmt: skip
"""Multi-head latent attention."""
SHARED = ATTENTION.replace(d_model=3, heads=3, groups=1, d_k=2, d_v=2, context=4)
"""Heads that share keys and values."""
WIDE = ATTENTION.replace(d_model=2, d_v=2)
"""A stream narrower than heads are allowed to be."""
