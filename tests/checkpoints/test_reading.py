"""Checkpoints in every form are read as the module they were saved from; what is damaged or pickled is refused."""

import json

import pytest
import torch
from safetensors.torch import save_file

from symgauge.checkpoints import open_checkpoint, stored_model
from symgauge.errors import InvalidFile, InvalidInput
from symgauge.layout import flatten
from symgauge.models.huggingface import adapt, tiny
from symgauge.zoo import model_types

_META = {
    "model.embed_tokens": "tok_embeddings",
    "lm_head": "output",
    "model.": "",
    "self_attn.": "attention.",
    "mlp.gate_proj": "feed_forward.w1",
    "mlp.down_proj": "feed_forward.w2",
    "mlp.up_proj": "feed_forward.w3",
    "input_layernorm": "attention_norm",
    "post_attention_layernorm": "ffn_norm",
}


@pytest.fixture
def model():
    return tiny("llama", 2)


@pytest.mark.parametrize("model_type", model_types())
def test_roles_are_those_of_the_module_in_memory_and_saved(model_type, tmp_path):
    model = tiny(model_type, 2)
    model.save_pretrained(tmp_path)
    expected = adapt(model).layout.read(flatten(model)[0])
    for source in (model, tmp_path):
        found = stored_model(open_checkpoint(source))
        assert found.roles.keys() == expected.keys()
        assert all(torch.equal(found.roles[role], expected[role]) for role in expected)


@pytest.mark.parametrize("model_type", ["gpt2", "llama", "falcon", "phi3", "gemma", "deepseek_v3"])
def test_roles_put_back_are_read_again(model_type, tmp_path):
    tiny(model_type, 2).save_pretrained(tmp_path)
    model = stored_model(open_checkpoint(tmp_path))
    changed = {role: x + torch.randn_like(x) for role, x in model.roles.items()}
    tensors = {model.stored[name]: x for name, x in model.put(changed).items()}
    again = stored_model(open_checkpoint(tensors), model.checkpoint.config)
    assert all(torch.allclose(again.roles[role], changed[role], atol=1e-12) for role in changed)


def test_parts_pytorch_weights_and_state_dicts_are_the_same_model(model, tmp_path):
    expected = adapt(model).layout.read(flatten(model)[0])
    model.save_pretrained(tmp_path / "parts", max_shard_size="4KB")
    assert len(list((tmp_path / "parts").glob("*.safetensors"))) > 1
    model.save_pretrained(tmp_path / "torch")
    (tmp_path / "torch" / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "torch" / "pytorch_model.bin")
    for source in (tmp_path / "parts", tmp_path / "torch", tmp_path / "torch" / "pytorch_model.bin"):
        roles = stored_model(open_checkpoint(source)).roles
        assert all(torch.equal(roles[role], expected[role]) for role in expected)


def test_a_bare_model_has_no_head(tmp_path):
    bare = tiny("bert", 2).bert
    model = stored_model(open_checkpoint(bare), {**bare.config.to_dict(), "architectures": ["BertModel"]})
    assert model.graph.head is None
    assert not [role for role in model.roles if role.startswith(("head.", "unembedding."))]


def test_linear_layers_in_place_of_conv1d_are_turned(tmp_path):
    model = tiny("gpt2", 2)
    turned = {n: x.T if n.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")) else x
              for n, x in model.state_dict().items()}  # fmt: skip
    expected = adapt(model).layout.read(flatten(model)[0])
    roles = stored_model(open_checkpoint(turned), model.config.to_dict()).roles
    assert all(torch.equal(roles[role], expected[role]) for role in expected)


def test_the_names_and_rotary_channels_of_metas_files(model):
    def interleaved(x, heads):
        return x.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)

    theirs = {}
    for name, x in model.state_dict().items():
        for ours, other in _META.items():
            name = name.replace(ours, other)
        for letter in "qkvo":
            name = name.replace(f"{letter}_proj", f"w{letter}")
        heads = {"wq": model.config.num_attention_heads, "wk": model.config.num_key_value_heads}
        theirs[name] = next((interleaved(x, n) for part, n in heads.items() if part in name), x)
    expected = adapt(model).layout.read(flatten(model)[0])
    roles = stored_model(open_checkpoint(theirs), model.config.to_dict()).roles
    assert all(torch.equal(roles[role], expected[role]) for role in expected)


def _without(folder, name):
    from safetensors.torch import load_file

    tensors = load_file(folder / "model.safetensors")
    del tensors[name]
    save_file(tensors, folder / "model.safetensors")


def _changed(folder, name, change):
    from safetensors.torch import load_file

    tensors = load_file(folder / "model.safetensors")
    tensors[name] = change(tensors[name]).contiguous()
    save_file(tensors, folder / "model.safetensors")


def test_what_is_broken_is_refused_in_one_sentence(model, tmp_path):
    name = "model.layers.1.mlp.up_proj.weight"
    model.save_pretrained(tmp_path)
    _without(tmp_path, name)
    with pytest.raises(InvalidFile, match="up_proj"):
        stored_model(open_checkpoint(tmp_path))
    model.save_pretrained(tmp_path)
    _changed(tmp_path, name, lambda x: x[1:])
    with pytest.raises(InvalidFile, match="has shape"):
        stored_model(open_checkpoint(tmp_path))
    model.save_pretrained(tmp_path)
    _changed(tmp_path, name, lambda x: torch.full_like(x, torch.nan))
    roles = stored_model(open_checkpoint(tmp_path)).roles
    with pytest.raises(InvalidFile, match="NaN"):
        roles["layers.1.ff.up.weight"]
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 20)
    with pytest.raises(InvalidFile, match="safetensors"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "content", [b"root:x:0:0:root\n", b"\x7fELF\x02\x01", b"\x80\x02r\x00", b"PK\x03\x04 and no more", b""]
)
def test_bytes_that_are_no_weights_are_said_to_be_none(content, tmp_path, recwarn):
    path = tmp_path / "weights.bin"
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match=r"weights\.bin: is no file of PyTorch weights"):
        open_checkpoint(path)
    assert not recwarn.list


def test_a_pickled_file_is_not_unpickled(model, tmp_path):
    torch.save({"weight": torch.ones(2), "more": model}, tmp_path / "pytorch_model.bin")
    (tmp_path / "config.json").write_text(json.dumps(model.config.to_dict(), default=str))
    with pytest.raises(InvalidFile, match="any code"):
        open_checkpoint(tmp_path)


def test_tensors_alone_need_a_configuration():
    with pytest.raises(InvalidInput, match="--config"):
        stored_model(open_checkpoint({"a": torch.ones(2)}))
