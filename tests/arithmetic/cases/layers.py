"""Attention, normalisations and recurrent nets, as functions and as modules of torch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from tests.arithmetic.cases.inputs import CONSTANT, MASK, Case, module, seeded


def heads(x: Tensor, count: int) -> Tensor:
    """(2, 3, 4) → (2, count, 3, 2)."""
    return (x @ seeded((4, 2 * count), count)).unflatten(-1, (count, 2)).transpose(1, 2)


def sdpa(**options: Any) -> Case:
    def run(x: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(heads(x, 2), heads(x, 2), heads(x, 2) * 3, **options)

    return run


def grouped_queries(x: Tensor) -> Tensor:
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(heads(x, 4), heads(x, 2), heads(x, 2), is_causal=True, enable_gqa=True)


def mha(**options: Any) -> Case:
    given = {k: options.pop(k) for k in ("attn_mask", "key_padding_mask", "need_weights", "is_causal") if k in options}
    kdim, vdim = options.get("kdim", 4), options.get("vdim", 4)

    def call(m: nn.Module, x: Tensor) -> Tensor:
        out, weights = m(x, x[..., :kdim] * 2, x[..., :vdim] + 1, **given)
        return out if weights is None else torch.cat([out, weights.sum(-1, keepdim=True)], -1) * weights[..., :1]

    return module(lambda: nn.MultiheadAttention(4, 2, batch_first=True, **options), call)


def encoder(x: Tensor, **options: Any) -> Tensor:
    return module(lambda: nn.TransformerEncoderLayer(4, 2, 6, 0.0, batch_first=True, **options))(x)


def decoder(m: nn.Module, x: Tensor) -> Tensor:
    return m(x, x * 2, tgt_mask=nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64))


CASES: dict[str, Case] = {
    # attention as torch has it
    "sdpa": sdpa(),
    "sdpa causal": sdpa(is_causal=True),
    "sdpa bool mask": sdpa(attn_mask=MASK[:, :3]),
    "sdpa float mask": sdpa(attn_mask=CONSTANT[0, :, :3]),
    "sdpa scale": sdpa(scale=0.3),
    "sdpa grouped queries": grouped_queries,
    "sdpa without choosing a kernel": lambda x: F.scaled_dot_product_attention(
        x[None], x[None], x[None], is_causal=True
    ),
    "mha": mha(),
    "mha no weights": mha(need_weights=False),
    "mha masks": mha(attn_mask=~torch.ones(3, 3, dtype=torch.bool).tril(), key_padding_mask=MASK[:2, 1:] & False),
    "mha padding": mha(key_padding_mask=torch.tensor([[False, False, True], [False, True, False]])),
    "mha float mask": mha(attn_mask=CONSTANT[0, :, :3]),
    "mha causal": mha(
        attn_mask=nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64),
        is_causal=True,
        need_weights=False,
    ),
    "mha bias_kv": mha(add_bias_kv=True),
    "mha zero_attn": mha(add_zero_attn=True, bias=False),
    "mha kdim vdim": mha(kdim=3, vdim=2),
    "encoder": encoder,
    "encoder norm first": lambda x: encoder(x, norm_first=True, activation="gelu", bias=False),
    "decoder": module(lambda: nn.TransformerDecoderLayer(4, 2, 6, 0.0, batch_first=True), decoder),
    # normalisations
    "group_norm": lambda x: F.group_norm(x.reshape(2, 4, 3), 2, x[0, 0], x[1, 1], 0.1),
    "batch_norm": lambda x: F.batch_norm(
        x, CONSTANT[0, 0, :3], CONSTANT[0, 1, :3].abs(), x[0, :, 0], x[1, :, 1], eps=0.1
    ),
    "batch statistics": lambda x: F.batch_norm(x, None, None, training=True),
    "batch norm by its newer names": lambda x: (
        torch.ops.aten._native_batch_norm_legit(x, None, None, True, 0.1, 0.1)[0]
        + torch.ops.aten._native_batch_norm_legit(x, None, None, CONSTANT[0, :, 0], CONSTANT[0, :, 1], False, 0.1, 0.9)[
            0
        ]
        + torch.ops.aten._native_batch_norm_legit_no_training(
            x, None, None, CONSTANT[0, :, 0], CONSTANT[0, :, 1], 0.1, 0.9
        )[0]
    ),
    "instance_norm": lambda x: F.instance_norm(x, weight=x[0, :, 0], bias=x[0, :, 1]),
    "local_response_norm": lambda x: F.local_response_norm(x, 2),
    "weight_norm": module(lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))),
    "weight_norm of x": lambda x: torch._weight_norm(x, x[:, :1, :1], 0) + torch._weight_norm(x, x[:1, :1], 2),
    "weight_norm as it was": module(lambda: nn.utils.weight_norm(nn.Linear(4, 3))),
    "spectral_norm": module(lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))),
    "spectral_norm as it was": module(lambda: nn.utils.spectral_norm(nn.Linear(4, 3))),
    # recurrent nets
    "rnn": module(
        lambda: nn.RNN(4, 3, 2, batch_first=True, bidirectional=True),
        lambda m, x: m(x, (x[:1, :1, :3] * 0).expand(4, 2, 3))[0],
    ),
    "lstm": module(
        lambda: nn.LSTM(4, 3, 2, batch_first=True, proj_size=2),
        lambda m, x: m(x, (x[:1, :1, :2].expand(2, 2, 2), x[:1, :1, :3].expand(2, 2, 3)))[0],
    ),
    "gru": module(
        lambda: nn.GRU(4, 3, batch_first=True), lambda m, x: m(x, x[:1, :2, :3])[0] * m(x, x[:1, :2, :3])[1].sum()
    ),
    "cells": module(lambda: nn.LSTMCell(4, 4), lambda m, x: m(x[0], m(x[1], (x[0], x[1])))[0]),
    "gru cell": module(lambda: nn.GRUCell(4, 4), lambda m, x: m(x[0], x[1])),
    "rnn cell": module(lambda: nn.RNNCell(4, 4, nonlinearity="relu"), lambda m, x: m(x[0], x[1])),
}
