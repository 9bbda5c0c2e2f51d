"""Audits: what was planted is found, savings are what compressing saves, every family can be audited."""

import json

import pytest
import torch
from safetensors.torch import load_file

from symgauge.errors import InvalidFile
from symgauge.folders import audit, compress_folder
from symgauge.folders.audit_page import audit_page
from symgauge.models.huggingface import tiny
from symgauge.zoo import model_types
from tests.pairs.models import tiny_source
from tests.pairs.storing import rounded, save

LAYER = "model.layers.1."


def audited(tensors, config, tmp_path, dtype="float32"):
    return audit(save(rounded(tensors, dtype), config, tmp_path / "A"))


def saved(found):
    return {s.what: s.numbers for s in found.savings}


@pytest.fixture
def source():
    return tiny_source("llama")


@pytest.mark.parametrize("model_type", model_types())
def test_every_family_is_audited_and_saves_what_compressing_saves(model_type, tmp_path):
    model = tiny(model_type, 2)
    model.save_pretrained(tmp_path / "A")
    found = audit(tmp_path / "A")
    distinct = {x.data_ptr(): x.numel() for x in model.state_dict().values() if x.is_floating_point()}
    assert found.numbers == sum(distinct.values())
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["numbers"] == found.numbers
    assert audit_page(found).startswith("# Audit of")
    small = compress_folder(tmp_path / "A", tmp_path / "small")
    rows = sum(x.numel() for n, x in load_file(tmp_path / "small" / "compressed.safetensors").items() if ".rows." in n)
    promised = sum(s.numbers for s in found.savings if s.command == "compress")
    if any("heads stay" in note for note in small.notes):
        return  # tiny heads wider than the stream, which real ones are not
    assert promised == small.numbers[0] - small.numbers[1] + rows


def test_generic_weights_have_nothing_particular(source, tmp_path):
    found = audited(*source, tmp_path)
    assert all(pair.rank == pair.full and pair.saved == 0 for x in found.attention for pair in x.pairs)
    assert all(x.saved == 0 and x.scales is not None for x in found.neurons)
    assert found.dead_channels == {}
    assert set(saved(found)) == {"norm gains folded into what reads them", "identity blocks in keys and values"}


def test_dead_and_doubled_neurons(source, tmp_path):
    tensors, config = source
    up, gate, down = (tensors[f"{LAYER}mlp.{n}_proj.weight"].clone() for n in ("up", "gate", "down"))
    down[:, 3] = 0
    gate[7] = 0
    up[9] = -2 * up[4]
    gate[9] = gate[4]
    tensors |= {f"{LAYER}mlp.{n}_proj.weight": x for n, x in (("up", up), ("gate", gate), ("down", down))}
    found = audited(tensors, config, tmp_path)
    assert [(x.dead, x.doubled) for x in found.neurons] == [(0, 0), (2, 1), (0, 0)]
    assert saved(found)["dead and doubled neurons left out"] == 3 * 3 * 32


def test_a_product_without_full_rank_and_a_dead_head(source, tmp_path):
    tensors, config = source
    v, o = (tensors[f"{LAYER}self_attn.{n}_proj.weight"].clone() for n in "vo")
    v[5:8] = torch.randn(3, 5, dtype=v.dtype) @ v[:5]  # the first group's 8 values span 5 directions
    o[:, 24:] = 0  # the last of 4 heads
    tensors |= {f"{LAYER}self_attn.v_proj.weight": v, f"{LAYER}self_attn.o_proj.weight": o}
    found = audited(tensors, config, tmp_path).attention[1]
    values = found.pairs[-1]
    assert (values.rank, values.full, found.dead_heads) == (13, 16, (3,))
    assert values.saved == 3 * 32 * (1 + 2)


def test_a_rank_is_that_of_the_precision_stored(source, tmp_path):
    tensors, config = source
    name = f"{LAYER}self_attn.v_proj.weight"
    v = tensors[name].clone()
    v[7] = v[0] + 1e-4 * v[7]
    for dtype, rank in (("float32", 16), ("bfloat16", 15)):
        assert audited(tensors | {name: v}, config, tmp_path / dtype, dtype).attention[1].pairs[-1].rank == rank


def test_a_dead_rotary_plane_and_a_hidden_channel(source, tmp_path):
    tensors, config = source
    name, gain = f"{LAYER}self_attn.k_proj.weight", f"{LAYER}input_layernorm.weight"
    k, g = tensors[name].clone(), tensors[gain].clone()
    k[[2, 6]] = 0  # the third plane of the first group
    g[4] = 0
    found = audited(tensors | {name: k, gain: g}, config, tmp_path)
    scores = found.attention[1].pairs[0]
    assert (scores.rank, scores.full, scores.saved) == (14, 16, 2 * 32 * (1 + 2))
    assert found.dead_channels == {gain: 1}
    assert saved(found)["rows that a gain of 0 hides"] == 4 * 8 + 2 * 2 * 8


def test_an_unbalanced_head_is_told_and_a_head_that_could_be_tied(source, tmp_path):
    tensors, config = source
    tensors[f"{LAYER}self_attn.v_proj.weight"] = 100 * tensors[f"{LAYER}self_attn.v_proj.weight"]
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"]
    found = audited(tensors, {**config, "tie_word_embeddings": False}, tmp_path)
    assert found.attention[1].pairs[-1].imbalance > 30 > found.attention[0].pairs[-1].imbalance
    assert saved(found)["a head equal to the token table, tied"] == 50 * 32


def test_numbers_that_are_none_are_refused_wherever_they_stand(source, tmp_path):
    tensors, config = source
    tensors["model.embed_tokens.weight"][3, 2] = torch.nan
    with pytest.raises(InvalidFile, match=r"'model.embed_tokens.weight' has 1 entries that are NaN"):
        audited(tensors, config, tmp_path)
