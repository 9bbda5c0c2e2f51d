"""What may be done to a BERT encoder, whose result is its last hidden state, and what may not."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tests.pairs.pair import Shape, Tensors, by_head, drawn, invertible

TOKENS, POSITIONS = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"
AT = 1
"""The layer that mistakes are made in."""


def layer(index: int, name: str) -> str:
    """The name of a layer's tensor, from "key.weight", "attention.output.dense.bias", "output.dense.weight", …"""
    part = "attention.self." if name.split(".")[0] in ("query", "key", "value") else ""
    return f"encoder.layer.{index}.{part}{name}"


def change_heads(w: Tensors, i: int, name: str, heads: int, change: Callable[[int, Tensor], Tensor]) -> None:
    """Every head's rows (d, …) of a weight and of its bias."""
    for kind in ("weight", "bias"):
        x = by_head(w[layer(i, f"{name}.{kind}")], heads)
        w[layer(i, f"{name}.{kind}")] = torch.stack([change(h, x[h]) for h in range(heads)]).flatten(0, 1)


def mix_keys(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """Queries x W A + b A, keys by A⁻ᵀ."""
    for i in range(shape.layers):
        a = [invertible(generator, shape.width // shape.heads) for _ in range(shape.heads)]
        change_heads(w, i, "query", shape.heads, lambda h, x, a=a: a[h].mT @ x)
        change_heads(w, i, "key", shape.heads, lambda h, x, a=a: torch.linalg.inv(a[h]) @ x)


def mix_values(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    for i in range(shape.layers):
        c = [invertible(generator, shape.width // shape.heads) for _ in range(shape.heads)]
        change_heads(w, i, "value", shape.heads, lambda h, x, c=c: c[h].mT @ x)
        name = layer(i, "attention.output.dense.weight")
        o = by_head(w[name].mT, shape.heads)
        w[name] = (
            torch.stack([torch.linalg.solve(c[h], o[h]) for h in range(shape.heads)]).flatten(0, 1).mT.contiguous()
        )


def renumber_heads(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    for i in range(shape.layers):
        order = torch.randperm(shape.heads, generator=generator)
        for name in ("query", "key", "value"):
            for kind in ("weight", "bias"):
                full = layer(i, f"{name}.{kind}")
                w[full] = by_head(w[full], shape.heads)[order].flatten(0, 1)
        full = layer(i, "attention.output.dense.weight")
        w[full] = by_head(w[full].mT, shape.heads)[order].flatten(0, 1).mT.contiguous()


def renumber_neurons(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    for i in range(shape.layers):
        order = torch.randperm(len(w[layer(i, "intermediate.dense.bias")]), generator=generator)
        for kind in ("weight", "bias"):
            w[layer(i, f"intermediate.dense.{kind}")] = w[layer(i, f"intermediate.dense.{kind}")][order]
        w[layer(i, "output.dense.weight")] = w[layer(i, "output.dense.weight")][:, order]


def move_biases(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """A key bias that softmax does not see, and the value bias, which weights that add to one carry to the output."""
    for i in range(shape.layers):
        w[layer(i, "key.bias")] = w[layer(i, "key.bias")] + drawn(generator, shape.width)
        o, v = layer(i, "attention.output.dense"), layer(i, "value.bias")
        w[f"{o}.bias"] = w[f"{o}.bias"] + w[f"{o}.weight"] @ w[v]
        w[v] = torch.zeros_like(w[v])


def move_tables(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """A vector from every position to every token, and a constant along 1 that the embedding's LayerNorm removes."""
    moved = 0.02 * drawn(generator, shape.width)
    w[TOKENS] = w[TOKENS] + moved + 0.02 * drawn(generator, len(w[TOKENS]), 1)
    w[POSITIONS] = w[POSITIONS] - moved


GAUGES = (mix_keys, mix_values, renumber_heads, renumber_neurons, move_biases, move_tables)


def invert_without_transposing(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """Queries by A, keys by A⁻¹ in place of A⁻ᵀ, in one layer."""
    a = [invertible(generator, shape.width // shape.heads) for _ in range(shape.heads)]
    change_heads(w, AT, "query", shape.heads, lambda h, x: a[h].mT @ x)
    change_heads(w, AT, "key", shape.heads, lambda h, x: torch.linalg.inv(a[h]).mT @ x)


def renumber_keys_alone(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    for kind in ("weight", "bias"):
        full = layer(AT, f"key.{kind}")
        w[full] = by_head(w[full], shape.heads).roll(1, 0).flatten(0, 1)


def lose_value_bias(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    w[layer(AT, "value.bias")] = torch.zeros_like(w[layer(AT, "value.bias")])


def exchange_queries_and_keys(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    for kind in ("weight", "bias"):
        q, k = layer(AT, f"query.{kind}"), layer(AT, f"key.{kind}")
        w[q], w[k] = w[k], w[q]


def renumber_neurons_without_bias(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    bias = w[layer(AT, "intermediate.dense.bias")]
    renumber_neurons(w, shape, generator)
    w[layer(AT, "intermediate.dense.bias")] = bias


def merge_adapter(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """An update of rank 2, a tenth of the matrix in size."""
    name = layer(AT, "value.weight")
    update = drawn(generator, shape.width, 2) @ drawn(generator, 2, shape.width)
    w[name] = w[name] + 0.1 * torch.linalg.norm(w[name]) / torch.linalg.norm(update) * update


def perturb_neuron(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    name = layer(AT, "output.dense.weight")
    w[name] = w[name].clone()
    w[name][1, 2] += 10 * w[name].square().mean().sqrt()


def gains_more_one(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    """γ + 1 stored where the model computes with γ."""
    name = layer(AT, "attention.output.LayerNorm.weight")
    w[name] = w[name] + 1
