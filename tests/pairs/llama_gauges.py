"""What may be done to a LLaMA without changing its function. Linear layers compute x Wᵀ with W (out, in)."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.pairs.pair import Shape, Tensors, by_head, drawn, invertible, orthogonal

EMBEDDING, HEAD, FINAL = "model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"


def layer(index: int, name: str) -> str:
    """The name of a layer's tensor: "q_proj", "up_proj", "input_layernorm", …"""
    part = "" if "norm" in name else "self_attn." if name[0] in "qkvo" else "mlp."
    return f"model.layers.{index}.{part}{name}.weight"


READERS = {"input_layernorm": ("q_proj", "k_proj", "v_proj"), "post_attention_layernorm": ("gate_proj", "up_proj")}
WRITERS = ("o_proj", "down_proj")


def fold_inner_norms(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    """γ of every layer's norms into the columns of what reads them."""
    for i in range(shape.layers):
        for norm, readers in READERS.items():
            for reader in readers:
                w[layer(i, reader)] = w[layer(i, reader)] * w[layer(i, norm)]
            w[layer(i, norm)] = torch.ones_like(w[layer(i, norm)])


def fold_final_norm(w: Tensors, shape: Shape, _: torch.Generator) -> None:
    """γ of the final norm into the head, which becomes a matrix of its own if it was tied."""
    w[HEAD] = w.get(HEAD, w[EMBEDDING]) * w[FINAL]
    w[FINAL] = torch.ones_like(w[FINAL])


def turn_stream(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """An orthogonal map of the stream, for which all norms must be folded."""
    q = orthogonal(generator, shape.width)
    for name in (EMBEDDING, HEAD):
        w[name] = w[name] @ q
    for i in range(shape.layers):
        for reader in (r for readers in READERS.values() for r in readers):
            w[layer(i, reader)] = w[layer(i, reader)] @ q
        for writer in WRITERS:
            w[layer(i, writer)] = q.mT @ w[layer(i, writer)]


def renumber_heads(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """Groups in another order, and the heads of every group."""
    for i in range(shape.layers):
        groups = torch.randperm(shape.groups, generator=generator)
        inside = torch.stack([torch.randperm(shape.shared, generator=generator) for _ in range(shape.groups)])
        heads = (groups[:, None] * shape.shared + inside).flatten()
        w[layer(i, "q_proj")] = by_head(w[layer(i, "q_proj")], shape.heads)[heads].flatten(0, 1)
        for name in ("k_proj", "v_proj"):
            w[layer(i, name)] = by_head(w[layer(i, name)], shape.groups)[groups].flatten(0, 1)
        w[layer(i, "o_proj")] = by_head(w[layer(i, "o_proj")].mT, shape.heads)[heads].flatten(0, 1).mT.contiguous()


def mix_values(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """A general matrix C on the values of every group, and its inverse on the outputs of the heads that share them."""
    for i in range(shape.layers):
        v = by_head(w[layer(i, "v_proj")], shape.groups)
        o = by_head(w[layer(i, "o_proj")].mT, shape.heads)
        for g in range(shape.groups):
            c = invertible(generator, v.shape[1])
            v[g] = c.mT @ v[g]
            for h in range(g * shape.shared, (g + 1) * shape.shared):
                o[h] = torch.linalg.solve(c, o[h])
        w[layer(i, "v_proj")], w[layer(i, "o_proj")] = v.flatten(0, 1), o.flatten(0, 1).mT.contiguous()


def planes(x: Tensor) -> Tensor:
    """(d, …) real → (d/2, …) complex: the two channels that rotary encoding turns together, c and c + d/2."""
    first, second = x.chunk(2)
    return torch.complex(first, second)


def channels(z: Tensor) -> Tensor:
    """The reverse of :func:`planes`."""
    return torch.cat([z.real, z.imag])


def mix_keys(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """A complex factor on every rotary plane: queries by z, keys by 1 / z̄."""
    for i in range(shape.layers):
        q, k = (by_head(w[layer(i, n)], m) for n, m in (("q_proj", shape.heads), ("k_proj", shape.groups)))
        for g in range(shape.groups):
            n = k.shape[1] // 2
            z = torch.polar(drawn(generator, n).clamp(-2, 2).div(2).exp(), drawn(generator, n))[:, None]
            k[g] = channels(planes(k[g]) / z.conj())
            for h in range(g * shape.shared, (g + 1) * shape.shared):
                q[h] = channels(planes(q[h]) * z)
        w[layer(i, "q_proj")], w[layer(i, "k_proj")] = q.flatten(0, 1), k.flatten(0, 1)


def renumber_neurons(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    for i in range(shape.layers):
        order = torch.randperm(len(w[layer(i, "up_proj")]), generator=generator)
        for name in ("gate_proj", "up_proj"):
            w[layer(i, name)] = w[layer(i, name)][order]
        w[layer(i, "down_proj")] = w[layer(i, "down_proj")][:, order]


def scale_neurons(w: Tensors, shape: Shape, generator: torch.Generator) -> None:
    """Any factor on a row of the up map, signs too, and its inverse on the column of the down map."""
    for i in range(shape.layers):
        factor = drawn(generator, len(w[layer(i, "up_proj")])).clamp(-2, 2).div(2).exp()
        factor[::3] *= -1
        w[layer(i, "up_proj")] = w[layer(i, "up_proj")] * factor[:, None]
        w[layer(i, "down_proj")] = w[layer(i, "down_proj")] / factor


FOLDED = (fold_inner_norms, fold_final_norm)
HEADS = (renumber_heads, mix_keys, mix_values)
NEURONS = (renumber_neurons, scale_neurons)
UNTIED = {"tie_word_embeddings": False}
