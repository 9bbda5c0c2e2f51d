"""Subjects: what can be named and measured, and one clear sentence for everything that cannot."""

from __future__ import annotations

import json
import os

import pytest
import torch
from torch import nn

import symgauge
from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, SymgaugeError, UnsupportedModel
from symgauge.exact.probes import Arrays, Tokens, Vectors
from symgauge.models.reference import ReferenceModel
from symgauge.presets import preset
from symgauge.subjects import Subject, subject_of
from symgauge.subjects.inputs import parse_inputs

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
    target = subject_of(f"{file}:pair")
    assert isinstance(target.module, nn.Linear)
    assert target.inputs == Vectors(1, 3)
    assert target.full_size is None


def test_a_module_alone_takes_inputs_from_the_command_line(file) -> None:
    assert subject_of(f"{file}:alone", parse_inputs("vectors:2,3")).inputs == Vectors(2, 3)
    assert isinstance(subject_of(f"{file}:model", parse_inputs("vectors:2,3")).module, nn.Linear)


def test_an_architecture_brings_its_inputs(file) -> None:
    target = subject_of(f"{file}:architecture")
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
        subject_of(f"{file}:{factory}")


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
        subject_of(str(tmp_path / name))


def test_a_pickle_is_refused_without_being_read(tmp_path) -> None:
    (tmp_path / "x.pkl").mkdir()
    with pytest.raises(InvalidInput, match="can run any code"):
        subject_of(str(tmp_path / "x.pkl"))


@pytest.mark.parametrize(
    ("text", "near"), [("llama-3-8c", "llama-3-8b"), ("mambo", "mamba"), ("gpt-neo-x", "gpt_neox")]
)
def test_a_typo_is_pointed_out(text, near) -> None:
    with pytest.raises(InvalidInput, match=f"did you mean .*{near}"):
        subject_of(text)


@pytest.mark.parametrize("text", ["electronics", "my_model", "x" * 5000])
def test_far_words_are_not(text) -> None:
    with pytest.raises(InvalidInput, match="there is no file, folder, preset or model type") as caught:
        subject_of(text)
    assert "did you mean" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("model_type", "hint"), [("lama", "did you mean llama"), ("something_else", "transformers .* has$")]
)
def test_an_unknown_model_type_is_named_with_its_file(tmp_path, model_type, hint) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    message = rf"config.json: model_type '{model_type}' is not one of the \d+ .*{hint}"
    with pytest.raises(UnsupportedModel, match=message):
        subject_of(str(tmp_path / "config.json"))


def test_a_model_type_alone_is_its_default_configuration() -> None:
    target = subject_of("mamba")
    assert (type(target.module).__name__, target.name) == ("MambaForCausalLM", "MambaForCausalLM")
    assert "hidden_size 768 → 8" in target.notes[0]


TINY = {"model_type": "gpt2", "n_embd": 4, "n_head": 2, "n_layer": 1, "vocab_size": 7, "n_positions": 3}


def test_a_small_configuration_stays_as_it_is(tmp_path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    target = subject_of(str(tmp_path))
    assert target.module.config.n_embd == 4
    assert target.inputs == Tokens(7, 3, "input_ids")
    assert target.full_size is None
    assert any("as it stands" in note for note in target.notes)


@pytest.mark.parametrize("text", ["gpt2", "mamba", "config.json", "."])
def test_an_own_point_needs_weights(tmp_path, monkeypatch, text) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    with pytest.raises(InvalidInput, match="weights"):
        subject_of(text, parameters="own")


def test_own_weights_are_taken(tmp_path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(**TINY))
    model.save_pretrained(tmp_path)
    found = subject_of(str(tmp_path), parameters="own").module
    assert torch.equal(found.transformer.wpe.weight, model.transformer.wpe.weight.double())
    other = subject_of(str(tmp_path)).module
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
    target = subject_of(str(path))
    config = target.module.config
    assert target.name == "LlamaForCausalLM"
    assert (config.hidden_size, config.num_key_value_heads, config.vocab_size) == (8, 1, 17)
    with pytest.raises(InvalidInput, match="no weights"):
        subject_of(str(path), parameters="own")


@pytest.mark.parametrize("content", [b"nothing", b"GGUF", b"GGUF" + b"x" * 60])
def test_what_is_no_gguf_is_one_sentence(tmp_path, content) -> None:
    (tmp_path / "x.gguf").write_bytes(content)
    with pytest.raises(SymgaugeError, match=r"x.gguf: (not a GGUF file|transformers cannot read a configuration)"):
        subject_of(str(tmp_path / "x.gguf"))


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
        subject_of(str(tmp_path))
        return
    with pytest.raises(SymgaugeError, match=message) as caught:
        subject_of(str(tmp_path))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(tmp_path)) + 350


