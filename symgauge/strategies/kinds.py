"""Kinds of small architectures: which features each may have, which sizes are free, and how fields follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symgauge.architecture import Experts, Latent, Rotary

Features = dict[str, Any]
Sizes = dict[str, int]

RANGES: dict[str, range] = {
    "heads": range(2, 6),
    "groups": range(2, 4),
    "share": range(2, 4),
    "planes": range(1, 4),
    "unrotated": range(2, 4),
    "d_k": range(2, 7),
    "d_nope": range(2, 5),
    "d_v": range(2, 7),
    "d_model": range(3, 10),
    "d_ff": range(2, 12),
    "query_latent": range(2, 8),
    "key_value_latent": range(2, 8),
    "experts": range(3, 6),
    "expert_d_ff": range(2, 9),
    "vocabulary": range(5, 16),
    "context": range(3, 7),
}


@dataclass(frozen=True)
class Kind:
    """Fields that are fixed, alternatives to choose from (the first one is the simplest), and whether it has tokens."""

    fields: Mapping[str, Any]
    alternatives: tuple[tuple[Features, ...], ...] = ()
    model: bool = True
    feed_forward: bool = True


def _flags(*names: str) -> tuple[tuple[Features, ...], ...]:
    return tuple(({}, {name: True}) for name in names)


_ALL_BIASES = dict.fromkeys(("query_bias", "key_bias", "value_bias"), True)
_SHARING: tuple[Features, ...] = ({}, {"sharing": "groups"}, {"sharing": "one"})
_ROTARY: tuple[Features, ...] = ({}, {"turning": "all"}, {"turning": "some"})
_LAYER_NORM = {"norm": "layer", "norm_offset": True, "final_norm": True}
_RMS_NORM = {"norm": "rms", "final_norm": True}
_GPT2 = {**_ALL_BIASES, "output_bias": True, "ff_bias": True, "activation": "gelu_tanh", **_LAYER_NORM}
_LLAMA = {**_RMS_NORM, "gated": True, "activation": "silu", "turning": "all"}

KINDS: dict[str, Kind] = {
    "attention": Kind(
        {"residual": False},
        (
            _SHARING, _ROTARY, ({"causal": False}, {}), ({}, {"attention": "linear"}),
            *_flags("query_bias", "key_bias", "value_bias", "output_bias", "residual"),
        ),
        model=False, feed_forward=False,
    ),
    "block": Kind(
        {"norm": "layer"},
        (
            _SHARING, _ROTARY, ({}, {"norm": "rms"}, {"norm_offset": True}),
            ({}, {"activation": "relu"}, {"activation": "silu", "gated": True}, {"activation": "tanh"}),
            *_flags("query_bias", "key_bias", "value_bias", "output_bias", "ff_bias"),
        ),
        model=False,
    ),
    "gpt2": Kind({**_GPT2, "position_table": True, "tied": True}, (({}, {"tied": False}),)),
    "bert": Kind(
        {
            **_GPT2, "position_table": True, "tied": True, "causal": False, "activation": "gelu", "placement": "post",
            "embedding_norm": True, "final_norm": False, "token_types": 2, "head_transform": True, "head_bias": True,
        }
    ),
    "llama": Kind(_LLAMA, (_SHARING[:2], ({}, _ALL_BIASES, {"qk_norm": True}), ({}, {"tied": True}))),
    "gemma": Kind(
        {
            **_LLAMA, "activation": "gelu_tanh", "placement": "sandwich", "attention_softcap": 5.0,
            "logit_softcap": 3.0, "tied": True,
        },
        (_SHARING[:2],),
    ),
    "neox": Kind({**_GPT2, "placement": "parallel", "turning": "some"}),
    "falcon": Kind(
        {
            **_LAYER_NORM, "placement": "parallel_shared", "turning": "all", "sharing": "one", "activation": "gelu",
            "tied": True,
        }
    ),
    "mixtral": Kind({**_LLAMA, "mixture": "softmax"}, (_SHARING[:2],), feed_forward=False),
    "mla": Kind(
        {**_LLAMA, "latents": True},
        (({}, {"mixture": "sigmoid"}), ({}, {"interleaved": True})),
    ),
}  # fmt: skip


def variables(kind: Kind, features: Features) -> list[str]:
    """The sizes to draw, in order: those that bound the others first."""
    names = ["d_model", "context"]
    names += ["groups", "share"] if features.get("sharing") == "groups" else ["heads"]
    if features.get("latents"):
        names += ["planes", "d_nope"]
    elif "turning" in features:
        names += ["planes"] if features["turning"] == "all" else ["planes", "unrotated"]
    else:
        names += ["d_k"]
    names += ["d_v"]
    if features.get("latents"):
        names += ["query_latent", "key_value_latent"]
    if features.get("mixture"):
        names += ["experts", "expert_d_ff"]
    elif kind.feed_forward:
        names += ["d_ff"]
    return [*names, "vocabulary"] if kind.model else names


_CONSTRUCTION = ("sharing", "turning", "interleaved", "latents", "mixture")


def fields_of(features: Features, sizes: Sizes, layers: int) -> dict[str, Any]:
    """Architecture fields from features and sizes."""
    fields: dict[str, Any] = {k: v for k, v in features.items() if k not in _CONSTRUCTION}
    fields["layers"] = layers
    for name in ("heads", "d_k", "d_v", "d_model", "d_ff", "vocabulary", "context"):
        if name in sizes:
            fields[name] = sizes[name]
    if {"groups", "share"} <= set(sizes):
        fields |= {"groups": sizes["groups"], "heads": sizes["groups"] * sizes["share"]}
    elif features.get("sharing") == "one":
        fields["groups"] = 1
    if "planes" in sizes:
        rotated, unrotated = 2 * sizes["planes"], sizes.get("unrotated", 0)
        interleaved = features.get("interleaved", False)
        fields["rotary"] = Rotary.standard(rotated, unrotated=unrotated, interleaved=interleaved)
        fields["d_k"] = rotated + unrotated + sizes.get("d_nope", 0)
        if features.get("latents"):
            fields["latent"] = Latent(sizes["query_latent"], sizes["key_value_latent"], rotated)
    if features.get("mixture"):
        shared = 1 if features["mixture"] == "sigmoid" else 0
        fields["experts"] = Experts(sizes["experts"], 2, sizes["expert_d_ff"], shared, features["mixture"])
    return fields


PARTS = ("planes", "unrotated", "d_nope", "share")


def axes_of(features: Features, sizes: Sizes) -> Sizes:
    """The lengths of axes that sizes drawn so far determine, by name."""
    axes = {name: n for name, n in sizes.items() if name not in PARTS}
    if {"groups", "share"} <= set(sizes):
        axes["heads"] = sizes["groups"] * sizes["share"]
    extra = "d_nope" if features.get("latents") else "unrotated" if features.get("turning") == "some" else "planes"
    if "planes" in sizes and extra in sizes:
        axes["d_k"] = 2 * sizes["planes"] + (0 if extra == "planes" else sizes[extra])
    return axes
