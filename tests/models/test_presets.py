"""Presets against published parameter counts and against transformers' own classes at full size."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from symgauge.architecture import Architecture, Rotary
from symgauge.errors import InvalidInput
from symgauge.model_graph import graph_of
from symgauge.models.huggingface import from_config
from symgauge.models.reference import ReferenceModel
from symgauge.presets import CONSTANTS, preset, presets, scaled_down
from tests.models.published import CONFIGS, MODELS


@pytest.mark.parametrize("name", presets())
def test_roles_add_up_to_the_published_count(name: str) -> None:
    assert graph_of(preset(name)).parameters == MODELS[name].parameters


@pytest.mark.parametrize("name", presets())
def test_roles_add_up_to_the_modules_own_count(name: str) -> None:
    """transformers' class at full size, without memory: an independent count of the same configuration."""
    import transformers

    fields = {key: value for key, value in CONFIGS[name].items() if key != "architectures"}
    with torch.device("meta"):
        config = transformers.CONFIG_MAPPING[fields.pop("model_type")](**fields)
        model = getattr(transformers, CONFIGS[name]["architectures"][0])(config)
        model.tie_weights()
    assert sum(p.numel() for p in model.parameters()) == graph_of(preset(name)).parameters


def test_names_are_forgiving_about_case_and_suggest_neighbours() -> None:
    assert preset("GPT2") == preset("gpt2")
    assert preset("gpt2").name == "gpt2"
    with pytest.raises(InvalidInput, match=r"did you mean .*llama-3-8b"):
        preset("llama3-8b")
    with pytest.raises(InvalidInput, match=r"known are .*gpt2, .*qwen3-8b"):
        preset("zzz")


@pytest.mark.parametrize("name", presets())
def test_small_architectures_keep_every_part(name: str) -> None:
    full, small = preset(name), scaled_down(preset(name))
    sizes = {"name", "d_model", "heads", "groups", "d_k", "d_v", "d_ff", "layers", "vocabulary", "context", *CONSTANTS}
    for field in vars(full):
        if field in {"rotary", "latent", "experts"}:
            assert (getattr(full, field) is None) == (getattr(small, field) is None)
        elif field not in sizes:
            assert getattr(full, field) == getattr(small, field), field
    assert small.layers == (1 if full.placement == "sandwich" else 2)
    assert (small.d_ff > 0) == (full.d_ff > 0)
    assert (small.groups == small.heads, small.groups == 1) == (full.groups == full.heads, full.groups == 1)
    assert len({small.d_model, small.d_k, small.d_v, small.vocabulary}) == 4
    assert small.vocabulary > small.d_model + 1
    if full.rotary is not None and small.rotary is not None:
        assert small.rotary.turns == full.rotary.turns[: len(small.rotary.turns)]
        assert (small.rotary.unrotated > 0) == (full.rotary.unrotated > 0)
        assert small.rotary.interleaved == full.rotary.interleaved
    if full.experts is not None and small.experts is not None:
        assert 0 < small.experts.active < small.experts.count
        assert [small.has_experts(0), small.has_experts(1)] == [full.has_experts(0), full.has_experts(full.layers - 1)]
    assert graph_of(small).parameters < 1500
    assert ReferenceModel(small)(torch.zeros(1, 4, dtype=torch.long)).shape == (1, 4, small.vocabulary)
    assert scaled_down(small) == small


def test_constants_of_the_full_size_are_dropped() -> None:
    """DeepSeek-V3's configuration has eight groups of experts, more than the small architecture has experts."""
    small = scaled_down(from_config(CONFIGS["deepseek-v3"]).architecture)
    logits = ReferenceModel(small)(torch.zeros(1, 4, dtype=torch.long))
    assert logits.isfinite().all()


def test_special_rotations_are_not_thinned_out() -> None:
    """Dropping planes from an encoding with coinciding angles would lose the coincidence."""
    for turns in (
        (Fraction(1, 3),) * 4,
        (Fraction(1, 2), Fraction(1, 5), 0.1, 0.2),
        (Fraction(1, 10), Fraction(9, 10), 0.2, 0.3),
    ):
        rotary = Rotary(turns)
        a = Architecture(64, 8, 8, 8, layers=3, d_ff=256, vocabulary=100, rotary=rotary)
        assert scaled_down(a).rotary == rotary


def test_blocks_without_vocabulary_stay_without() -> None:
    small = scaled_down(Architecture(64, 8, 8, 8, norm="rms", gated=True, d_ff=256))
    assert (small.vocabulary, small.layers) == (0, 1)
