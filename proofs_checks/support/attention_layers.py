"""Attention layers of every kind as the algorithms see them, and what a layer computes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from symgauge.algorithms import AttentionParameters, random_attention
from symgauge.architecture import Architecture, Rotary
from symgauge.models.reference import forward
from symgauge.profiles import scale

ALL_BIASES = ("query_bias", "key_bias", "value_bias", "output_bias")
LAYERS: dict[str, dict[str, Any]] = {
    "plain": {"d_model": 9, "heads": 3, "d_k": 2, "d_v": 4},
    "shared": {"d_model": 11, "heads": 6, "groups": 2, "d_k": 3, "d_v": 2},
    "biases": {"d_model": 9, "heads": 4, "groups": 2, "d_k": 3, "d_v": 2, "biases": ALL_BIASES},
    "rotary": {"d_model": 13, "heads": 4, "groups": 2, "d_k": 6, "d_v": 3, "rotary": Rotary.standard(6)},
    "partly rotary": {"d_model": 13, "heads": 3, "d_k": 7, "d_v": 4, "rotary": Rotary.standard(4, unrotated=3)},
}
ABSOLUTE = ("plain", "shared", "biases")


def drawn_layers(*names: str) -> Iterator[tuple[AttentionParameters, int]]:
    """Layers of these kinds (all without any), several of each, with a seed for whatever else is drawn."""
    for name in names or tuple(LAYERS):
        for seed in range(scale(4, 20)):
            yield random_attention(**LAYERS[name], seed=seed), seed


def layer_outputs(p: AttentionParameters, inputs: Tensor, *, causal: bool = False) -> Tensor:
    """The reference module's outputs (B, T, d_model) at these parameters, without residual stream."""
    biases: dict[str, Any] = {name: name in p.tensors() for name in ALL_BIASES}
    a = Architecture(
        p.d_model, p.heads, p.d_k, p.d_v, groups=p.groups, rotary=p.rotary, residual=False, causal=causal, **biases
    )
    roles = {}
    for name, x in p.tensors().items():
        kind, _, bias = name.partition("_")
        roles[f"layers.0.attention.{kind}.{bias or 'weight'}"] = x
    return forward(a, roles, inputs)


def inputs_for(p: AttentionParameters, seed: int = 0, batch: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((batch, 5, p.d_model), generator=generator, dtype=torch.float64)


def relative_change_of_outputs(
    one: AttentionParameters, two: AttentionParameters, seed: int = 0, *, causal: bool = False
) -> float:
    """‖f₂ − f₁‖ / ‖f₁‖ on random inputs."""
    x = inputs_for(one, seed)
    before = layer_outputs(one, x, causal=causal)
    return float((layer_outputs(two, x, causal=causal) - before).norm() / before.norm())


def gaussian_like(p: AttentionParameters, seed: int) -> AttentionParameters:
    generator = torch.Generator().manual_seed(seed)
    return p.map(lambda x: torch.randn(x.shape, generator=generator, dtype=torch.float64))
