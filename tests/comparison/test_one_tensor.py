"""One tensor of B is wrong, alone or beside a gauge element: it is the one that is named, however little it is off."""

from dataclasses import replace

import pytest
import torch

from symgauge.checkpoints import open_checkpoint, stored_model
from symgauge.comparison import compare
from symgauge.models.huggingface import tiny
from tests.comparison.test_every_family import images, stored


def with_mistake(model_type, family, name):
    """A model, and its image under a family with one row of one tensor off."""
    module = tiny(model_type, 2).double()
    model = stored_model(open_checkpoint(module))
    roles = dict(images(model))[family] if family else {role: model.roles[role] for role in model.parts}
    tensors = stored(model, roles)
    wrong = tensors[name].clone()
    wrong[1] = 1.3 * wrong[1] + 0.2
    return module, replace(open_checkpoint({**tensors, name: wrong}), config=model.checkpoint.config)


@pytest.mark.parametrize(
    ("model_type", "family", "name"),
    [
        # What reads a norm shows the mistake first; the norm is to blame.
        ("llama", None, "model.layers.0.input_layernorm.weight"),
        ("llama", None, "model.layers.1.post_attention_layernorm.weight"),
        ("llama", "stream-permutation", "model.layers.0.input_layernorm.weight"),
        ("llama", None, "model.norm.weight"),
        ("gpt2", "query-key", "transformer.h.0.ln_1.bias"),
        ("gpt2", "neuron-permutation", "transformer.h.1.ln_2.weight"),
        ("phi", "stream-permutation", "model.layers.0.input_layernorm.weight"),
        ("deepseek_v3", "query-key", "model.layers.0.self_attn.kv_a_layernorm.weight"),
        ("deepseek_v3", "head-permutation", "model.layers.0.self_attn.q_a_layernorm.weight"),
        # A value bias shows in the output bias, a key's gain in the query's.
        ("phi", None, "model.layers.0.self_attn.v_proj.bias"),
        ("gpt_neox", "layernorm-input-mean", "gpt_neox.layers.0.attention.dense.bias"),
        ("qwen3", "stream-permutation", "model.layers.0.self_attn.k_norm.weight"),
        ("qwen3", None, "model.layers.0.self_attn.q_norm.weight"),
        # Beside a shift that many roles trade.
        ("bert", "norm-offset", "bert.encoder.layer.0.attention.self.query.bias"),
        ("bert", "norm-offset", "bert.encoder.layer.0.intermediate.dense.weight"),
        ("bert", "layernorm-output-mean", "bert.encoder.layer.0.attention.self.key.weight"),
        ("gpt_neox", "parallel-bias-shift", "gpt_neox.layers.0.post_attention_layernorm.weight"),
        # Beside a map of a latent, and in it.
        ("deepseek_v3", "stream-map", "model.layers.0.self_attn.kv_b_proj.weight"),
        ("deepseek_v3", "query-key", "model.layers.0.self_attn.q_a_proj.weight"),
        ("deepseek_v3", "value-output", "model.layers.1.self_attn.kv_a_proj_with_mqa.weight"),
    ],
)
def test_it_is_named(model_type, family, name):
    found = compare(*with_mistake(model_type, family, name))
    assert (found.verdict, found.tensor) == ("different", name), str(found)


def test_the_reason_is_told_of_what_no_shift_explains():
    """Of a bias beside a shift that it trades too: what is told is the mistake alone."""
    module = tiny("bert", 2).double()
    model = stored_model(open_checkpoint(module))
    tensors = stored(model, dict(images(model))["norm-offset"])
    name = "bert.encoder.layer.0.attention.self.query.bias"
    tensors[name] = tensors[name].clone()
    tensors[name][1] += 1
    found = compare(module, replace(open_checkpoint(tensors), config=model.checkpoint.config))
    assert (found.tensor, found.reason.split(" (")[0]) == (name, "1 of its 6 numbers differs, and all others agree")


def test_the_size_told_is_its_own():
    name = "model.layers.0.input_layernorm.weight"
    module, other = with_mistake("llama", None, name)
    mine, theirs = module.state_dict()[name], other.read(name)
    found = compare(module, other)
    assert f"differs by {float((mine - theirs).norm() / theirs.norm()):.2g} of its size" in found.reason
    assert found.reason.startswith("1 of its 8 numbers differs")


