"""The pairs are what they say: one function to float64 rounding, or two that differ."""

import pytest
import torch

from tests.pairs.models import computed, difference, tiny_source
from tests.pairs.storing import rounded, save
from tests.pairs.table import PAIRS

IDS = torch.tensor([[3, 7, 5, 6, 1, 9, 4], [6, 5, 2, 8, 9, 1, 11]])


@pytest.fixture(scope="module")
def sources():
    found = {family: tiny_source(family) for family in ("llama", "bert")}
    return {f: (tensors, config, computed(tensors, config, IDS)) for f, (tensors, config) in found.items()}


def test_there_are_enough_and_no_two_are_called_alike():
    assert len(PAIRS) >= 20
    assert len({(pair.family, pair.name) for pair in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p.family}: {p.name}")
def test_functions_agree_or_differ_as_said(pair, sources):
    tensors, config, expected = sources[pair.family]
    found = computed(pair.made(tensors, config), {**config, **pair.config}, IDS)
    if pair.verdict == "different":
        assert difference(expected, found) > 1e-5
    else:
        assert difference(expected, found) < 1e-11


@pytest.mark.parametrize("pair", [p for p in PAIRS if p.verdict.endswith("precision")], ids=lambda p: p.name)
def test_what_is_rounded_differs_by_no_more_than_its_rounding(pair, sources):
    tensors, config, expected = sources[pair.family]
    made = rounded(pair.made(tensors, config), pair.stored)
    far = difference(expected, computed(made, {**config, **pair.config}, IDS))
    assert 1e-6 < far < {"bfloat16": 0.3, "float16": 0.03, "int8": 0.3, "Q4_1": 1.5}[pair.stored]


def test_a_fused_layout_is_the_same_function(sources, tmp_path):
    import json

    from safetensors.torch import load_file

    tensors, config, expected = sources["llama"]
    save(tensors, config, tmp_path, "fused")
    fields = json.loads((tmp_path / "config.json").read_text())
    assert difference(expected, computed(load_file(tmp_path / "model.safetensors"), fields, IDS)) < 1e-11
