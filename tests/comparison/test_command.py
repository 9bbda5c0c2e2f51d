"""`symgauge compare` and `symgauge apply` as they are typed."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from symgauge.cli import app
from symgauge.models.huggingface import tiny
from tests.comparison import edits as e
from tests.comparison.test_compare import K, everything


@pytest.fixture
def folders(tmp_path):
    """A, B with everything moved, and C with a mistake."""
    model = e.model()
    edits = {"a": lambda s: s, "b": everything, "c": lambda s: e.permute_heads(s, 0, "k")}
    for name, edit in edits.items():
        model.save_pretrained(tmp_path / name)
        save_file(
            {n: x.contiguous() for n, x in edit(model.state_dict()).items()}, tmp_path / name / "model.safetensors"
        )
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments])


def test_equal(folders):
    result = run(
        "compare", folders / "a", folders / "b", "--json", "--report", folders / "page.md", "--element", folders / "g"
    )
    found = json.loads(result.stdout)
    assert (result.exit_code, found["verdict"], found["tensor"]) == (0, "equal", None)
    assert {"reason", "element", "residuals"} <= found.keys()
    assert "# equal" in (folders / "page.md").read_text()
    assert (folders / "page.png").read_bytes().startswith(b"\x89PNG")
    assert run("apply", folders / "a", folders / "g", "--out", folders / "image").exit_code == 0
    assert run("compare", folders / "image", folders / "b").exit_code == 0
    assert "identity" in run("compare", folders / "image", folders / "b").stdout


def test_different(folders):
    result = run("compare", folders / "a", folders / "c", "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["verdict"], found["tensor"]) == (1, "different", K)
    assert "keys" in found["reason"]


def test_given_tokens(folders):
    (folders / "ids.json").write_text("[[1, 2, 3], [4, 5, 6]]")
    result = run("compare", folders / "a", folders / "b", "--json", "--tokens", folders / "ids.json")
    assert json.loads(result.stdout)["function"]["tokens"] == 6


def _no_numbers(folder):
    tensors = load_file(folder / "model.safetensors")
    tensors[K][0, 0] = torch.nan
    save_file(tensors, folder / "model.safetensors")


def _another(folder):
    tiny("gpt2", 2).save_pretrained(folder)


def _wider(folder):
    e.model(hidden_size=8).save_pretrained(folder)


def _pickled(folder):
    (folder / "model.safetensors").unlink()
    torch.save({"model": e.model()}, folder / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("breaking", "words"),
    [(_no_numbers, "NaN"), (_another, "two architectures"), (_wider, "d_model"), (_pickled, "any code")],
)
def test_what_cannot_be_compared_is_said_in_one_sentence(folders, breaking, words):
    breaking(folders / "b")
    result = run("compare", folders / "a", folders / "b")
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_size": 8}, "d_model 16, not 8"),
        ({"layers": 3}, "layers 2, not 3"),
        ({"layers": 1}, "layers 2, not 1"),
        ({"num_attention_heads": 2}, "heads 4, not 2"),
        ({"num_key_value_heads": 4}, "groups 2, not 4"),
        ({"intermediate_size": 12}, "d_ff 24, not 12"),
    ],
)
def test_an_element_of_another_model_is_refused(folders, changes, words):
    assert run("compare", folders / "a", folders / "b", "--element", folders / "g").exit_code == 0
    e.model(**changes).save_pretrained(folders / "d")
    result = run("apply", folders / "d", folders / "g", "--out", folders / "image")
    assert (result.exit_code, words in result.stderr, "Traceback" in result.stderr) == (2, True, False)
    assert not (folders / "image").exists()


def test_an_element_may_act_on_another_vocabulary(folders):
    assert run("compare", folders / "a", folders / "b", "--element", folders / "g").exit_code == 0
    e.model(vocab_size=50).save_pretrained(folders / "d")
    assert run("apply", folders / "d", folders / "g", "--out", folders / "image").exit_code == 0
    assert run("compare", folders / "d", folders / "image").exit_code == 0


@pytest.mark.parametrize("about", [None, "{}", "[]", "{"])
def test_a_damaged_element_is_refused(folders, about):
    metadata = {"format": "symgauge element 1"} | ({} if about is None else {"about": about})
    save_file({"a": torch.ones(2)}, folders / "g", metadata=metadata)
    result = run("apply", folders / "a", folders / "g", "--out", folders / "image")
    assert (result.exit_code, "is damaged" in result.stderr) == (2, True)


@pytest.mark.parametrize("dtype", ["int8", "load"])
def test_an_image_is_stored_in_floating_point(folders, dtype):
    assert run("compare", folders / "a", folders / "b", "--element", folders / "g").exit_code == 0
    result = run("apply", folders / "a", folders / "g", "--out", folders / "image", "--dtype", dtype)
    assert (result.exit_code, "choose one of" in result.stderr) == (2, True)
    assert not (folders / "image").exists()


def test_a_token_beyond_all_integers_is_refused(folders):
    (folders / "ids.json").write_text("[99999999999999999999]")
    result = run("compare", folders / "a", folders / "b", "--tokens", folders / "ids.json")
    assert (result.exit_code, "JSON list of integers" in result.stderr) == (2, True)