@pytest.mark.parametrize("name", ["model.layers.0.self_attn.q_proj.weight", "model.layers.1.mlp.down_proj.weight"])
def test_a_small_update_of_one_tensor_is_no_rounding(name):
    """Of 80 unit roundoffs of float32, where all others are the same to the last bit."""
    module = tiny("llama", 2).float()
    state = {n: x.clone() for n, x in module.state_dict().items()}
    noise = torch.randn(state[name].shape, generator=torch.Generator().manual_seed(0))
    other = tiny("llama", 2).float()
    other.load_state_dict({**state, name: state[name] * (1 + 5e-6 * noise)})
    found = compare(module, other)
    assert (found.verdict, found.tensor) == ("different", name)
    other.load_state_dict({**state, name: state[name] * (1 + 6e-8 * noise)})
    assert compare(module, other).verdict == "equal"


def test_a_rounding_of_an_offset_that_no_bias_takes_is_one():
    """The constant that readers make of it is summed from two tensors of float32."""
    module = tiny("stablelm", 2).float()
    state = {n: x.clone() for n, x in module.state_dict().items()}
    name = "model.layers.0.post_attention_layernorm.bias"
    noise = torch.randn(state[name].shape, generator=torch.Generator().manual_seed(0))
    other = tiny("stablelm", 2).float()
    for size, verdict in ((6e-8, "equal"), (1e-3, "different")):
        other.load_state_dict({**state, name: state[name] * (1 + size * noise)})
        found = compare(module, other)
        assert found.verdict == verdict, str(found)
        assert "none of the known" not in found.reason


def test_a_whole_model_computed_anew_in_float32_is_equal():
    """Folded into what reads them and out again, every gain leaves a rounding or two."""
    module = tiny("llama", 2).float()
    state = {n: x.clone() for n, x in module.state_dict().items()}
    generator = torch.Generator().manual_seed(0)
    for n, x in state.items():
        if x.dim() == 2:
            q = torch.linalg.qr(torch.randn((x.shape[-1], x.shape[-1]), generator=generator)).Q
            state[n] = (x @ q) @ q.T
    other = tiny("llama", 2).float()
    other.load_state_dict(state)
    assert compare(module, other).verdict == "equal"
    one = dict(module.state_dict())
    one["model.layers.0.self_attn.o_proj.weight"] = state["model.layers.0.self_attn.o_proj.weight"]
    other.load_state_dict(one)
    assert compare(module, other).verdict == "equal"


def test_one_head_mixed_in_float32_is_equal():
    """Its rounding is that of the map, large where the map's condition is, though all other tensors are the same."""
    module = tiny("llama", 2).float()
    state = {n: x.clone() for n, x in module.state_dict().items()}
    value, output = ("model.layers.0.self_attn." + n + "_proj.weight" for n in "vo")
    d = module.config.head_dim
    share = module.config.num_attention_heads // module.config.num_key_value_heads
    u, _, v = torch.linalg.svd(torch.randn((d, d), generator=torch.Generator().manual_seed(0)))
    there = u @ torch.diag(torch.logspace(0, 1.6, d)) @ v
    back = torch.linalg.inv(there.double()).float() @ u
    for mix in (there, back):
        state[value][:d] = mix.T @ state[value][:d]
        for head in range(share):
            part = state[output][:, head * d : (head + 1) * d]
            state[output][:, head * d : (head + 1) * d] = torch.linalg.solve(mix, part.T).T
    other = tiny("llama", 2).float()
    other.load_state_dict(state)
    found = compare(module, other)
    assert found.verdict == "equal", str(found)
    assert "none of the known" not in found.reason


@pytest.mark.parametrize("model_type", ["glm", "phi", "gpt_neox"])
def test_values_mixed_by_an_ill_conditioned_map_are_equal_in_bfloat16(model_type):
    """No map found from rounded factors fits both; their product does, to the rounding of factors so large."""
    module = tiny(model_type, 2).double()
    model = stored_model(open_checkpoint(module))
    tensors = stored(model, dict(images(model))["value-output"])
    rounded = {n: x.to(torch.bfloat16) for n, x in tensors.items()}
    found = compare(module, replace(open_checkpoint(rounded), config=model.checkpoint.config))
    assert found.verdict == "equal-to-stored-precision", str(found)
    assert any("large condition number" in note for note in found.notes)
    name = next(n for n in tensors if "layers.0" in n and ("o_proj" in n or "dense.weight" in n))
    rounded[name] = rounded[name] * 3
    assert compare(module, replace(open_checkpoint(rounded), config=model.checkpoint.config)).verdict == "different"
