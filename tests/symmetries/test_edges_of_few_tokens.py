"""Conditions on how few tokens a first layer sees, at their edges."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from symgauge.architecture import Experts, Latent, Rotary
from tests.symmetries.evidence import Edge, assert_named_where_off

ONE_PLANE = Rotary((Fraction(1, 7),))

FORM: dict[str, Any] = {"norm": "rms", "vocabulary": 10}
EDGES: dict[str, Edge] = {
    f"a norm behind the first layer, {name}": (
        (5, 1, 1, d_v), {**FORM, "placement": "post", **fields}, "that no layer writes" if few else "")
    for name, d_v, fields, few in [
        ("ten tokens", 1, {}, True),
        ("eleven tokens", 1, {"vocabulary": 11}, False),
        ("no ε", 1, {"epsilon": 0.0}, False),
        ("two directions of heads", 2, {"vocabulary": 6}, True),
        ("two directions of heads and seven tokens", 2, {"vocabulary": 7}, False),
        ("a position's direction", 1, {"vocabulary": 6, "position_table": True, "context": 2}, True),
        ("a position's direction and seven tokens", 1, {"vocabulary": 7, "position_table": True, "context": 2}, False),
        ("a network behind it", 1, {"d_ff": 2}, True),
        ("a tied table", 1, {"tied": True}, True),
        ("a tied table behind two norms", 1, {"tied": True, "d_ff": 2}, False),
    ]
}  # fmt: skip
TOKENS_AT_TWO: dict[str, Any] = {"context": 2, "rotary": Rotary((-0.23, -0.11))}
EDGES |= {
    f"tokens at two positions, {name}": (sizes, {**TOKENS_AT_TWO, **fields}, "few positions" if few else "")
    for name, sizes, fields, few in [
        ("eleven", (5, 1, 4, 1), {"vocabulary": 11}, True),
        ("twelve", (5, 1, 4, 1), {"vocabulary": 12}, False),
        ("three positions", (5, 1, 4, 1), {"vocabulary": 9, "context": 3}, False),
        ("distances to both sides", (5, 1, 4, 1), {"vocabulary": 9, "causal": False}, False),
        ("one plane", (5, 1, 2, 1), {"vocabulary": 9, "rotary": ONE_PLANE}, False),
    ]
}  # fmt: skip
EDGES |= {
    f"a latent beside channels that follow it, {name}": (
        (d_model, heads, d_k, 1), {"vocabulary": tokens, "latent": latent}, "that all heads share" if few else "")
    for name, d_model, heads, d_k, latent, tokens, few in [
        ("nine tokens", 5, 1, 3, Latent(2, 2, 2), 9, True),
        ("ten tokens", 5, 1, 3, Latent(2, 2, 2), 10, False),
        ("more queries than shared channels", 5, 1, 3, Latent(3, 2, 2), 9, False),
        ("two heads", 5, 2, 3, Latent(2, 2, 2), 9, False),
        ("a rank of four in six directions", 6, 1, 5, Latent(0, 4, 4), 15, True),
        ("a rank of four, sixteen tokens", 6, 1, 5, Latent(0, 4, 4), 16, False),
    ]
}  # fmt: skip
UNDONE: dict[str, Any] = {
    "activation": "silu", "gated": True, "d_ff": 1, "norm": "rms", "placement": "parallel_shared",
    "head_transform": True, "tied": True,
}  # fmt: skip
EDGES |= {
    f"a parallel network that a head's transform undoes, {name}": (
        (4, 1, 1, 1), {**UNDONE, **fields}, "feed-forward" if few else "")
    for name, fields, few in [
        ("twelve tokens", {"vocabulary": 12}, True),
        ("thirteen tokens", {"vocabulary": 13}, False),
        ("no transform", {"vocabulary": 12, "head_transform": False}, False),
    ]
}  # fmt: skip
MIXED: dict[str, Any] = {"attention": "linear", "norm": "layer", "key_bias": True, "value_bias": True, "d_ff": 1}
EDGES |= {
    f"products of a first layer that can be any, {name}": (
        sizes, {**MIXED, **fields}, "keys from its values" if mix else "")
    for name, sizes, fields, mix in [
        ("two heads", (4, 2, 3, 1), {"vocabulary": 5}, True),
        ("one head", (4, 1, 3, 1), {"vocabulary": 5}, False),
        ("six tokens", (4, 2, 3, 1), {"vocabulary": 6}, False),
        ("two channels of values", (4, 2, 3, 2), {"vocabulary": 5}, False),
        ("more channels than queries read", (4, 2, 4, 1), {"vocabulary": 5}, True),
    ]
}  # fmt: skip
EDGES |= {
    f"a first layer without its experts, {name}": (
        (5, 1, 1, 1),
        {"vocabulary": tokens, "norm": "layer", "experts": Experts(2, 2, 1, shared=1, routing="sigmoid", first=1)},
        "tokens are too few to hold" if few else "")
    for name, tokens, few in [("nine tokens", 9, True), ("many", 15, False)]
}  # fmt: skip
BEFORE_THE_HEAD: dict[str, Any] = {"norm": "rms", "epsilon": 0.0, "final_norm": True, "tied": True}
EDGES |= {
    f"a stream that a layer and the head's norm read, {name}": (
        (6, 2, 2, 1), {**BEFORE_THE_HEAD, **fields}, "that no layer writes" if few else "")
    for name, fields, few in [
        ("nine tokens", {"vocabulary": 9}, True),
        ("ten tokens", {"vocabulary": 10}, False),
        ("ten tokens and ε", {"vocabulary": 10, "epsilon": 0.1}, True),
        ("a bias in a direction of its own", {"vocabulary": 9, "output_bias": True}, False),
        ("a transform behind", {"vocabulary": 9, "head_transform": True}, False),
    ]
}  # fmt: skip
NORMED_KEYS: dict[str, Any] = {
    "qk_norm": True, "key_bias": True, "norm": "rms", "final_norm": True, "epsilon": 0.0, "vocabulary": 7,
}  # fmt: skip
EDGES |= {
    f"normed keys that can be any on all tokens, {name}": ((4, 2, 3, 1), {**NORMED_KEYS, **fields}, reason)
    for name, fields, reason in [
        ("seven tokens", {}, "forms that query and key norms"),
        ("eight tokens", {"vocabulary": 8}, ""),
        ("ε", {"epsilon": 0.1}, "forms that query and key norms"),
        ("no bias", {"key_bias": False}, ""),
        ("without softmax eight tokens", {"attention": "linear", "vocabulary": 8}, "keys from its values"),
        ("without softmax nine tokens", {"attention": "linear", "vocabulary": 9}, ""),
    ]
}  # fmt: skip
SHIFTED_TOKENS: dict[str, Any] = {"norm": "rms", "final_norm": True, "vocabulary": 5, "output_bias": True}
EDGES |= {
    f"five tokens of four channels are shifted, {name}": (
        (4, 1, d_k, 2), {**SHIFTED_TOKENS, **fields}, "d_model + 1 tokens" if more else "")
    for name, d_k, fields, more in [
        ("two channels of queries", 2, {}, True),
        ("six tokens", 2, {"vocabulary": 6}, False),
        ("queries that read all", 4, {}, False),
        ("queries with a bias", 4, {"query_bias": True}, True),
        ("nothing takes it back", 2, {"output_bias": False}, False),
        ("a tied table", 2, {"tied": True}, False),
        ("token types beside a tied table", 2, {"tied": True, "token_types": 1}, True),
        ("rotated keys", 2, {"rotary": ONE_PLANE}, False),
        ("rotated keys, queries with a bias", 2, {"rotary": ONE_PLANE, "query_bias": True}, True),
    ]
}  # fmt: skip
PLACED: dict[str, Any] = {
    "activation": "silu", "ff_bias": True, "norm": "rms", "placement": "parallel_shared", "embedding_norm": True,
    "position_table": True, "d_ff": 4, "vocabulary": 5,
}  # fmt: skip
EDGES |= {
    f"a parallel network that sees five tokens at positions, {name}": (
        (4, 1, 1, 1), {**PLACED, **fields}, "feed-forward" if few else "")
    for name, fields, few in [
        ("three", {}, True),
        ("four", {"context": 4}, False),
        ("three units", {"d_ff": 3}, False),
        ("a tied table", {"tied": True}, False),
        ("a norm before the head", {"final_norm": True}, False),
    ]
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_a_condition_holds_where_the_formula_is_off(name: str) -> None:
    assert_named_where_off(EDGES[name])
