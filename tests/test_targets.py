"""Targets: what the command line can name, and one clear sentence for everything it cannot."""

from __future__ import annotations

import json
import os

import pytest
import torch
from torch import nn

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, SymgaugeError, UnsupportedModel
from symgauge.exact.probes import Arrays, Tokens, Vectors
from symgauge.full_size import full_size, shortened
from symgauge.models.reference import ReferenceModel
from symgauge.presets import preset
from symgauge.symmetries import dimension
from symgauge.targets import blaming, parse_inputs, resolve

FILE = """
import symgauge
from torch import nn
from neighbour import WIDTH

def pair(): return nn.Linear(WIDTH, 2), symgauge.Vectors(1, WIDTH)
def alone(): return nn.Linear(3, 2)
def architecture(): return symgauge.Architecture(4, 2, 3, 2)
def nothing(): pass
def three(): return 1, 2, 3
def text(): return nn.Linear(3, 2), "tokens"
def a_class(): return nn.Linear
def argument(x): return x
def broken(): raise KeyError("lost")
def leaving(): raise SystemExit(3)
number = 7
model = nn.Linear(3, 2)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    (tmp_path / "neighbour.py").write_text("WIDTH = 3\n")
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tokens:11,4", Tokens(11, 4)),
        ("vectors:4,7", Vectors(4, 7)),
        ("tokens: 5, 2", Tokens(5, 2)),
        ("arrays:3,8,8", Arrays((3, 8, 8))),
    ],
)
def test_inputs(text, expected) -> None:
    assert parse_inputs(text) == expected


@pytest.mark.parametrize(
    "text", ["", "tokens", "tokens:3", "tokens:3,4,5", "words:3,4", "tokens:-1,4", "tokens:a,b", "arrays:"]
)
def test_bad_inputs(text) -> None:
    with pytest.raises(InvalidInput, match="write tokens:VOCABULARY,LENGTH or vectors:LENGTH,WIDTH"):
        parse_inputs(text)


def test_a_size_of_zero_is_no_input() -> None:
    with pytest.raises(InvalidInput, match="vocabulary must be a positive integer"):
        parse_inputs("tokens:0,4")


def test_a_file_with_neighbours(file) -> None:
    target = resolve(f"{file}:pair")
    assert isinstance(target.module, nn.Linear)
    assert target.inputs == Vectors(1, 3)
    assert target.full_size is None


def test_a_module_alone_takes_inputs_from_the_command_line(file) -> None:
    assert resolve(f"{file}:alone", inputs="vectors:2,3").inputs == Vectors(2, 3)
    assert isinstance(resolve(f"{file}:model", inputs="vectors:2,3").module, nn.Linear)


def test_an_architecture_brings_its_inputs(file) -> None:
    target = resolve(f"{file}:architecture")
    assert isinstance(target.module, ReferenceModel)
    assert target.inputs == Vectors(4, 4)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("alone", "returned only a module, so say what to probe it with"),
        ("nothing", "returned NoneType; return .module, inputs."),
        ("three", "returned 3 things"),
        ("text", "returned str for the inputs"),
        ("a_class", "returned the class Linear; return an instance"),
        ("argument", "takes arguments"),
        ("broken", "calling .*:broken raised KeyError: 'lost', at mine.py line 14"),
        ("leaving", "raised SystemExit: 3"),
        ("number", "is int, not a function"),
        ("pear", "has no 'pear'; its functions are pair"),
        ("a b", "after the colon goes the name of a function"),
    ],
)
def test_factories_that_cannot_be_used(file, factory, message) -> None:
    with pytest.raises(InvalidInput, match=message):
        resolve(f"{file}:{factory}")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.py:f", None, "no such file"),
        ("x.py:f", "def f(:", "importing .* raised SyntaxError"),
        (
            "x.py:f",
            "import no_such_module",
            "raised ModuleNotFoundError: No module named 'no_such_module', at x.py line 1",
        ),
        ("x.py", "", "name the function that makes the module too"),
        ("x.json", None, "no such configuration file"),
        ("config.json", "{", "not valid JSON"),
        ("config.json", "[]", "a JSON object, not a list"),
        ("config.json", "{}", r"config.json: the configuration names no 'model_type'"),
        ("model.safetensors", "x", "holds weights and no architecture"),
        ("model.bin", "x", "pickled checkpoints are not opened"),
        ("model.pt", None, "pickled checkpoints are not opened"),
        ("model.pth", None, "pickled checkpoints are not opened"),
        ("model.ckpt", None, "pickled checkpoints are not opened"),
        ("lama-3-8b", None, "there is no file, folder, preset or model type"),
    ],
)
def test_targets_that_cannot_be_used(tmp_path, name, content, message) -> None:
    if content is not None:
        (tmp_path / name.split(":")[0]).write_text(content)
    with pytest.raises(InvalidInput, match=message):
        resolve(str(tmp_path / name))


def test_a_pickle_is_refused_without_being_read(tmp_path) -> None:
    (tmp_path / "x.pkl").mkdir()
    with pytest.raises(InvalidInput, match="can run any code"):
        resolve(str(tmp_path / "x.pkl"))


@pytest.mark.parametrize(
    ("text", "near"), [("llama-3-8c", "llama-3-8b"), ("mambo", "mamba"), ("gpt-neo-x", "gpt_neox")]
)
def test_a_typo_is_pointed_out(text, near) -> None:
    with pytest.raises(InvalidInput, match=f"did you mean .*{near}"):
        resolve(text)


@pytest.mark.parametrize("text", ["electronics", "my_model", "x" * 5000])
def test_far_words_are_not(text) -> None:
    with pytest.raises(InvalidInput, match="there is no file, folder, preset or model type") as caught:
        resolve(text)
    assert "did you mean" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("model_type", "hint"), [("lama", "did you mean llama"), ("something_else", "transformers .* has$")]
)
def test_an_unknown_model_type_is_named_with_its_file(tmp_path, model_type, hint) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    message = rf"config.json: model_type '{model_type}' is not one of the \d+ .*{hint}"
    with pytest.raises(UnsupportedModel, match=message):
        resolve(str(tmp_path / "config.json"))


def test_a_model_type_alone_is_its_default_configuration() -> None:
    target = resolve("mamba")
    assert (type(target.module).__name__, target.name) == ("MambaForCausalLM", "MambaForCausalLM")
    assert "hidden_size 768 → 8" in target.notes[0]


TINY = {"model_type": "gpt2", "n_embd": 4, "n_head": 2, "n_layer": 1, "vocab_size": 7, "n_positions": 3}


def test_a_small_configuration_stays_as_it_is(tmp_path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    target = resolve(str(tmp_path))
    assert target.module.config.n_embd == 4
    assert target.inputs == Tokens(7, 3, "input_ids")
    assert target.full_size is None
    assert any("as it stands" in note for note in target.notes)


@pytest.mark.parametrize("text", ["gpt2", "mamba", "config.json", "."])
def test_an_own_point_needs_weights(tmp_path, monkeypatch, text) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    with pytest.raises(InvalidInput, match="weights"):
        resolve(text, point="own")


def test_own_weights_are_taken(tmp_path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(**TINY))
    model.save_pretrained(tmp_path)
    found = resolve(str(tmp_path), point="own").module
    assert torch.equal(found.transformer.wpe.weight, model.transformer.wpe.weight.double())
    other = resolve(str(tmp_path)).module
    assert not torch.equal(other.transformer.wpe.weight, model.transformer.wpe.weight.double())


def test_a_gguf_file_is_read_for_its_configuration(tmp_path) -> None:
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("small")
    writer.add_context_length(32)
    writer.add_embedding_length(8)
    writer.add_block_count(1)
    writer.add_feed_forward_length(3)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(17)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    target = resolve(str(path))
    config = target.module.config
    assert target.name == "LlamaForCausalLM"
    assert (config.hidden_size, config.num_key_value_heads, config.vocab_size) == (8, 1, 17)
    with pytest.raises(InvalidInput, match="no weights"):
        resolve(str(path), point="own")


@pytest.mark.parametrize("content", [b"nothing", b"GGUF", b"GGUF" + b"x" * 60])
def test_what_is_no_gguf_is_one_sentence(tmp_path, content) -> None:
    (tmp_path / "x.gguf").write_bytes(content)
    with pytest.raises(SymgaugeError, match=r"x.gguf: (not a GGUF file|transformers cannot read a configuration)"):
        resolve(str(tmp_path / "x.gguf"))


MALFORMED = {
    "no heads": ({**TINY, "n_head": 0}, "'n_head' is 0; it must be a positive integer"),
    "no vocabulary": ({**TINY, "vocab_size": 0}, "'vocab_size' is 0"),
    "an epsilon of NaN": ({**TINY, "layer_norm_epsilon": float("nan")}, "'layer_norm_epsilon' is NaN"),
    "a negative epsilon": ({**TINY, "layer_norm_epsilon": -1e-5}, "an epsilon is a number, not negative"),
    "an infinite epsilon": ({**TINY, "layer_norm_epsilon": float("inf")}, "an epsilon is a number"),
    "a negative size": ({**TINY, "n_inner": -3}, "negative"),
    "a text for a number": ({**TINY, "n_embd": "six"}, "transformers rejects this configuration"),
    "a list for a number": ({**TINY, "n_layer": [1, 2]}, "transformers rejects this configuration"),
    "endless layers": ({**TINY, "n_layer": 10**8}, "no model has so many layers"),
    "an endless vocabulary": ({**TINY, "vocab_size": 10**40}, "more than any model has"),
    "heads that do not divide": ({**TINY, "n_head": 3}, "must be divisible"),
    "an unknown activation": ({**TINY, "activation_function": "x" * 10**6}, "transformers cannot build GPT2LMHead"),
    "ten megabytes": ({**TINY, "activation_function": "x" * 10**7}, "is no model configuration"),
    "an endless model type": ({"model_type": "y" * 10**6}, "is not one of"),
    "an endless name": ({**TINY, "z" * 10**6: 1}, "a name of 1,000,000 letters"),
    "an endless class": ({**TINY, "architectures": ["GPT3" * 10**6]}, ""),
    "a class that is none": ({**TINY, "architectures": "pipeline"}, ""),
    "nests": ({**TINY, "a": {"b": {"c": {}}}, "d": [[[[]]]]}, ""),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_configurations_are_a_short_sentence(tmp_path, case) -> None:
    fields, message = MALFORMED[case]
    (tmp_path / "config.json").write_text(json.dumps(fields))
    if not message:  # odd, and still a model
        resolve(str(tmp_path))
        return
    with pytest.raises(SymgaugeError, match=message) as caught:
        resolve(str(tmp_path))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(tmp_path)) + 350


@pytest.mark.parametrize("text", ['{"a":' * 50_000, '{"model_type":' + '{"a":' * 300 + "1" + "}" * 301])
def test_deep_nests_are_a_short_sentence(tmp_path, text) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(InvalidInput, match=r"nested too deeply|not valid JSON|no 'model_type'"):
        resolve(str(tmp_path))


@pytest.mark.parametrize("name", ["config.json", "model.gguf"])
@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "nowhere", "folder"])
def test_what_is_no_file_is_not_waited_for(tmp_path, kind, name) -> None:
    path = tmp_path / name
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to({"device": "/dev/zero", "loop": path, "nowhere": tmp_path / "nowhere"}[kind])
    with pytest.raises(InvalidInput, match=r"no ordinary file|cannot be read|no such|a folder"):
        resolve(str(path))
    with pytest.raises(InvalidInput, match=r"no ordinary file|cannot be read|no such|a folder"):
        resolve(str(tmp_path))


@pytest.mark.parametrize("as_folder", [True, False])
def test_a_configuration_is_scaled_down_and_says_so(tmp_path, as_folder) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_layer": 5}))
    target = resolve(str(tmp_path if as_folder else tmp_path / "config.json"))
    assert type(target.module).__name__ == "GPT2LMHeadModel"
    assert "n_layer 5 → 2" in target.notes[0]
    assert target.full_size is not None
    assert (target.full_size.layers, target.full_size.d_model) == (5, 768)


def test_a_preset_is_scaled_down_and_says_so() -> None:
    target = resolve("GPT2", inputs="tokens:11,3")
    assert "d_model 768 →" in target.notes[0]
    assert target.full_size == preset("gpt2")
    assert target.inputs == Tokens(11, 3)
    assert sum(p.numel() for p in target.module.parameters()) < 3000


class Failing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError("not\nyet")


def test_errors_inside_a_module_name_its_path() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Sequential(Failing()))
    with pytest.raises(InvalidInput) as caught, blaming("running it", module):
        module(torch.zeros(1, 2))
    text = str(caught.value)
    assert text.startswith("running it raised NotImplementedError: not, in module '1.0' (Failing), at test_targets.py")
    assert "\n" not in text


def test_the_whole_traceback_on_request(capsys) -> None:
    with (
        pytest.raises(InvalidInput, match=r"raised ValueError: x, at test_targets.py line \d+$"),
        blaming("it", show=True),
    ):
        raise ValueError("x")
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["gpt2", "bert-base", "gemma-2-9b", "falcon-7b", "qwen2.5-7b"])
def test_a_few_layers_give_the_formula_of_all(name) -> None:
    a = preset(name)
    assert shortened(a).layers == 4 < a.layers
    assert full_size(a).formula == dimension(a)


def test_dense_layers_before_experts_are_kept_apart() -> None:
    short = shortened(preset("deepseek-v3"))
    assert short.experts is not None
    assert (short.layers, short.experts.first, short.experts.count, short.experts.active) == (6, 2, 3, 2)


def test_a_small_architecture_is_not_lengthened() -> None:
    a = Architecture(4, 2, 3, 2, layers=2)
    assert shortened(a) == a
    full = full_size(a)
    assert full.dimension == full.paper == 2 * 2 * (9 + 4)
    assert full.as_dict()["nullity"] == full.dimension
