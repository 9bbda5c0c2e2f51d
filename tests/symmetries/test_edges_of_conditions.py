"""Conditions of degenerate cases at their edges: one is said to hold exactly where exact rank and formula differ."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from symgauge.architecture import Experts, Latent, Rotary
from tests.symmetries.evidence import Edge, assert_named_where_off

TURNING = Rotary((Fraction(1, 7),))
QKV: dict[str, Any] = dict.fromkeys(("query_bias", "key_bias", "value_bias"), True)
ONE_LATENT: dict[str, Any] = {"vocabulary": 0, "rotary": TURNING, "d_ff": 0}
NORMED_TABLE: dict[str, Any] = {
    "norm": "layer", "norm_offset": True, "embedding_norm": True, "position_table": True, "tied": True,
}  # fmt: skip
CHAIN: dict[str, Any] = {"residual": False, "query_bias": True, "ff_bias": True}

EDGES: dict[str, Edge] = {
    "constants of an untied table pass through values": (
        (1, 2, 3, 2), {**QKV, "d_ff": 2, "vocabulary": 17}, "constants pass"),
    "constants of a tied table do not": ((2, 2, 1, 2), {**QKV, "vocabulary": 11, "tied": True, "head_bias": True}, ""),
    "a latent of one channel without ε": (
        (4, 2, 4, 2), {**ONE_LATENT, "latent": Latent(1, 2, 2), "epsilon": 0.0}, "a latent of one channel"),
    "a latent of one channel with ε": ((4, 2, 4, 2), {**ONE_LATENT, "latent": Latent(1, 2, 2)}, ""),
    "a network reads one channel of a chain": (
        (2, 3, 1, 1), {**CHAIN, "key_bias": True, "groups": 1, "d_ff": 1, "vocabulary": 0, "context": 2}, "narrow"),
    "parallel layers of a chain that together fill the stream": (
        (3, 2, 1, 1),
        {**CHAIN, "value_bias": True, "groups": 1, "d_ff": 1, "vocabulary": 7, "placement": "parallel", "norm": "layer",
         "final_norm": True, "position_table": True, "attention": "linear"},
        ""),
    "an expert that is always on fills the chain": (
        (4, 2, 2, 2),
        {"residual": False, "groups": 1, "vocabulary": 0, "context": 2, "qk_norm": True, "gated": True, "ff_bias": True,
         "experts": Experts(2, 1, 1, shared=1), "norm": "rms", "epsilon": 0.0, "final_norm": True},
        ""),
    "contexts that show more than twice as many numbers as there are parameters": (
        (2, 3, 2, 3), {"d_ff": 1, "gated": True, "vocabulary": 9, "context": 2, "norm": "layer", "tied": True}, ""),
    "a stream that a second layer's norm reads": (
        (2, 3, 1, 1),
        {"layers": 2, "groups": 1, "d_ff": 3, "vocabulary": 17, "context": 2, "norm": "rms", "epsilon": 0.0,
         "placement": "parallel_shared", "value_bias": True, "output_bias": True},
        ""),
    "a stream that one norm reads, tokens as many as a form's entries": (
        (3, 1, 1, 1), {"norm": "rms", "vocabulary": 6}, "that no layer writes"),
    "a stream that one norm reads, tokens for the form and ε": ((3, 1, 1, 1), {"norm": "rms", "vocabulary": 7}, ""),
    "positions leave a form of three of five directions": (
        (5, 2, 3, 2), {"norm": "rms", "vocabulary": 6, "position_table": True}, "that no layer writes"),
    "and tokens hold it": ((5, 2, 3, 2), {"norm": "rms", "vocabulary": 7, "position_table": True}, ""),
    "an offset that attention alone brings to the head": (
        (3, 1, 1, 1), {"norm": "layer", "norm_offset": True, "head_bias": True, "vocabulary": 13}, "reaches the head"),
    "a rectified activation of no neurons": ((2, 1, 1, 1), {"activation": "relu", "vocabulary": 0}, ""),
    "a stream that a norm behind the layer reads": (
        (3, 1, 1, 1), {"norm": "rms", "vocabulary": 6, "placement": "post"}, ""),
    "three channels of a LayerNorm before a tied table": (
        (3, 2, 4, 2), {**QKV, "groups": 1, "vocabulary": 11, "norm": "layer", "final_norm": True, "tied": True},
        "two or three channels"),
    "two channels of an RMSNorm before a tied table": (
        (2, 1, 1, 2), {"vocabulary": 7, "d_ff": 3, "norm": "rms", "placement": "post", "head_transform": True,
                       "tied": True, "query_bias": True, "key_bias": True, "output_bias": True}, ""),
    "a tied stream that a norm with an offset writes": (
        (4, 2, 3, 3), {**NORMED_TABLE, "groups": 1, "vocabulary": 13, "context": 2, "attention": "linear",
                       "query_bias": True, "key_bias": True}, ""),
    "rotated heads that fill their form": (
        (2, 3, 4, 1), {"rotary": Rotary((0.23,), 2), "attention": "linear", "causal": False, "residual": False}, ""),
    "rotated heads that exceed their form": (
        (2, 4, 3, 1), {"rotary": Rotary((0.23,), 1), "attention": "linear", "causal": False, "residual": False},
        "without softmax heads are more"),
    "linear heads that nearly fill their form": (
        (2, 2, 1, 1),
        {"layers": 2, "d_ff": 2, "vocabulary": 17, "context": 2, "attention": "linear", "value_bias": True,
         "ff_bias": True, "gated": True, "activation": "silu", "norm": "layer", "norm_offset": True,
         "head_transform": True},
        "without softmax heads are more"),
}  # fmt: skip

UNMASKED: dict[str, Any] = {"attention": "linear", "causal": False}
TURNED: dict[str, Any] = {"rotary": Rotary((0.23,), 1)}
EDGES |= {
    f"a multiple of each token's own vector, {name}": (sizes, {**UNMASKED, **fields}, "without softmax" if free else "")
    for name, sizes, fields, free in [
        ("one head's channels", (3, 1, 2, 1), {"vocabulary": 4}, True),
        ("that five tokens hold", (3, 1, 2, 1), {"vocabulary": 5}, False),
        ("all heads together", (3, 2, 2, 2), {"vocabulary": 4}, True),
        ("one where constants are read", (2, 2, 1, 1), {"vocabulary": 5, "key_bias": True, "value_bias": True}, True),
        ("keys alone read constants", (2, 1, 1, 1), {"vocabulary": 5, "key_bias": True}, False),
        ("heads with rotations fill the form", (2, 3, 3, 1), {"vocabulary": 3, **TURNED}, True),
        ("maps of a tied table fit no more", (2, 3, 3, 1), {"vocabulary": 3, **TURNED, "tied": True}, False),
        ("a head's channels have no symmetric map", (3, 1, 1, 1), {"vocabulary": 5, "tied": True}, False),
        ("which a mask tells by position", (2, 1, 1, 1), {"vocabulary": 3, "causal": True, "context": 5}, False),
        ("which a norm does not let through", (3, 1, 1, 1), {"vocabulary": 17, "norm": "rms"}, False),
    ]
}  # fmt: skip

SHIFTED: dict[str, Any] = {"attention": "linear", "query_bias": True, "output_bias": True}
EDGES |= {
    f"a shifted table, {name}": (sizes, {**SHIFTED, **fields}, "without softmax" if free else "")
    for name, sizes, fields, free in [
        ("its constants in keys and values", (3, 1, 1, 1), {"vocabulary": 6}, True),
        ("tokens enough", (3, 1, 1, 1), {"vocabulary": 7}, False),
        ("keys with a bias of their own", (3, 1, 1, 1), {"vocabulary": 6, "key_bias": True}, True),
        ("queries that see it", (3, 3, 1, 1), {"vocabulary": 5, "query_bias": False}, False),
        ("directions that queries do not see", (3, 1, 1, 1), {"vocabulary": 6, "query_bias": False}, True),
        ("nothing behind takes it up", (3, 1, 1, 1), {"vocabulary": 6, "output_bias": False}, False),
        ("biases behind take it up", (3, 1, 1, 1),
         {"vocabulary": 6, "output_bias": False, "d_ff": 2, "ff_bias": True, "head_bias": True}, True),
        ("and a token's own vector", (3, 1, 1, 1), {"vocabulary": 7, "causal": False}, True),
        ("and a token's own vector, tokens enough", (3, 1, 1, 1), {"vocabulary": 8, "causal": False}, False),
    ]
}  # fmt: skip

ALIKE: dict[str, Any] = {
    "latent": Latent(2, 2, 3), "norm": "rms", "d_ff": 0, "placement": "sandwich", "tied": True, "head_bias": True,
}  # fmt: skip
EDGES |= {
    f"a latent beside channels that do not turn, {name}": (
        (3, 3, 5, 5),
        {**ALIKE, **fields},
        "tell a latent" if few else "",
    )
    for name, fields, few in [
        ("tokens that both span", {"vocabulary": 5, "rotary": Rotary((0.37,), 1)}, True),
        ("a token more", {"vocabulary": 6, "rotary": Rotary((0.37,), 1)}, False),
        ("LayerNorm has a direction less", {"vocabulary": 5, "rotary": Rotary((0.37,), 1), "norm": "layer"}, False),
        ("all channels turn", {"vocabulary": 5, "latent": Latent(2, 2, 2), "rotary": Rotary((0.37,))}, False),
    ]
}

SANDWICH: dict[str, Any] = {"norm": "rms", "placement": "sandwich"}
EDGES |= {
    f"an output norm on a stream that one norm reads, {tokens} tokens, ε = {epsilon}": (
        (d_model, 2, 2, 2), {**SANDWICH, "vocabulary": tokens, "epsilon": epsilon},
        "that no layer writes" if few else "")
    for d_model, tokens, epsilon, few in [
        (3, 6, 0.1, True), (3, 7, 0.1, False), (3, 5, 0.0, True), (3, 6, 0.0, False), (4, 10, 0.1, True),
        (4, 11, 0.1, False),
    ]
}  # fmt: skip

PASSED_ON: dict[str, Any] = {
    "d_ff": 2, "gated": True, "activation": "silu", "vocabulary": 11, "norm": "layer", "placement": "output",
    "norm_offset": True, "query_bias": True, "token_types": 2, "tied": True,
}  # fmt: skip
EDGES |= {
    f"a constant that heads take to 1, {name}": (sizes, {**PASSED_ON, **fields}, "heads take one" if free else "")
    for name, sizes, fields, free in [
        ("two heads that fill the stream", (4, 2, 1, 2), {}, True),
        ("two heads of one group", (4, 2, 1, 2), {"groups": 1}, False),
        ("a position table adds it", (4, 1, 1, 4), {"token_types": 0, "position_table": True}, True),
        ("nothing adds it", (4, 1, 1, 4), {"token_types": 0}, False),
        ("queries see it", (4, 1, 1, 4), {"query_bias": False}, False),
        ("rotated keys see it", (4, 1, 2, 4), {"rotary": Rotary((0.37,))}, False),
        ("rotated keys with a bias", (4, 1, 2, 4), {"rotary": Rotary((0.37,)), "key_bias": True}, True),
        ("a bias behind takes it all", (4, 1, 1, 4), {"output_bias": True}, False),
        ("without softmax", (4, 1, 1, 4), {"attention": "linear", "key_bias": True}, True),
    ]
}

NORMED: dict[str, Any] = {"qk_norm": True, "d_ff": 0}
EDGES |= {
    f"normed heads, {name}": (sizes, {**NORMED, **fields}, "the forms" if few else "")
    for name, sizes, fields, few in [
        ("as many tokens as forms and their number", (3, 1, 3, 1), {"vocabulary": 6}, True),
        ("as many as forms without ε", (3, 1, 3, 1), {"vocabulary": 6, "epsilon": 0.0}, False),
        ("directions of two channels", (4, 1, 2, 1), {"vocabulary": 6, "epsilon": 0.0}, True),
        ("directions that tokens fix", (4, 1, 2, 1), {"vocabulary": 7, "epsilon": 0.0}, False),
        ("maps that a constant in the keys joins", (3, 1, 2, 1), {"vocabulary": 5}, True),
        ("one norm across two heads", (4, 2, 2, 1), {"vocabulary": 6, "qk_norm_across": True}, True),
        ("one norm across two heads, tokens enough", (4, 2, 2, 1), {"vocabulary": 7, "qk_norm_across": True}, False),
        ("gains beside a rotation", (4, 1, 4, 1), {"vocabulary": 6, "rotary": Rotary((0.23,), 2)}, True),
        ("a rotation, tokens enough", (4, 1, 4, 1), {"vocabulary": 7, "rotary": Rotary((0.23,), 2)}, False),
    ]
}
TWO: dict[str, Any] = {"norm": "layer", "embedding_norm": True, "d_ff": 2, "vocabulary": 0}
EDGES |= {
    "an embedding norm that LayerNorms alone read": ((2, 1, 1, 1), {**TWO, "final_norm": True}, "one direction"),
    "an embedding norm that is an output too": ((2, 1, 1, 1), TWO, ""),
    "an embedding norm that a layer without residual reads": (
        (2, 2, 2, 2), {**TWO, "d_ff": 0, "residual": False}, "one direction"),
    "a table's constant passes through values to another space": (
        (4, 2, 2, 3),
        {"d_ff": 5, "vocabulary": 17, "residual": False, "query_bias": True, "ff_bias": True},
        "constants pass",
    ),
    "constants that every query shows do not": (
        (4, 2, 2, 3), {"d_ff": 5, "vocabulary": 17, "value_bias": True}, ""),
}  # fmt: skip

NO_RESIDUAL: dict[str, Any] = {"residual": False, "output_bias": True, "groups": 1}
EDGES |= {
    f"a plane off the origin, {name}": (sizes, {**NO_RESIDUAL, **fields}, "lifts" if more else "")
    for name, sizes, fields, more in [
        ("keys and values", (3, 2, 1, 1), {"layers": 2}, True),
        ("where the bias moves by as much", (3, 2, 1, 1), {"d_ff": 3, "ff_bias": True}, False),
        ("which readers without biases see", (3, 2, 1, 1), {"d_ff": 4}, False),
        ("which a network with biases reads", (3, 2, 1, 1), {"d_ff": 4, "ff_bias": True}, True),
        ("an RMSNorm's ε", (3, 2, 1, 1), {"layers": 2, "norm": "rms"}, True),
        ("an RMSNorm without ε", (3, 2, 1, 1), {"layers": 2, "norm": "rms", "epsilon": 0.0}, False),
    ]
}  # fmt: skip

FEW_POSITIONS: dict[str, Any] = {"vocabulary": 0, "d_ff": 0, "context": 2}
EDGES |= {
    f"two positions, {name}": (sizes, {**FEW_POSITIONS, **fields}, "few positions" if more else "")
    for name, sizes, fields, more in [
        ("a plane and still channels", (3, 1, 4, 1), {"rotary": Rotary((0.37,), 2)}, True),
        ("as few still channels as are seen", (4, 1, 3, 1), {"rotary": Rotary((0.37,), 1)}, False),
        ("half a turn and no turn", (2, 1, 4, 1), {"rotary": Rotary((Fraction(1, 2),), 2)}, True),
        ("two planes", (5, 1, 4, 1), {"rotary": Rotary((0.37, 0.23))}, False),
        ("constants of keys", (4, 1, 4, 1), {"rotary": Rotary((0.37, 0.23)), "key_bias": True, "norm": "rms"}, True),
        ("a plane over one channel", (1, 1, 2, 1), {"rotary": Rotary((0.37,))}, False),
    ]
}  # fmt: skip
# Quarter and half turns are exact in tables of cosines, so that equal distances are equal everywhere.
QUARTERS: dict[str, Any] = {**FEW_POSITIONS, "rotary": Rotary((Fraction(1, 4), Fraction(1, 2)), 1)}
EDGES |= {
    f"four coefficients, {name}": ((1, 1, 5, 1), {**QUARTERS, **fields}, "few positions" if more else "")
    for name, fields, more in [
        ("three distances", {"context": 3}, True),
        ("a window of three", {"context": 5, "windows": (3,)}, True),
        ("four distances", {"context": 4}, False),
        ("distances to both sides", {"context": 3, "causal": False}, False),
        ("constants of keys at three", {"context": 3, "key_bias": True}, True),
        ("constants of keys at four", {"context": 4, "key_bias": True}, False),
    ]
}  # fmt: skip
LATENTS: dict[str, Any] = {"attention": "linear", "causal": False, "residual": False, "vocabulary": 0, "d_ff": 0}
SHEARED: dict[str, Any] = {"vocabulary": 0, "d_ff": 5, "norm": "layer", "placement": "output", "embedding_norm": True}
EDGES |= {
    "matrices of two ranks mix three heads": (
        (3, 3, 3, 2), {"attention": "linear", "vocabulary": 0, "d_ff": 0, "key_bias": True}, "without softmax heads"),
    "matrices of two ranks do not mix two heads": (
        (3, 2, 3, 2), {"attention": "linear", "vocabulary": 0, "d_ff": 0, "key_bias": True}, ""),
    "heads that share all keys of a latent": (
        (3, 2, 2, 2), {"attention": "linear", "vocabulary": 0, "d_ff": 0, "latent": Latent(0, 2, 2)}, "without soft"),
    "heads that share rotated keys beside a latent": (
        (4, 2, 3, 2), {"attention": "linear", "vocabulary": 0, "d_ff": 0, "latent": Latent(0, 2, 1)}, "without soft"),
    "heads with fewer channels than a latent has": (
        (4, 2, 2, 2), {"attention": "linear", "vocabulary": 0, "d_ff": 0, "latent": Latent(0, 2, 1)}, ""),
    "heads of a latent that outnumber their outputs' form": (
        (3, 4, 3, 1), {**LATENTS, "latent": Latent(2, 2, 1)}, "without soft"),
    "heads of a latent that fit their outputs' form": ((3, 3, 3, 1), {**LATENTS, "latent": Latent(2, 2, 1)}, ""),
    "heads of a latent that have more numbers than their form": (
        (2, 4, 2, 1), {**LATENTS, "latent": Latent(2, 2, 2)}, "without soft"),
    "an output norm's mean that maps alone see": ((5, 1, 2, 2), {**SHEARED, "final_norm": True}, "an output norm be"),
    "an output norm's mean that is an output": ((5, 1, 2, 2), SHEARED, ""),
    "an output norm's mean beside a given stream": (
        (5, 1, 2, 2), {**SHEARED, "final_norm": True, "embedding_norm": False}, ""),
    "an output norm behind one latent channel": (
        (4, 1, 3, 3), {"vocabulary": 0, "d_ff": 0, "latent": Latent(4, 1, 3), "norm": "rms", "placement": "sandwich"},
        "an output norm behind"),
}  # fmt: skip

DIVIDED: dict[str, Any] = {"vocabulary": 0, "norm": "rms", "epsilon": 0.0, "residual": False, "final_norm": True}
RECTIFIED: dict[str, Any] = {**DIVIDED, "activation": "relu", "d_ff": 5}
QUERIES: dict[str, Any] = {**DIVIDED, "attention": "linear", "d_ff": 0}
LATENT_QUERY: dict[str, Any] = {**QUERIES, "latent": Latent(3, 3, 1)}
ONE_QUERY: dict[str, Any] = {**QUERIES, "qk_norm": True, "residual": True, "final_norm": False, "placement": "output"}
WITH_STREAM: dict[str, Any] = {**RECTIFIED, "residual": True, "final_norm": False, "placement": "post"}
EDGES |= {
    f"sizes divided away, {name}": (sizes, fields, "divides away" if more else "")
    for name, sizes, fields, more in [
        ("LayerNorm of two directions", (3, 2, 2, 2), {**RECTIFIED, "norm": "layer"}, True),
        ("squares", (3, 2, 2, 2), {**RECTIFIED, "activation": "relu2", "d_ff": 6}, True),
        ("gates", (3, 2, 2, 2), {**RECTIFIED, "gated": True}, True),
        ("which ε shows", (3, 2, 2, 2), {**RECTIFIED, "epsilon": 0.1}, False),
        ("which biases show", (3, 2, 2, 2), {**RECTIFIED, "ff_bias": True}, False),
        ("which the output shows", (3, 2, 2, 2), {**RECTIFIED, "final_norm": False}, False),
        ("which a stream shows", (3, 2, 2, 2), {**RECTIFIED, "residual": True, "placement": "sandwich"}, False),
        ("of a Post-LN stream", (3, 2, 2, 2), {**WITH_STREAM, "vocabulary": 13, "position_table": True}, True),
        ("of a Post-LN stream's second layer", (2, 1, 2, 2), {**WITH_STREAM, "layers": 2}, True),
        ("of a given stream", (3, 2, 2, 2), WITH_STREAM, False),
        ("which squares beside a stream show", (3, 2, 2, 2), {**WITH_STREAM, "activation": "relu2"}, False),
        ("a latent of queries", (4, 2, 3, 2), LATENT_QUERY, True),
        ("which softmax shows", (4, 2, 3, 2), {**LATENT_QUERY, "attention": "softmax"}, False),
        ("which a soft cap shows", (4, 2, 3, 2), {**LATENT_QUERY, "attention_softcap": 3.0}, False),
        ("one head's queries", (3, 1, 2, 2), ONE_QUERY, True),
        ("which two heads show", (3, 2, 2, 2), ONE_QUERY, False),
    ]
}  # fmt: skip

ONE_UNIT: dict[str, Any] = {
    "d_ff": 1,
    "gated": True,
    "ff_bias": True,
    "norm": "rms",
    "placement": "parallel",
    "tied": True,
}
OUTPUT: dict[str, Any] = {"norm": "layer", "placement": "output", "tied": True, "vocabulary": 13}
EDGES |= {
    "a unit that eight tokens show": ((3, 1, 1, 1), {**ONE_UNIT, "vocabulary": 8}, "first layer's feed-forward"),
    "a unit that nine tokens show": ((3, 1, 1, 1), {**ONE_UNIT, "vocabulary": 9}, ""),
    "one output norm turns with a tied table": ((4, 2, 1, 3), OUTPUT, "gains of the norms"),
    "two output norms do not": ((4, 2, 1, 3), {**OUTPUT, "d_ff": 4}, ""),
}
SANDWICH: dict[str, Any] = {
    "layers": 2, "groups": 1, "vocabulary": 7, "norm": "rms", "placement": "sandwich", "output_bias": True,
}  # fmt: skip
EDGES |= {
    f"two sandwich norms of three directions among four, {name}": (
        (4, heads, 1, 1), {**SANDWICH, **fields}, "gains of the norms" if more else "")
    for name, heads, fields, more in [
        ("ε beside a constant", 2, {}, True),
        ("no ε", 2, {"epsilon": 0.0}, True),
        ("a tied table", 2, {"tied": True, "epsilon": 0.0}, True),
        ("all four", 3, {}, False),
        ("a given stream", 2, {"vocabulary": 0}, False),
        ("the mean of a LayerNorm", 2, {"norm": "layer"}, False),
    ]
}  # fmt: skip
SIGNS: dict[str, Any] = {
    "attention": "linear", "vocabulary": 0, "d_ff": 0, "norm": "rms", "placement": "output", "epsilon": 0.0,
}  # fmt: skip
EDGES |= {
    f"queries of one channel, {name}": (sizes, {**SIGNS, **fields}, "the sign alone" if more else "")
    for name, sizes, fields, more in [
        ("an RMSNorm behind", (4, 1, 1, 3), {}, True),
        ("a LayerNorm behind", (5, 1, 1, 4), {"norm": "layer"}, True),
        ("two channels", (4, 1, 2, 3), {}, False),
        ("two heads", (4, 2, 1, 3), {}, False),
        ("ε", (4, 1, 1, 3), {"epsilon": 0.1}, False),
        ("softmax", (4, 1, 1, 3), {"attention": "softmax"}, False),
        ("a soft cap", (4, 1, 1, 3), {"attention_softcap": 3.0}, False),
        ("a constant beside", (4, 1, 1, 3), {"output_bias": True}, False),
        ("a stream beside", (4, 1, 1, 3), {"placement": "pre"}, False),
    ]
}  # fmt: skip
SHARED_KEYS: dict[str, Any] = {
    **FEW_POSITIONS, "latent": Latent(3, 2, 4), "rotary": Rotary((0.37, 0.37)), "norm": "layer", "norm_offset": True,
}  # fmt: skip
EDGES |= {
    f"constants of keys in two planes, {name}": ((5, 1, 4, 2), {**SHARED_KEYS, **fields}, "few pos" if more else "")
    for name, fields, more in [
        ("two positions", {}, True),
        ("three positions", {"context": 3}, False),
        ("distances to both sides", {"causal": False}, False),
        ("no offset to read", {"norm_offset": False}, False),
        ("a soft cap", {"attention_softcap": 3.0}, False),
    ]
}  # fmt: skip
EDGES |= {
    f"{which} latent of {width} channels, {tokens} tokens": (
        (6, heads, 1, 1), {"d_ff": 0, "vocabulary": tokens, "latent": latent}, "latent norm sees" if few else "")
    for which, width, heads, latent, tokens, few in [
        ("a query", 4, 1, Latent(4, 1, 1), 21, True),
        ("a query", 4, 1, Latent(4, 1, 1), 22, False),
        ("a key-value", 3, 1, Latent(0, 3, 1), 17, True),
        ("a key-value", 3, 1, Latent(0, 3, 1), 18, False),
    ]
}  # fmt: skip
BARE: dict[str, Any] = {"residual": False, "vocabulary": 0}
EDGES |= {
    f"two of five directions are written, {name}": (
        (5, 2, 2, 1), {**BARE, "activation": "silu", "gated": gated, "experts": experts}, "narrow" if off else "")
    for name, gated, experts, off in [
        ("five columns beside a router's shift", False, Experts(2, 2, 2), False),
        ("four", False, Experts(3, 2, 1, shared=0), False),
        ("three", False, Experts(2, 2, 1), True),
        ("eight", True, Experts(2, 2, 2, shared=0), True),
        ("five columns, none unseen", False, Experts(2, 2, 1, shared=1, routing="sigmoid"), False),
        ("six columns, none unseen", False, Experts(3, 2, 1, routing="sigmoid"), True),
    ]
}  # fmt: skip
EDGES |= {
    f"rectified neurons that read a line, {name}": (
        (4, 1, 2, 1), {**BARE, "activation": "relu", "d_ff": 3, **fields}, "one direction" if more else "")
    for name, fields, more in [
        ("through the origin", {}, True),
        ("shifted along itself", {"value_bias": True}, True),
        ("beside the origin", {"output_bias": True}, False),
        ("with their own kinks", {"ff_bias": True}, False),
        ("smooth", {"activation": "silu"}, False),
    ]
}  # fmt: skip
UNIT: dict[str, Any] = {
    "activation": "tanh", "ff_bias": True, "d_ff": 1, "norm": "rms", "placement": "output", "vocabulary": 0,
}  # fmt: skip
EDGES |= {
    f"one tanh unit and its bias under a norm, {name}": (
        (d_model, 1, 1, 2), {**UNIT, **fields}, "lone tanh unit" if more else "")
    for name, d_model, fields, more in [
        ("two channels", 2, {}, True),
        ("another activation", 2, {"activation": "silu"}, False),
        ("two units", 2, {"d_ff": 2}, False),
        ("a gate", 2, {"gated": True}, False),
        ("three channels of a LayerNorm", 3, {"norm": "layer"}, False),
        ("three without ε", 3, {"norm": "layer", "placement": "sandwich", "epsilon": 0.0}, True),
    ]
}  # fmt: skip
HALF_TURN: dict[str, Any] = {
    "context": 2, "vocabulary": 0, "rotary": Rotary((Fraction(0), Fraction(1, 2))), "norm": "layer",
}  # fmt: skip
EDGES |= {
    f"vectors of one length beside a constant, {name}": (
        (4, 1, 4, 1), {**HALF_TURN, "epsilon": 0.0, **fields}, "few positions" if few else "")
    for name, fields, few in [
        ("two positions", {"norm_offset": True}, True),
        ("biases of queries and keys", {"query_bias": True, "key_bias": True}, True),
        ("a bias of keys alone", {"key_bias": True}, False),
        ("ε", {"norm_offset": True, "epsilon": 0.1}, False),
        ("three positions", {"norm_offset": True, "context": 3}, False),
    ]
}  # fmt: skip
EDGES |= {
    f"queries of a latent and shared keys at two positions, {name}": (
        (d_model, 2, 5, 1),
        {"vocabulary": 0, "context": context, "rotary": Rotary((0.37, -0.23), 1), "latent": Latent(query, 1, 5)},
        "few positions" if few else "")
    for name, d_model, query, context, few in [
        ("four channels of four", 4, 4, 2, True),
        ("three positions", 4, 4, 3, False),
    ]
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_a_condition_holds_where_the_formula_is_off(name: str) -> None:
    assert_named_where_off(EDGES[name])
