"""Adapters against the models' own forward pass: equal to rounding, and different as soon as one slot is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.layout import Layout, Slot, flatten
from symgauge.models.huggingface import adapt, tiny
from symgauge.zoo.granite import SCALES
from symgauge.zoo.parts.entries import Assignment, Entries
from tests.models.agreement import distance
from tests.zoo.test_families import with_indices

# A wrong slot changes logits of order one visibly.
DIFFERS = 1e-3


def test_deepseek_has_dense_layers_before_the_mixtures() -> None:
    a = adapt(tiny("deepseek_v3", 2, first_k_dense_replace=1)).architecture
    assert [a.has_experts(layer) for layer in range(2)] == [False, True]


def _qkv_major(model: Any, layout: Layout) -> dict[str, Tensor]:
    """GPT-NeoX's fused matrix read as [all queries | all keys | all values]."""
    wrong = Assignment(Entries(model))
    role, fused = "layers.0.attention", "gpt_neox.layers.0.attention.query_key_value"
    heads = model.config.num_attention_heads
    parts = {f"{role}.{part}": heads for part in ("query", "key", "value")}
    wrong.split(parts, wrong.weight(fused), wrong.bias(fused))
    return {role: slot.index for role, slot in wrong.slots.items()}


def _conv1d_transposed(model: Any, layout: Layout) -> dict[str, Tensor]:
    """GPT-2's square output projection read as (out, in)."""
    role = "layers.0.attention.output.weight"
    index = layout.slots[role].index
    return {role: index.reshape(-1, index.shape[-1]).T.reshape(index.shape)}


def _interleaved_groups(model: Any, layout: Layout) -> dict[str, Tensor]:
    """Query head i given to group i mod g, instead of i div (h / g)."""
    changes = {}
    for role in ("layers.0.attention.query.weight", "layers.0.attention.output.weight"):
        index = layout.slots[role].index
        changes[role] = index.reshape(-1, 2, *index.shape[1:]).transpose(0, 1).reshape(index.shape)
    return changes


def _swapped(first: str, second: str) -> Callable[[Any, Layout], dict[str, Tensor]]:
    return lambda model, layout: {first: layout.slots[second].index, second: layout.slots[first].index}


WRONG_LAYOUTS = [
    ("gpt2", _conv1d_transposed),
    ("gpt_neox", _qkv_major),
    ("llama", _interleaved_groups),
    ("qwen2", _interleaved_groups),
    ("falcon", _swapped("layers.0.attention.key.weight", "layers.0.attention.value.weight")),
    ("mixtral", _swapped("layers.0.ff.experts.0.gate.weight", "layers.0.ff.experts.0.up.weight")),
    ("mixtral", _swapped("layers.0.ff.experts.0.down.weight", "layers.0.ff.experts.1.down.weight")),
    ("gemma2", _swapped("layers.0.norm_2.gain", "layers.0.output_norm_1.gain")),
    ("gpt_neox", _swapped("layers.0.norm_1.gain", "layers.0.norm_2.gain")),
    ("phi3", _swapped("layers.0.ff.gate.weight", "layers.0.ff.up.weight")),
    ("glm4", _swapped("layers.0.norm_2.gain", "layers.0.output_norm_1.gain")),
    ("olmo2", _swapped("layers.0.output_norm_1.gain", "layers.0.output_norm_2.gain")),
    ("olmo2", _swapped("layers.0.attention.query_norm.gain", "layers.0.attention.key_norm.gain")),
    ("mpt", _swapped("layers.0.attention.query.weight", "layers.0.attention.value.weight")),
    ("bloom", _swapped("layers.0.attention.key.weight", "layers.0.attention.value.weight")),
]


@pytest.mark.parametrize(("model_type", "wrong"), WRONG_LAYOUTS)
def test_a_plausible_wrong_layout_is_noticed(
    model_type: str, wrong: Callable[[Any, Layout], dict[str, Tensor]]
) -> None:
    model = tiny(model_type)
    layout = adapt(model).layout
    assert distance(model, layout=with_indices(layout, wrong(model, layout))) > DIFFERS


@pytest.mark.parametrize("model_type", ["gemma", "gemma2", "gemma3_text", "nemotron"])
def test_gains_without_their_shift_are_noticed(model_type: str) -> None:
    model = tiny(model_type)
    layout = adapt(model).layout
    unshifted = Layout({role: Slot(slot.index) for role, slot in layout.slots.items()}, layout.size, layout.names)
    assert distance(model, layout=unshifted) > DIFFERS


@pytest.mark.parametrize("model_type", ["llama", "gpt_neox", "falcon", "deepseek_v3", "glm", "helium", "cohere", "phi"])
def test_the_other_rotary_convention_is_noticed(model_type: str) -> None:
    model = tiny(model_type)
    a = adapt(model).architecture
    assert a.rotary is not None
    other = dataclasses.replace(a.rotary, interleaved=not a.rotary.interleaved)
    assert distance(model, architecture=a.replace(rotary=other)) > DIFFERS


def _one_for_all(a: Architecture) -> Architecture:
    return a.replace(rotary_by_layer=(), rotary=next(encoding for encoding in a.rotary_by_layer if encoding))


@pytest.mark.parametrize(
    ("model_type", "wrong"),
    [
        ("smollm3", _one_for_all),
        ("cohere2", _one_for_all),
        ("gemma3_text", lambda a: a.replace(rotary_by_layer=a.rotary_by_layer[::-1])),
        ("gpt_neo", lambda a: a.replace(windows=())),
        ("bloom", lambda a: a.replace(alibi=())),
        ("mpt", lambda a: a.replace(alibi=a.alibi[::-1])),
        ("granite", lambda a: a.replace(residual_scale=1.0)),
    ],
)
def test_what_layers_and_heads_have_of_their_own_is_noticed(
    model_type: str, wrong: Callable[[Architecture], Architecture]
) -> None:
    fields = {"gpt_neo": {"window_size": 2}, "granite": SCALES}
    model = tiny(model_type, 2, **fields.get(model_type, {}))
    assert distance(model, architecture=wrong(adapt(model).architecture)) > DIFFERS


def test_rejected_configurations_are_one_clear_error() -> None:
    with pytest.raises(InvalidInput, match="llama: transformers rejects"):
        tiny("llama", hidden_size=9, num_attention_heads=2)


def test_unknown_families_and_classes_are_refused() -> None:
    import transformers

    with pytest.raises(UnsupportedModel, match="did you mean llama"):
        tiny("lama")
    with pytest.raises(UnsupportedModel, match=r"no config\.model_type"):
        adapt(torch.nn.Linear(2, 2))
    with pytest.raises(UnsupportedModel, match="GPT2LMHeadModel"):
        adapt(transformers.GPT2Model(tiny("gpt2").config))


def test_a_changed_module_is_refused() -> None:
    model = tiny("llama")
    model.extra_weight = torch.nn.Parameter(torch.zeros(3))
    with pytest.raises(UnsupportedModel, match="'extra_weight' belongs to no role"):
        adapt(model)
    model = tiny("qwen2")
    model.model.layers[0].self_attn.q_proj.bias = None
    with pytest.raises(UnsupportedModel, match=r"layers\.0\.attention\.query\.bias"):
        adapt(model)


def test_building_leaves_the_global_random_state_alone() -> None:
    before = torch.random.get_rng_state()
    tiny("gpt2")
    assert torch.equal(before, torch.random.get_rng_state())


def test_seed_decides_the_parameters() -> None:
    first, again, other = (flatten(tiny("gpt2", seed=seed))[0] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
