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
from symgauge.models.huggingface import FAMILIES, adapt, tiny
from symgauge.models.huggingface.entries import Assignment, Entries
from symgauge.symmetries.symbols import layer_of
from tests.models.agreement import distance

# Rounding of some twenty float64 products in a row; measured errors are a few 1e-16.
AGREES = 1e-12
# A wrong slot changes logits of order one visibly.
DIFFERS = 1e-3

YARN = {
    "rope_type": "yarn",
    "rope_theta": 1e4,
    "factor": 8.0,
    "original_max_position_embeddings": 8,
    "beta_fast": 32,
    "beta_slow": 1,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 5e5,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8,
}
SCALES = {
    "embedding_multiplier": 12.0,
    "logits_scaling": 8.0,
    "residual_multiplier": 0.22,
    "attention_multiplier": 0.4,
}
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("gpt2", {"tie_word_embeddings": False}),
    ("gpt2", {"scale_attn_weights": False, "activation_function": "relu"}),
    ("bert", {"is_decoder": True, "type_vocab_size": 3, "hidden_act": "gelu_new"}),
    ("llama", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}),
    ("llama", {"rope_parameters": LLAMA3, "num_key_value_heads": 1}),
    ("llama", {"rope_parameters": YARN, "num_key_value_heads": 4}),
    ("mistral", {"sliding_window": 4}),
    ("qwen2", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 0, "layer_types": None}),
    ("qwen3", {"attention_bias": True, "tie_word_embeddings": True}),
    ("gemma2", {"attn_logit_softcapping": None, "final_logit_softcapping": None}),
    ("gemma2", {"attention_bias": True, "query_pre_attn_scalar": 2, "attn_logit_softcapping": 1.5}),
    ("gpt_neox", {"use_parallel_residual": False, "hidden_act": "gelu_fast"}),
    ("gpt_neox", {"attention_bias": False, "rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.4}}),
    ("gpt_neox", {"hidden_size": 12, "rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 1.0}}),
    ("falcon", {"bias": True}),
    ("falcon", {"tie_word_embeddings": False}),
    ("falcon", {"multi_query": False, "bias": True}),
    ("falcon", {"parallel_attn": False}),
    ("falcon", {"new_decoder_architecture": True, "num_attention_heads": 6, "num_kv_heads": 3, "bias": True}),
    ("falcon", {"new_decoder_architecture": True, "num_kv_heads": 1, "num_ln_in_parallel_attn": 1}),
    ("mixtral", {"num_experts_per_tok": 1}),
    ("granite", {**SCALES, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}),
    ("smollm3", {"attention_bias": True, "no_rope_layers": [0, 1], "layer_types": None}),
    ("smollm3", {"no_rope_layers": [1, 1], "mlp_bias": True, "tie_word_embeddings": False}),
    ("smollm3", {"use_sliding_window": True, "sliding_window": 4, "layer_types": None}),
    ("helium", {"attention_bias": True, "mlp_bias": True, "hidden_size": 8, "head_dim": 4}),
    ("arcee", {"hidden_act": "silu", "attention_bias": True, "mlp_bias": True}),
    ("seed_oss", {"attention_bias": False, "attention_out_bias": True, "mlp_bias": True}),
    ("ernie4_5", {"use_bias": True, "tie_word_embeddings": False}),
    ("ministral", {"sliding_window": 4}),
    ("phi3", {"tie_word_embeddings": True, "sliding_window": 5, "num_key_value_heads": 1, "head_dim": 4}),
    ("phi3", {"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.6}, "head_dim": 7}),
    ("glm", {"attention_bias": False, "tie_word_embeddings": True}),
    ("glm4", {"attention_bias": False, "num_key_value_heads": 4}),
    ("gemma", {"attention_bias": True, "tie_word_embeddings": False, "hidden_act": "silu"}),
    ("gemma3_text", {"attention_bias": True, "final_logit_softcapping": 3.0, "query_pre_attn_scalar": 2}),
    ("gemma3_text", {"sliding_window": 4, "layer_types": ["full_attention", "sliding_attention"]}),
    (
        "gemma3_text",
        {
            "tie_word_embeddings": False,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            },
        },
    ),
    ("olmo2", {"attention_bias": True, "tie_word_embeddings": True}),
    ("olmo2", {"num_attention_heads": 4, "num_key_value_heads": 2}),
    ("olmo3", {"num_attention_heads": 4, "num_key_value_heads": 1, "attention_bias": True}),
    ("exaone4", {"sliding_window": None, "layer_types": ["full_attention"] * 2}),
    ("exaone4", {"tie_word_embeddings": True, "num_key_value_heads": 1}),
    ("starcoder2", {"use_bias": False, "tie_word_embeddings": False, "sliding_window": 4}),
    ("stablelm", {"use_qkv_bias": True, "use_parallel_residual": True}),
    ("stablelm", {"num_attention_heads": 4, "hidden_size": 20, "num_key_value_heads": 2, "tie_word_embeddings": True}),
    ("nemotron", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "hidden_act": "gelu"}),
    ("phi", {"tie_word_embeddings": True, "hidden_act": "gelu_fast"}),
    ("cohere", {"attention_bias": True, "tie_word_embeddings": False, "logit_scale": 0.3}),
    ("cohere", {"num_attention_heads": 4, "num_key_value_heads": 2}),
    ("cohere2", {"attention_bias": True, "sliding_window": 4, "layer_types": ["full_attention", "sliding_attention"]}),
    ("gpt_neo", {"attention_types": [[["local"], 2]], "window_size": 3, "tie_word_embeddings": False}),
    ("gpt_neo", {"attention_types": [[["global"], 2]], "activation_function": "gelu", "intermediate_size": None}),
    ("opt", {"do_layer_norm_before": False, "tie_word_embeddings": False}),
    ("opt", {"_remove_final_layer_norm": True, "activation_function": "gelu"}),
    ("opt", {"enable_bias": False}),
    ("bloom", {"n_head": 3, "hidden_size": 6, "tie_word_embeddings": False}),
    ("mpt", {"n_heads": 3, "d_model": 6, "tie_word_embeddings": False}),
    ("mpt", {"attn_config": {"softmax_scale": 0.3, "alibi": True}}),
    ("distilbert", {"tie_word_embeddings": False, "activation": "relu"}),
    ("deepseek_v3", {"q_lora_rank": None, "rope_interleave": False}),
    ("deepseek_v3", {"n_group": 1, "num_experts_per_tok": 3, "n_shared_experts": 3, "tie_word_embeddings": True}),
    ("deepseek_v3", {"n_shared_experts": 0, "n_group": None, "first_k_dense_replace": 2}),
    ("deepseek_v3", {"n_shared_experts": 0}),
    ("deepseek_v3", {"rope_parameters": {**YARN, "mscale": 0.7, "mscale_all_dim": 1.3}}),
]


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("model_type", FAMILIES)
def test_reference_computes_the_same_logits(model_type: str, layers: int) -> None:
    model = tiny(model_type, layers)
    assert adapt(model).architecture.layers == layers
    assert distance(model) < AGREES


@pytest.mark.parametrize(("model_type", "overrides"), VARIANTS, ids=lambda value: str(value)[:60])
def test_variants_of_a_family_agree(model_type: str, overrides: dict[str, Any]) -> None:
    assert distance(tiny(model_type, 2, **overrides)) < AGREES


def test_deepseek_has_dense_layers_before_the_mixtures() -> None:
    a = adapt(tiny("deepseek_v3", 2, first_k_dense_replace=1)).architecture
    assert [a.has_experts(layer) for layer in range(2)] == [False, True]


@pytest.mark.parametrize("model_type", FAMILIES)
def test_every_entry_belongs_to_one_role_and_none_is_at_its_initial_value(model_type: str) -> None:
    model = tiny(model_type, 2)
    layout = adapt(model).layout
    theta, names = flatten(model)
    assert names == layout.names
    assert layout.unused.numel() == 0
    assert not torch.isin(theta, torch.tensor([0.0, 1.0], dtype=theta.dtype)).any()
    gains = torch.cat([value.flatten() for role, value in layout.read(theta).items() if role.endswith(".gain")])
    assert gains.min() < 0 < gains.max()


def _with(layout: Layout, changes: dict[str, Tensor]) -> Layout:
    slots = {role: Slot(changes.get(role, slot.index), slot.shift) for role, slot in layout.slots.items()}
    return Layout(slots, layout.size, layout.names)


@pytest.mark.parametrize("model_type", FAMILIES)
def test_each_slot_matters(model_type: str) -> None:
    """Entries of any one role in a wrong order change the logits, save for biases that attention cannot see."""
    model = tiny(model_type, 2)
    adapted = adapt(model)
    a = adapted.architecture
    unmoved = []
    for role, slot in adapted.layout.slots.items():
        rolled = slot.index.flatten().roll(1).reshape(slot.index.shape)
        if not distance(model, layout=_with(adapted.layout, {role: rolled})) > 1e-6:
            unmoved.append(role)
    # Without rotary encoding softmax cancels the key bias.
    still = [layer for layer, encoding in enumerate(a.encodings) if encoding is None]
    invisible = [r for r in adapted.layout.slots if r.endswith("key.bias") and layer_of(r) in still]
    # OPT's first two rows of positions are never read.
    assert unmoved == [r for r in adapted.layout.slots if r in (*invisible, "unused_positions")]


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
    assert distance(model, layout=_with(layout, wrong(model, layout))) > DIFFERS


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


@pytest.mark.parametrize(
    ("model_type", "overrides", "field"),
    [
        ("stablelm", {"qk_layernorm": True}, "qk_layernorm"),
        ("phi", {"qk_layernorm": True}, "qk_layernorm"),
        ("phi", {"hidden_size": 4}, "partial_rotary_factor"),
        ("cohere", {"use_qk_norm": True}, "use_qk_norm"),
        ("cohere", {"logit_scale": 0.0}, "logit_scale"),
        ("granite", {"residual_multiplier": 0.0}, "residual_multiplier"),
        ("gemma3_text", {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
        (
            "gemma3_text",
            {
                "num_hidden_layers": 2,
                "layer_types": ["sliding_attention", "full_attention"],
                "rope_parameters": {
                    "full_attention": {**YARN, "attention_factor": 1.5},
                    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
                },
            },
            "rope_parameters",
        ),
        ("mpt", {"attn_config": {"clip_qkv": 4.0}}, "clip_qkv"),
        ("mpt", {"attn_config": {"alibi": False}}, "alibi"),
        ("mpt", {"no_bias": False}, "no_bias"),
        ("bloom", {"apply_residual_connection_post_layernorm": True}, "apply_residual_connection_post_layernorm"),
        ("opt", {"word_embed_proj_dim": 4}, "word_embed_proj_dim"),
        ("opt", {"layer_norm_elementwise_affine": False}, "layer_norm_elementwise_affine"),
        (
            "phi3",
            {
                "rope_parameters": {
                    "rope_type": "longrope",
                    "rope_theta": 1e4,
                    "partial_rotary_factor": 1.0,
                    "short_factor": [1.0, 1.0],
                    "long_factor": [2.0, 2.0],
                    "original_max_position_embeddings": 4,
                }
            },
            "rope_type",
        ),
        ("falcon", {"alibi": True}, "alibi"),
        ("falcon", {"num_ln_in_parallel_attn": 2}, "num_ln_in_parallel_attn"),
        ("falcon", {"new_decoder_architecture": True, "parallel_attn": False}, "parallel_attn"),
        ("deepseek_v3", {"num_key_value_heads": 1}, "num_key_value_heads"),
        ("deepseek_v3", {"head_dim": 8}, "head_dim"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
        ("gpt2", {"activation_function": "mish"}, "activation_function"),
        ("bert", {"tie_word_embeddings": False}, "tie_word_embeddings"),
        ("llama", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}, "rope_type"),
        ("llama", {"softmax_offset": 1.0}, "softmax_offset"),
        ("deepseek_v3", {"norm_topk_prob": False}, "norm_topk_prob"),
        ("deepseek_v3", {"attention_bias": True}, "attention_bias"),
    ],
)
def test_fields_that_would_change_the_symmetries_are_refused(
    model_type: str, overrides: dict[str, Any], field: str
) -> None:
    with pytest.raises(UnsupportedModel, match=field):
        tiny(model_type, **overrides)


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
