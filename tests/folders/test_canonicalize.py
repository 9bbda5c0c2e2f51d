"""Canonical forms of folders: the same function, one form for one function, whole folders or none."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from symgauge.comparison import compare
from symgauge.comparison.applying import apply_element
from symgauge.comparison.element import save_element
from symgauge.errors import InvalidInput
from symgauge.folders import canonicalize_folder
from symgauge.models.huggingface import tiny
from symgauge.zoo import model_types
from tests.models.float64_only import Float64Only
from tests.pairs.models import computed, difference, tiny_source
from tests.pairs.pair import Pair
from tests.pairs.storing import rounded, save
from tests.pairs.table import PAIRS

IDS = torch.tensor([[3, 7, 5, 6, 1, 4], [6, 5, 2, 1, 1, 3]])
SAME = [pair for pair in PAIRS if pair.verdict == "equal"]


def tensors_of(folder):
    found = {}
    for file in sorted(folder.glob("*.safetensors")):
        found |= load_file(file)
    return found


def config_of(folder):
    return json.loads((folder / "config.json").read_text())


@pytest.mark.parametrize("pair", SAME, ids=lambda p: f"{p.family}: {p.name}")
def test_one_function_has_one_form(pair: Pair, tmp_path):
    tensors, config = tiny_source(pair.family)
    untie = pair.family == "llama"
    a = save(tensors, config, tmp_path / "A")
    b = save(pair.made(tensors, config), {**config, **pair.config}, tmp_path / "B", pair.layout)
    one, two = (tmp_path / f"canonical {x.name}" for x in (a, b))
    assert canonicalize_folder(a, one, untie=untie).rounding < 1e-9
    canonicalize_folder(b, two, untie=untie)
    expected = computed(tensors, config, IDS)
    assert difference(expected, computed(tensors_of(one), config_of(one), IDS)) < 1e-11
    first, second = tensors_of(one), tensors_of(two)
    if pair.layout in ("as A", "parts"):
        assert first.keys() == second.keys()
    for name in first.keys() & second.keys():
        assert torch.allclose(first[name], second[name], rtol=1e-9, atol=1e-9), name


@pytest.mark.parametrize("pair", [p for p in PAIRS if p.verdict == "different"], ids=lambda p: f"{p.family}: {p.name}")
def test_another_function_has_another_form(pair: Pair, tmp_path):
    tensors, config = tiny_source(pair.family)
    a = save(tensors, config, tmp_path / "A")
    b = save(pair.made(tensors, config), {**config, **pair.config}, tmp_path / "B")
    one, two = (canonicalize_folder(x, tmp_path / f"C{x.name}", untie=pair.family == "llama").out for x in (a, b))
    first, second = (load_file(f"{x}/model.safetensors") for x in (one, two))
    assert any(not torch.allclose(first[name], second[name], rtol=1e-6, atol=1e-6) for name in first)


@pytest.mark.parametrize("model_type", model_types())
@pytest.mark.parametrize("form", ["balanced", "minor"])
def test_every_family_keeps_its_function_and_loads(model_type, form, tmp_path):
    model = tiny(model_type, 2)
    model.save_pretrained(tmp_path / "A")
    canonicalize_folder(tmp_path / "A", tmp_path / "C", form=form)
    options = {"dtype": torch.float64, "attn_implementation": "eager", "experts_implementation": "eager"}
    before, after = (type(model).from_pretrained(tmp_path / x, **options).double().eval() for x in "AC")
    with torch.no_grad(), Float64Only():
        logits = [m(input_ids=IDS[:, :4] % model.config.vocab_size).logits for m in (before, after)]
    assert difference(*logits) < 1e-7  # some modules hold numbers in float32
    changed = dict(before.named_parameters())
    assert any(not torch.equal(changed[n], p) for n, p in after.named_parameters())


@pytest.mark.parametrize("model_type", model_types())
def test_the_element_that_takes_a_model_to_its_form_is_found(model_type, tmp_path):
    tiny(model_type, 2).save_pretrained(tmp_path / "A")
    canonicalize_folder(tmp_path / "A", tmp_path / "C")
    found = compare(tmp_path / "A", tmp_path / "C")
    assert found.verdict == "equal", str(found)
    assert "all tensors agree" in found.reason
    save_element(found.element, tmp_path / "G", {"untie": found.unties})
    apply_element(tmp_path / "A", tmp_path / "G", tmp_path / "M")
    assert "all tensors agree" in compare(tmp_path / "C", tmp_path / "M").reason


def test_parts_names_dtypes_and_other_files_stay(tmp_path):
    tensors, config = tiny_source("llama")
    a = save(rounded(tensors, "bfloat16"), config, tmp_path / "A", "parts")
    (a / "tokenizer.json").write_text("{}")
    (a / "more").mkdir()
    (a / "more" / "words.txt").write_text("a")
    canonicalize_folder(a, tmp_path / "C")
    assert (tmp_path / "C" / "more" / "words.txt").read_text() == "a"
    assert sorted(x.name for x in a.iterdir()) == sorted(x.name for x in (tmp_path / "C").iterdir())
    for part in a.glob("*.safetensors"):
        before, after = load_file(part), load_file(tmp_path / "C" / part.name)
        assert {n: (x.shape, x.dtype) for n, x in before.items()} == {n: (x.shape, x.dtype) for n, x in after.items()}
    canonicalize_folder(a, tmp_path / "wide", dtype="float32")
    assert {x.dtype for x in tensors_of(tmp_path / "wide").values()} == {torch.float32}


def test_a_tensor_that_belongs_to_no_role_stays(tmp_path):
    tensors, config = tiny_source("bert")
    pooler = {"pooler.dense.weight": torch.randn(32, 32), "embeddings.position_ids": torch.arange(32)}
    a = save({**tensors, **pooler}, config, tmp_path / "A")
    canonicalize_folder(a, tmp_path / "C")
    after = tensors_of(tmp_path / "C")
    assert all(torch.equal(after[name], x) for name, x in pooler.items())


def test_weights_of_pytorch_become_safetensors(tmp_path):
    model = tiny("llama", 2)
    model.save_pretrained(tmp_path / "A")
    torch.save(model.state_dict(), tmp_path / "A" / "pytorch_model.bin")
    (tmp_path / "A" / "model.safetensors").unlink()
    canonicalize_folder(tmp_path / "A", tmp_path / "C")
    assert sorted(x.name for x in (tmp_path / "C").glob("*model*")) == ["model.safetensors"]


def test_heads_without_full_rank_stay_and_are_told(tmp_path):
    tensors, config = tiny_source("llama")
    name = "model.layers.1.self_attn.v_proj.weight"
    tensors[name] = torch.zeros_like(tensors[name])
    a = save(tensors, config, tmp_path / "A")
    found = canonicalize_folder(a, tmp_path / "C")
    assert any(note.startswith("layers.1.attention: heads stay") for note in found.notes)
    after = tensors_of(tmp_path / "C")
    assert difference(computed(tensors, config, IDS), computed(after, config, IDS)) < 1e-11


def test_nothing_is_left_behind_by_a_run_that_fails(tmp_path):
    tensors, config = tiny_source("llama")
    tensors["model.layers.2.mlp.up_proj.weight"] = torch.full((64, 32), float("nan"))
    a = save(tensors, config, tmp_path / "A")
    with pytest.raises(InvalidInput, match=r"up_proj.*NaN"):
        canonicalize_folder(a, tmp_path / "C")
    assert [x.name for x in tmp_path.iterdir()] == ["A"]


def test_bad_requests_are_one_sentence(tmp_path):
    a = save(*tiny_source("llama"), tmp_path / "A")
    with pytest.raises(InvalidInput, match="there already"):
        canonicalize_folder(a, a)
    with pytest.raises(InvalidInput, match="no canonical form 'best'"):
        canonicalize_folder(a, tmp_path / "C", form="best")
    with pytest.raises(InvalidInput, match="dtype 'int8'"):
        canonicalize_folder(a, tmp_path / "C", dtype="int8")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot write"):
        canonicalize_folder(a, tmp_path / "file" / "C")
    save_file({"x": torch.ones(2)}, tmp_path / "no model.safetensors")
    with pytest.raises(InvalidInput, match="config"):
        canonicalize_folder(tmp_path / "no model.safetensors", tmp_path / "C")
