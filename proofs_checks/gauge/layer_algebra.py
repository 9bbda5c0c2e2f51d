"""Layers added, multiplied and differentiated as vectors of parameters."""

from __future__ import annotations

from torch import Tensor
from torch.func import grad

from proofs_checks.support.attention_layers import inputs_for, layer_outputs
from symgauge.algorithms import AttentionParameters


def average(one: AttentionParameters, two: AttentionParameters) -> AttentionParameters:
    return one.combine(two, lambda x, y: (x + y) / 2)


def inner(one: AttentionParameters, two: AttentionParameters) -> float:
    """⟨one, two⟩ over all parameters."""
    return float(sum((x * two.tensors()[name]).sum() for name, x in one.tensors().items()))


def gradient_of(p: AttentionParameters, seed: int = 0) -> AttentionParameters:
    """Gradient of a squared loss of a layer's outputs."""
    x = inputs_for(p, seed)

    def loss(tensors: dict[str, Tensor]) -> Tensor:
        return (layer_outputs(p.replace(**tensors), x) - 1).square().sum()

    return p.replace(**grad(loss)(p.tensors()))
