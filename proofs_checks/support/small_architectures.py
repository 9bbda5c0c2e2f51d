"""Architectures small enough for exact ranks: attention alone, drawn ones by kind, stacks like GPT-2 and LLaMA."""

from __future__ import annotations

from random import Random
from typing import Any

from symgauge.architecture import Architecture, Rotary
from symgauge.model_graph import graph_of
from symgauge.strategies.kinds import KINDS
from symgauge.strategies.planner import Planner, choose_architecture

ALONE: dict[str, Any] = {"residual": False, "causal": False}
"""One attention layer on vectors, without residual stream or mask."""
BIASED: dict[str, Any] = dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias"), True)
"""Attention with all its biases."""
BIASES: dict[str, Any] = {**BIASED, "ff_bias": True}
EPSILON: dict[str, Any] = {"epsilon": 0.1}
"""A visible ε, so that in float64 too no scale symmetry is nearly there."""
BLOCK: dict[str, Any] = {"norm": "layer", "norm_offset": True, **BIASES, **EPSILON}
GPT2: dict[str, Any] = {**BLOCK, "final_norm": True, "position_table": True}
LLAMA: dict[str, Any] = {"norm": "rms", "final_norm": True, "gated": True, "activation": "silu", **EPSILON}
MANY: dict[str, Any] = {"vocabulary": 40}
"""Exact values of a stack need many tokens: every norm of a token needs a root in the field."""


def small(
    kind: str, count: int, *, budget: int, max_layers: int = 2, seed: int = 0, min_layers: int = 1, **fixed: Any
) -> list[Architecture]:
    """Different small architectures of a kind with pairwise distinct sizes and at most ``budget`` parameters."""
    rng = Random(seed)
    found: dict[str, Architecture] = {}
    planner = Planner(KINDS[kind], budget, fixed)
    for _ in range(100 * count):
        a = choose_architecture(planner, max_layers, rng.choice)
        if a is not None and a.layers >= min_layers:
            found.setdefault(repr(a), a)
        if len(found) == count:
            return list(found.values())
    raise AssertionError(f"only {len(found)} of {count} architectures of kind {kind!r} fit {budget} parameters")


def parameters(a: Architecture) -> int:
    return graph_of(a).parameters


def llama(d: int, h: int, g: int, d_k: int, d_v: int, d_ff: int, layers: int, **more: Any) -> Architecture:
    return Architecture(
        d, h, d_k, d_v, groups=g, d_ff=d_ff, layers=layers, rotary=Rotary.standard(d_k), **LLAMA,
        **({"vocabulary": 7, "context": 4} | more),
    )  # fmt: skip


def gpt2(d: int, h: int, d_k: int, d_v: int, d_ff: int, layers: int, **more: Any) -> Architecture:
    sizes = {"vocabulary": 7, "context": 6} | more
    return Architecture(d, h, d_k, d_v, d_ff=d_ff, layers=layers, **GPT2, **sizes)