@pytest.mark.parametrize("text", ['{"a":' * 50_000, '{"model_type":' + '{"a":' * 300 + "1" + "}" * 301])
def test_deep_nests_are_a_short_sentence(tmp_path, text) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(InvalidInput, match=r"nested too deeply|not valid JSON|no 'model_type'"):
        subject_of(str(tmp_path))


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
        subject_of(str(path))
    with pytest.raises(InvalidInput, match=r"no ordinary file|cannot be read|no such|a folder"):
        subject_of(str(tmp_path))


@pytest.mark.parametrize("as_folder", [True, False])
def test_a_configuration_is_scaled_down_and_says_so(tmp_path, as_folder) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_layer": 5}))
    target = subject_of(str(tmp_path if as_folder else tmp_path / "config.json"))
    assert type(target.module).__name__ == "GPT2LMHeadModel"
    assert "n_layer 5 → 2" in target.notes[0]
    assert target.full_size is not None
    assert (target.full_size.layers, target.full_size.d_model) == (5, 768)


def test_a_preset_is_scaled_down_and_says_so() -> None:
    target = subject_of("GPT2", parse_inputs("tokens:11,3"))
    assert "d_model 768 →" in target.notes[0]
    assert target.full_size == preset("gpt2")
    assert target.inputs == Tokens(11, 3)
    assert sum(p.numel() for p in target.module.parameters()) < 3000


def test_a_subject_stays_what_it_is_but_for_its_inputs() -> None:
    subject = subject_of(Architecture(4, 2, 3, 2, vocabulary=9, context=3))
    assert subject_of(subject) is subject
    assert subject.recognized
    assert subject_of(subject, Tokens(5, 2)).inputs == Tokens(5, 2)
    assert subject_of(subject, Tokens(5, 2)).module is subject.module


def test_a_models_own_name_for_its_input_stays() -> None:
    subject = Subject(nn.Linear(3, 2), Vectors(1, 3, keyword="input"))
    assert subject.fed(Vectors(2, 3)).inputs == Vectors(2, 3, keyword="input")
    assert subject.fed(Vectors(2, 3, keyword="x")).inputs == Vectors(2, 3, keyword="x")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((3, Vectors(1, 3)), "a torch.nn.Module is needed, not 3"),
        ((nn.Linear(3, 2), "tokens:3,2"), "inputs must be symgauge.Tokens, Vectors or Arrays, not str"),
        ((nn.Linear(3, 2), Vectors(1, 3), Architecture(4, 2, 3, 2)), "both the architecture and its layout"),
    ],
)
def test_what_is_no_subject(parts, message) -> None:
    with pytest.raises(InvalidInput, match=message):
        Subject(*parts)


def test_a_measurement_at_a_random_point_draws_it_alone(monkeypatch) -> None:
    """No parameters are drawn for a module that is measured at a point of its own, and none are missed."""
    a = Architecture(4, 2, 3, 2, context=3)
    expected = symgauge.account(subject_of(a)).as_dict()
    monkeypatch.setattr("symgauge.models.reference.random_parameters", None)
    assert {**symgauge.account(a).as_dict(), "seconds": 0} == {**expected, "seconds": 0}


def test_a_configuration_is_adapted_once(tmp_path, monkeypatch) -> None:
    from symgauge.models.huggingface import small

    seen = []
    adapt = small.adapt
    monkeypatch.setattr(small, "adapt", lambda model: seen.append(model) or adapt(model))
    monkeypatch.setattr("symgauge.subjects.modules.adapt", lambda model: seen.append(model) or adapt(model))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    subject = subject_of(tmp_path, parameters="unset")
    assert seen == [subject.module]
    assert subject.architecture is not None
    assert symgauge.account(subject).complete
    assert seen == [subject.module]
