"""Mistakes that change the function of a LLaMA, each in few tensors whose names are known."""

from __future__ import annotations

import torch

from tests.pairs.llama_gauges import EMBEDDING, FINAL, HEAD, WRITERS, channels, layer, planes
from tests.pairs.pair import Shape, Tensors, by_head, drawn

AT = 1
"""The layer that is broken."""


def subtract_means(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    """The mean over channels taken out of all that writes the stream, as if the norms were LayerNorms."""
    w[EMBEDDING] = w[EMBEDDING] - w[EMBEDDING].mean(1, keepdim=True)
    for i in range(shape.layers):
        for writer in WRITERS:
            w[layer(i, writer)] = w[layer(i, writer)] - w[layer(i, writer)].mean(0, keepdim=True)


def subtract_means_of_one_writer(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    w[layer(AT, "down_proj")] = w[layer(AT, "down_proj")] - w[layer(AT, "down_proj")].mean(0, keepdim=True)


def fold_into_tied_table(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    """γ of the final norm into a table that is also the embedding."""
    w[EMBEDDING] = w[EMBEDDING] * w[FINAL]
    w[FINAL] = torch.ones_like(w[FINAL])


def fold_by_dividing(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    """The final norm folded into the head the wrong way round."""
    w[HEAD] = w.get(HEAD, w[EMBEDDING]) / w[FINAL]
    w[FINAL] = torch.ones_like(w[FINAL])


def renumber_keys_alone(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    """Groups of keys exchanged, their values left where they are."""
    k = by_head(w[layer(AT, "k_proj")], shape.groups)
    w[layer(AT, "k_proj")] = k.roll(1, 0).flatten(0, 1)


def conjugate_keys(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """Queries by z and keys by 1 / z where it must be 1 / z̄: A⁻¹ in place of A⁻ᵀ."""
    q, k = (by_head(w[layer(AT, n)], m) for n, m in (("q_proj", shape.heads), ("k_proj", shape.groups)))
    for g in range(shape.groups):
        n = k.shape[1] // 2
        z = torch.polar(torch.ones(n, dtype=torch.float64), drawn(generator, n))[:, None]
        k[g] = channels(planes(k[g]) / z)
        for h in range(g * shape.shared, (g + 1) * shape.shared):
            q[h] = channels(planes(q[h]) * z)
    w[layer(AT, "q_proj")], w[layer(AT, "k_proj")] = q.flatten(0, 1), k.flatten(0, 1)


def gains_less_one(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    """γ − 1 stored, as for models that compute with 1 + γ."""
    name = layer(AT, "post_attention_layernorm")
    w[name] = w[name] - 1


def interleave(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    """Channels of queries and keys in the order in which planes are neighbours, unknown to the model."""
    for name, heads in (("q_proj", shape.heads), ("k_proj", shape.groups)):
        x = by_head(w[layer(AT, name)], heads).unflatten(1, (2, -1))
        w[layer(AT, name)] = x.transpose(1, 2).flatten(0, 2)


def lose_group(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    """The last group's keys and values are not there."""
    for name in ("k_proj", "v_proj"):
        x = by_head(w[layer(AT, name)], shape.groups)
        x[-1] = 0
        w[layer(AT, name)] = x.flatten(0, 1)


def merge_adapter(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """An update of rank 2, a tenth of the matrix in size."""
    name = layer(AT, "q_proj")
    update = drawn(generator, len(w[name]), 2) @ drawn(generator, 2, shape.width)
    w[name] = w[name] + 0.1 * torch.linalg.norm(w[name]) / torch.linalg.norm(update) * update


def perturb_neuron(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    """One number of one map, by ten times the typical size of its numbers."""
    name = layer(AT, "gate_proj")
    w[name] = w[name].clone()
    w[name][2, 1] += 10 * w[name].square().mean().sqrt()


def exchange_tokens(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    """Two rows of the head, which is a matrix of its own, the other way round."""
    w[HEAD] = w.get(HEAD, w[EMBEDDING]).clone()
    w[HEAD][[5, 6]] = w[HEAD][[6, 5]]


def renumber_down_alone(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """Neurons renumbered in the down map alone."""
    order = torch.randperm(w[layer(AT, "down_proj")].shape[1], generator=generator)
    w[layer(AT, "down_proj")] = w[layer(AT, "down_proj")][:, order]
