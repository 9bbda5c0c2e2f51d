"""Configuration files: the full-size architecture, a small instance of the same shape, and clear refusals."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.model_graph import graph_of
from symgauge.models.huggingface import adapt, from_config
from symgauge.presets import preset
from symgauge.symmetries import degenerate_cases
from symgauge.symmetries.degenerate_architectures import UNCHOSEN_EXPERT
from tests.models.agreement import AGREES, distance
from tests.models.published import PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_published_configurations_are_the_presets(name: str) -> None:
    full = from_config(PRESETS[name]).architecture
    expected = preset(name)
    # Frequencies pass through single precision, and may be stretched for long contexts.
    assert full.replace(name=name, rotary=expected.rotary) == expected
    if full.rotary is not None:
        assert expected.rotary is not None
        assert (full.rotary.unrotated, full.rotary.interleaved) == (
            expected.rotary.unrotated,
            expected.rotary.interleaved,
        )
        assert full.rotary.commutant_dimension == expected.rotary.commutant_dimension
        if name != "deepseek-v3":
            assert full.rotary.turns == pytest.approx(expected.rotary.turns, rel=1e-6)


@pytest.mark.parametrize("name", PRESETS)
def test_the_small_instance_has_the_same_parts(name: str) -> None:
    result = from_config(PRESETS[name])
    full, small = result.architecture, adapt(result.model).architecture
    sizes = {"d_model", "heads", "groups", "d_k", "d_v", "d_ff", "layers", "vocabulary", "context"}
    parts = {"rotary", "latent", "experts"}
    sizes |= {"embedding_scale", "score_scale"}  # follow from widths
    for field in vars(full):
        if field in parts:
            assert (getattr(full, field) is None) == (getattr(small, field) is None)
        elif field not in sizes:
            assert getattr(full, field) == getattr(small, field), field
    assert small.layers <= 2
    assert graph_of(small).parameters < 2500
    # Sharing stays none, partial or total.
    for kind in (lambda a: a.groups == a.heads, lambda a: a.groups == 1, lambda a: 1 < a.groups < a.heads):
        assert kind(full) == kind(small)
    if full.rotary is not None and small.rotary is not None:
        assert (full.rotary.unrotated > 0) == (small.rotary.unrotated > 0)
        assert len(small.rotary.turns) >= 2
    assert [full.has_experts(0), full.has_experts(full.layers - 1)] == [
        small.has_experts(0),
        small.has_experts(small.layers - 1),
    ]
    assert result.scaled
    assert all(before != after for before, after in result.scaled.values())
    assert distance(result.model) < AGREES


@pytest.mark.parametrize(("groups", "small"), [(8, 2), (1, 1)])
def test_grouped_falcon_keeps_its_sharing(groups: int, small: int) -> None:
    """Falcon-40B's layout: groups of query heads, each with its key and value; two norms in parallel."""
    fields = {"new_decoder_architecture": True, "num_kv_heads": groups, "num_attention_heads": 128, "hidden_size": 8192}
    result = from_config({**PRESETS["falcon-7b"], **fields})
    assert (result.architecture.groups, result.architecture.placement) == (groups, "parallel")
    assert adapt(result.model).architecture.groups == small
    assert distance(result.model) < AGREES


def test_files_directories_and_dicts_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(PRESETS["llama-3-8b"]))
    # Weights beside it are never opened.
    (tmp_path / "pytorch_model.bin").write_bytes(b"not a pickle")
    results = [from_config(source) for source in (tmp_path, tmp_path / "config.json", PRESETS["llama-3-8b"])]
    assert len({repr(r.architecture) for r in results}) == 1
    assert results[0].scaled["num_attention_heads"] == (32, 4)
    first, second = (torch.nn.utils.parameters_to_vector(r.model.parameters()) for r in results[:2])
    assert torch.equal(first, second)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("[1]", "JSON object, not a list"),
        ("{}", "no 'model_type'"),
        ('{"model_type": 3}', "no 'model_type'"),
        ('{"model_type": "qwen2", "hidden_size": "wide"}', "qwen2: transformers rejects"),
        ("\x00\xff", "not valid JSON"),
    ],
)
def test_malformed_files_are_one_clear_error(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InvalidInput, match=message):
        from_config(path)


def test_without_transformers_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UnsupportedModel, match=r"pip install 'symgauge\[transformers\]'"):
        from_config(PRESETS["gpt2"])


def test_missing_files_are_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such configuration file"):
        from_config(tmp_path)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("gpt2", {"model_type": "gpt3"}, "'gpt3' has no adapter; did you mean gpt2"),
        ("gpt2", {"architectures": ["GPT2ForSequenceClassification"]}, "the adapter knows GPT2LMHeadModel only"),
        ("gpt2", {"n_head": 7}, "width 768 does not divide into 7 heads"),
        ("gpt2", {"n_head": 0}, "'n_head' is 0; it must be a positive integer"),
        ("gpt2", {"n_layer": -1}, "'n_layer' is -1; it must be a positive integer"),
        ("gpt2", {"attention_sinks": 4}, "'attention_sinks' = 4 is unknown"),
        ("falcon-7b", {"alibi": True}, "'alibi' is True"),
        ("deepseek-v3", {"scoring_func": "softmax"}, "'scoring_func' is 'softmax'"),
        ("llama-3-8b", {"hidden_act": "xielu"}, "'hidden_act' = 'xielu' is unknown"),
        ("mistral-7b", {"rope_scaling": {"type": "longrope", "factor": 2.0}}, "rope_parameters"),
    ],
)
def test_unsupported_configurations_are_refused_by_field(name: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises((UnsupportedModel, InvalidInput), match=message):
        from_config({**PRESETS[name], **changes})


@pytest.mark.parametrize("name", PRESETS)
def test_the_small_instance_is_in_the_regime_of_the_original(name: str) -> None:
    """Enough tokens for what the first layer adds and reads: see `degenerate_cases`. Experts depend on the point."""
    assert set(degenerate_cases(adapt(from_config(PRESETS[name]).model).architecture)) <= {UNCHOSEN_EXPERT}


WRITTEN = {"_model_name_or_path": "x", "_name_or_path": "x", "_commit_hash": "abc", "output_scores": True, "top_k": 50,
           "torchscript": True, "chunk_size_feed_forward": 4, "tokenizer_class": "T",
           "transformers_version": "4.0"}  # fmt: skip


@pytest.mark.parametrize("name", ["gpt2", "llama-3-8b", "falcon-7b"])
def test_fields_that_transformers_adds_are_accepted(name: str) -> None:
    assert from_config({**PRESETS[name], **WRITTEN}).architecture == from_config(PRESETS[name]).architecture


@pytest.mark.parametrize(
    "changes", [{"pruned_heads": {"0": [1]}}, {"activation_function": "quick_gelu"}, {"activation_function": ["gelu"]},
                {"scale_attn_by_inverse_layer_idx": True}]
)  # fmt: skip
def test_what_the_adapter_does_not_read_it_refuses(changes: dict[str, Any]) -> None:
    with pytest.raises((UnsupportedModel, InvalidInput), match="gpt2: "):
        from_config({**PRESETS["gpt2"], **changes})
