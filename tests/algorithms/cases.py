"""Attention layers of every kind that the algorithms handle, sizes pairwise distinct."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from symgauge.algorithms import AttentionParameters, random_attention
from symgauge.architecture import Architecture, Rotary
from symgauge.models.reference import forward

BIASES = ("query_bias", "key_bias", "value_bias", "output_bias")
TWINS = Rotary(
    (Fraction(1, 3), Fraction(2, 3), Fraction(1, 5), Fraction(1, 2), Fraction(0)), unrotated=3, interleaved=True
)
"""Two planes turning oppositely, one alone, a half turn, a still plane, unrotated channels."""

KINDS: dict[str, dict[str, Any]] = {
    "plain": {"d_model": 9, "heads": 3, "d_k": 2, "d_v": 4},
    "shared": {"d_model": 11, "heads": 6, "groups": 2, "d_k": 3, "d_v": 2},
    "biases": {"d_model": 9, "heads": 4, "groups": 2, "d_k": 3, "d_v": 2, "biases": BIASES},
    "no output bias": {"d_model": 9, "heads": 4, "groups": 2, "d_k": 3, "d_v": 2, "biases": BIASES[:3]},
    "rotary": {"d_model": 13, "heads": 4, "groups": 2, "d_k": 6, "d_v": 3, "biases": BIASES[:3]}
    | {"rotary": Rotary.standard(6)},
    "partly rotary": {"d_model": 13, "heads": 4, "d_k": 7, "d_v": 3, "biases": BIASES}
    | {"rotary": Rotary.standard(4, unrotated=3)},
    "equal angles": {"d_model": 23, "heads": 4, "groups": 2, "d_k": 13, "d_v": 3, "biases": BIASES, "rotary": TWINS},
}
UNROTATED = [name for name, kind in KINDS.items() if "rotary" not in kind]


def layer(kind: str, seed: int = 0, dtype: torch.dtype = torch.float64) -> AttentionParameters:
    return random_attention(**KINDS[kind], seed=seed).map(lambda x: x.to(dtype))


def architecture(p: AttentionParameters) -> Architecture:
    """The architecture of a layer alone: vectors in and out, causal."""
    biases = {name: name in p.tensors() for name in BIASES}
    return Architecture(
        d_model=p.d_model,
        heads=p.heads,
        groups=p.groups,
        d_k=p.d_k,
        d_v=p.d_v,
        rotary=p.rotary,
        residual=False,
        **biases,
    )


def outputs(p: AttentionParameters, seed: int = 0) -> Tensor:
    """What the reference module computes with a layer's parameters, on five tokens."""
    roles = {}
    for name, x in p.tensors().items():
        kind, _, bias = name.partition("_")
        roles[f"layers.0.attention.{kind}.{bias or 'weight'}"] = x
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn((2, 5, p.d_model), generator=generator, dtype=torch.float64).to(p.query)
    return forward(architecture(p), roles, inputs)


def change(p: AttentionParameters, q: AttentionParameters) -> float:
    """Relative change of the function."""
    before, after = outputs(p), outputs(q)
    return float((after - before).norm() / before.norm())


def apart(p: AttentionParameters, q: AttentionParameters) -> float:
    """Relative distance of parameters."""
    return p.distance(q) / p.norm()
