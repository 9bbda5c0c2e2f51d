"""Every family at full size against transformers' own class, and small instances accounted for entirely."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from symgauge.exact.accounting import account
from symgauge.full_size import full_size
from symgauge.models.huggingface import FAMILIES, adapt, from_config, tiny
from symgauge.symmetries import dimension
from symgauge.symmetries.symbols import evaluate
from symgauge.wiring import wire
from tests.models.agreement import distance
from tests.models.published_families import BILLIONS, CONFIGS

CLASSES = {name: {"model_type": name, **family.example} for name, family in FAMILIES.items()}
"""Configurations with their class's defaults, as far as these make a model."""


def own_count(fields: dict[str, Any]) -> int:
    """Parameters of transformers' class at full size, built without memory."""
    import transformers

    family = FAMILIES[fields["model_type"]]
    given = {key: value for key, value in fields.items() if key not in ("model_type", "architectures")}
    with torch.device("meta"):
        model = getattr(transformers, family.class_name)(transformers.CONFIG_MAPPING[family.model_type](**given))
        model.tie_weights()
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("fields", [*CLASSES.values(), *CONFIGS.values()], ids=[*CLASSES, *CONFIGS])
def test_roles_add_up_to_the_modules_own_count(fields: dict[str, Any]) -> None:
    assert wire(from_config(fields).architecture).parameters == own_count(fields)


@pytest.mark.parametrize("name", CONFIGS)
def test_published_sizes(name: str) -> None:
    assert round(wire(from_config(CONFIGS[name]).architecture).parameters / 1e9, 2) == BILLIONS[name]


@pytest.mark.parametrize("name", CONFIGS)
def test_small_instances_keep_the_parts(name: str) -> None:
    result = from_config(CONFIGS[name])
    full, small = result.architecture, adapt(result.model).architecture
    same = ("placement", "norm", "norm_offset", "gated", "tied", "qk_norm", "qk_norm_across", "activation", "causal")
    same += ("embedding_norm", "final_norm", "position_table", "unused_positions", "head_transform", "head_bias")
    same += tuple(field for field in vars(full) if field.endswith("_bias"))
    assert {field: getattr(full, field) for field in same} == {field: getattr(small, field) for field in same}
    assert bool(full.alibi) == bool(small.alibi)
    if small.layers > 1:
        assert {e is None for e in full.encodings} == {e is None for e in small.encodings}
    for kind in (lambda a: a.groups == a.heads, lambda a: a.groups == 1, lambda a: 1 < a.groups < a.heads):
        assert kind(full) == kind(small)
    assert [e and e.unrotated > 0 for e in full.encodings[:1]] == [e and e.unrotated > 0 for e in small.encodings[:1]]
    assert distance(result.model) < 1e-12


def test_layers_of_two_kinds_are_each_counted_at_full_size() -> None:
    """SmolLM3: of 36 layers nine have no rotary encoding, where d_k² maps of a group commute and not d_k."""
    found = full_size(from_config(CONFIGS["smollm3-3b"]).architecture)
    query_key = next(share for share in found.families if share.name == "query-key")
    assert query_key.dimension == 4 * (27 * 128 + 9 * 128**2)
    assert found.paper == 36 * 4 * 128**2 + query_key.dimension


_SMALL = {
    "hidden_size": 6,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "vocab_size": 9,
    "intermediate_size": 4,
}
_EVEN = {"hidden_size": 4, "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 2, "vocab_size": 13}
_BIASED, _TIED, _UNTIED = {"attention_bias": True}, {"tie_word_embeddings": True}, {"tie_word_embeddings": False}
_SCALES = {
    "embedding_multiplier": 12.0,
    "logits_scaling": 8.0,
    "residual_multiplier": 0.22,
    "attention_multiplier": 0.4,
}
# Smooth activations: what ReLU leaves free depends on the point.
ACCOUNTS: list[tuple[str, int, dict[str, Any]]] = [
    ("phi3", 1, _SMALL),
    ("granite", 1, {**_SMALL, **_SCALES, **_BIASED, "mlp_bias": True}),
    ("granite", 1, {**_SMALL, **_SCALES, **_TIED}),
    ("smollm3", 2, {**_SMALL, **_BIASED, "hidden_size": 5, "intermediate_size": 2}),
    ("starcoder2", 1, _SMALL),
    ("starcoder2", 1, {**_SMALL, **_UNTIED, "use_bias": False}),
    ("stablelm", 1, {**_EVEN, "hidden_size": 6, "use_qkv_bias": True}),
    ("gemma", 1, {**_SMALL, **_BIASED, **_UNTIED}),
    ("gemma3_text", 1, _SMALL),
    ("glm", 1, _SMALL),
    ("glm4", 1, {**_SMALL, **_TIED}),
    ("nemotron", 1, {**_SMALL, **_BIASED, "mlp_bias": True, "hidden_act": "gelu"}),
    ("mpt", 1, {}),
    ("bloom", 1, {}),
    ("gpt_neo", 1, _UNTIED),
    ("opt", 1, {"activation_function": "gelu"}),
    ("opt", 1, {"activation_function": "gelu", "do_layer_norm_before": False}),
    ("distilbert", 1, _UNTIED),
    ("cohere", 1, _EVEN),
    ("cohere2", 1, {**_EVEN, **_UNTIED, "head_dim": 2}),
    ("phi", 1, {**_EVEN, **_TIED, "hidden_size": 6}),
    ("olmo2", 1, {**_SMALL, **_BIASED}),
    ("olmo3", 1, {**_SMALL, **_TIED}),
    ("exaone4", 1, _SMALL),
    ("helium", 1, {"hidden_size": 4, "head_dim": 2, "vocab_size": 9}),
    ("ministral", 1, _SMALL),
    ("arcee", 1, {**_SMALL, "hidden_act": "silu"}),
    ("seed_oss", 1, {**_SMALL, "attention_out_bias": True}),
    ("ernie4_5", 1, {**_SMALL, "use_bias": True}),
]


@pytest.mark.parametrize(
    ("model_type", "layers", "fields"), ACCOUNTS, ids=[f"{name}-{number}" for number, (name, *_) in enumerate(ACCOUNTS)]
)
def test_nothing_is_unexplained(model_type: str, layers: int, fields: dict[str, Any]) -> None:
    found = account(tiny(model_type, layers, **fields))
    assert found.decided
    assert found.unexplained == 0, dict(found.tensors)
    assert found.fibre.nullity == evaluate(dimension(found.architecture), found.architecture)
