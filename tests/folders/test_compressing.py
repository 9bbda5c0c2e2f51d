"""Compressed folders: fewer numbers, and the canonical form again bit for bit."""

import json

import pytest
from safetensors.torch import load_file, save_file

from symgauge.errors import InvalidFile
from symgauge.folders import canonicalize_folder, compress_folder, expand_folder
from symgauge.models.huggingface import tiny
from symgauge.zoo import model_types
from tests.folders.test_canonicalize import config_of, tensors_of
from tests.pairs.models import tiny_source
from tests.pairs.storing import rounded, save


def round_trip(a, tmp_path, **options):
    canonicalize_folder(a, tmp_path / "C", form="minor", **options)
    found = compress_folder(a, tmp_path / "small", **options)
    expand_folder(tmp_path / "small", tmp_path / "whole")
    expected, whole = tensors_of(tmp_path / "C"), tensors_of(tmp_path / "whole")
    assert expected.keys() == whole.keys()
    for name, x in expected.items():
        assert (x.shape, x.dtype) == (whole[name].shape, whole[name].dtype)
        assert x.numpy(force=True).tobytes() == whole[name].numpy(force=True).tobytes(), name
    assert config_of(tmp_path / "C") == config_of(tmp_path / "whole")
    same = sorted(p.name for p in (tmp_path / "C").iterdir()) == sorted(p.name for p in (tmp_path / "whole").iterdir())
    assert same
    return found


@pytest.mark.parametrize("model_type", model_types())
def test_every_family_comes_back_bit_for_bit(model_type, tmp_path):
    tiny(model_type, 2).save_pretrained(tmp_path / "A", max_shard_size="4KB")
    found = round_trip(tmp_path / "A", tmp_path)
    assert found.numbers[1] <= found.numbers[0] + 64  # rows of few heads may outweigh what tiny heads save


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_is_saved_is_what_the_form_fixes(dtype, tmp_path):
    tensors, config = tiny_source("llama")
    a = save(rounded(tensors, dtype), config, tmp_path / "A", "parts")
    found = round_trip(a, tmp_path, untie=True)
    layers, width, groups, d_v, planes = 3, 32, 2, 8, 4
    gains = (2 * layers + 1) * width
    blocks = layers * groups * (d_v**2 + 2 * planes)
    rows = layers * groups * (d_v + planes)
    assert found.numbers == (found.numbers[0], found.numbers[0] - gains - blocks + rows)


def test_damage_is_told(tmp_path):
    a = save(*tiny_source("llama"), tmp_path / "A")
    with pytest.raises(InvalidFile, match="no compressed model"):
        expand_folder(a, tmp_path / "whole")
    compress_folder(a, tmp_path / "small")
    tensors = load_file(tmp_path / "small" / "compressed.safetensors")
    name = "model.layers.0.self_attn.v_proj.weight"
    save_file(tensors | {name: tensors[name][:-1]}, tmp_path / "small" / "compressed.safetensors")
    with pytest.raises(InvalidFile, match=r"v_proj.*numbers"):
        expand_folder(tmp_path / "small", tmp_path / "whole")
    plan = json.loads((tmp_path / "small" / "compressed.json").read_text())
    (tmp_path / "small" / "compressed.json").write_text(json.dumps(plan | {"format": "another"}))
    with pytest.raises(InvalidFile, match="another format"):
        expand_folder(tmp_path / "small", tmp_path / "whole")
    elsewhere = plan | {"parts": ["../escaped.safetensors"]}
    for wrong, words in (
        (elsewhere, "no file of the folder"),
        (plan | {"constant": {"no role": 1.0}}, "does not belong"),
        ({k: x for k, x in plan.items() if k != "parts"}, "damaged"),
    ):
        (tmp_path / "small" / "compressed.json").write_text(json.dumps(wrong))
        with pytest.raises(InvalidFile, match=words):
            expand_folder(tmp_path / "small", tmp_path / "whole")
    assert sorted(x.name for x in tmp_path.iterdir()) == ["A", "small"]
