"""`symgauge linear-properties` as a user meets it: arrays, models, JSON, exit status, one sentence for each error."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from typer.testing import CliRunner, Result

from symgauge.cli import app
from symgauge.models.huggingface import tiny

FACTORY = """
import torch
from symgauge import Tokens
from symgauge.models.huggingface import tiny

def model():
    print("printed by the user's file")
    return tiny("llama")

def bare():
    return torch.nn.Sequential(torch.nn.Embedding(5, 3), torch.nn.Linear(3, 5)), Tokens(5, 2)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Arrays of a model of dimension 5 with complexity 4: the fifth direction of f is one that no token sees."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    f, g, change = rng.normal(size=(40, 5)), rng.normal(size=(9, 5)), rng.normal(size=(5, 5))
    g[:, 4] = 0.7
    g[1] = g[0] - 2 * (g[3] - g[2])
    after = f.copy()
    after[:, :4] = f[:, :4] @ rng.normal(size=(4, 4)) + rng.normal(size=4)
    ratios = f @ (g - g[0]).T
    f, g, after = f @ change, g @ np.linalg.inv(change).T, after @ change
    arrays = {
        "f": f,
        "g": g,
        "after": after,
        "seen": 3 * ratios[:, 1:3] + 2,
        "own": f[:, :1],
        "noise": rng.normal(size=(40, 1)),
    }
    np.savez("all.npz", **arrays)
    np.save("f.npy", f)
    np.save("g.npy", g)
    save_file({name: torch.from_numpy(x.copy()) for name, x in arrays.items()}, "all.safetensors")
    (tmp_path / "mine.py").write_text(FACTORY)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["linear-properties", *arguments])


def verdicts(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return [p["verdict"].split(":")[0].split(" (")[0] for p in json.loads(result.stdout)["properties"]]


@pytest.mark.parametrize("arguments", [["all.npz"], ["all.safetensors"], ["f.npy", "--unembedding", "g.npy"],
                                       ["all.npz", "--hidden", "f", "--unembedding", "all.npz:g"]])  # fmt: skip
def test_arrays_in_every_format(place, arguments) -> None:
    found = json.loads(run(*arguments, "--json").stdout)
    assert (found["dimension"], found["effective_complexity"]["rank"], found["diverse"]) == (5, 4, False)
    assert found["effective_complexity"]["gap"] > 1e6
    assert found["decided"]


def test_answers_and_parallel_pairs(place) -> None:
    assert verdicts(run("all.npz", "--answers", "seen", "--json")) == ["identifiable"]
    own = run("all.npz", "--answers", "own", "--parallel", "1:0,3:2", "--parallel", "1:0,4:5", "--json")
    none = "no model with these probabilities has it"
    assert verdicts(own)[1:] == ["identifiable", none]
    assert verdicts(own)[0].startswith("not identifiable")
    assert json.loads(own.stdout)["properties"][1]["ratio"] == pytest.approx(-2)
    assert verdicts(run("all.npz", "--answers", "noise", "--json")) == [none]
    assert verdicts(run("all.npz", "--after", "after", "--tokens", "0,3,4", "--json")) == ["identifiable"]


def test_one_column_of_integers_will_do(place) -> None:
    np.savez("whole.npz", f=np.arange(6.0)[:, None], g=np.array([[0.0], [1.0]]), answers=3 * np.arange(6) + 1)
    assert verdicts(run("whole.npz", "--answers", "answers", "--json")) == ["identifiable"]


def test_the_command_is_listed_with_a_hyphen() -> None:
    listed = CliRunner().invoke(app, ["--help"]).output
    assert "linear-properties" in listed
    assert "linear_properties" not in listed
    assert CliRunner().invoke(app, ["linear_properties"]).exit_code == 2


def test_the_table_says_the_same(place) -> None:
    text = run("all.npz", "--answers", "seen").output
    assert "effective complexity" in text
    assert "identifiable: every model with these probabilities has it" in text


def test_undecided_has_exit_status_1_and_a_reason(place) -> None:
    np.savez("few.npz", f=np.eye(3), g=np.eye(3), answers=np.array([[0.0], [1.0], [5.0]]))
    result = run("few.npz", "--answers", "answers")
    assert result.exit_code == 1
    assert "give more contexts" in result.output
    data = json.loads(run("few.npz", "--answers", "answers", "--json").stdout)
    assert not data["decided"]
    smooth = 10.0 ** -np.arange(0, 16, 2)
    np.savez("smooth.npz", f=np.diag(smooth), g=np.eye(8))
    result = run("smooth.npz", "--gap", "1000")
    assert result.exit_code == 1
    assert "gap" in result.output


def test_models_with_weights_and_without(place) -> None:
    model = tiny("gpt2")
    model.save_pretrained("saved")
    found = json.loads(run("saved", "--query", "1", "--tokens", "2,3", "--json").stdout)
    assert found["effective_complexity"]["rank"] == found["dimension"] == model.config.n_embd
    assert found["diverse"]
    assert len(found["properties"]) == 1
    again = json.loads(run("saved", "--json").stdout)
    model.transformer.ln_f.bias.data.zero_()
    model.save_pretrained("saved")
    changed = json.loads(run("saved", "--json").stdout)
    assert again["effective_complexity"]["rank"] == changed["effective_complexity"]["rank"] + 1
    (place / "saved" / "model.safetensors").unlink()
    result = run("saved")
    assert result.exit_code == 0
    assert "measured as a small" in result.output or "random" in result.output


def test_a_factory_and_prompts(place) -> None:
    rng = np.random.default_rng(1)
    np.save("prompts.npy", rng.integers(0, 5, size=(60, 3)))
    result = run("mine.py:model", "--prompts", "prompts.npy", "--json")
    found = json.loads(result.stdout)
    assert found["contexts"] == 60
    assert "printed by the user's file" not in result.stdout


def test_soft_caps_are_refused(place) -> None:
    tiny("gemma2").save_pretrained("capped")
    result = run("capped")
    assert result.exit_code == 2
    assert "soft cap" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.npz"], "no such file"),
        (["folder.npz"], "folder.npz is a folder, not a file"),
        (["pipe.npz"], "pipe.npz is no ordinary file (a pipe or a device), which is not read"),
        (["all.npz", "--answers", "pipe.npz"], "pipe.npz is no ordinary file"),
        (["mine.py:model", "--prompts", "pipe.npz"], "pipe.npz is no ordinary file"),
        (["piped"], "piped/model.safetensors is no ordinary file"),
        (["f.npy"], "give the unembedding by --unembedding"),
        (["all.npz", "--answers", "nothing"], "has no array 'nothing'"),
        (["all.npz", "--hidden", "g"], "contexts"),
        (["all.npz", "--query", "1"], "makes contexts for a model"),
        (["all.npz", "--tokens", "1,2"], "give --after NAME"),
        (["all.npz", "--after", "after", "--tokens", "1,99"], "ids below 9"),
        (["all.npz", "--after", "seen", "--tokens", "1,2"], "match row by row"),
        (["all.npz", "--answers", "seen", "--after", "after", "--tokens", "1,2"], "one of the two"),
        (["all.npz", "--parallel", "1,2"], "two pairs of token ids"),
        (["all.npz", "--tokens", "a"], "separated by commas"),
        (["bad.npz"], "is no npz file of plain numbers"),
        (["objects.npy", "--unembedding", "g.npy"], "which are never opened"),
        (["text.npy", "--unembedding", "g.npy"], "not real numbers"),
        (["pickled"], "pickled weights only"),
        (["mine.py:bare"], "no linear output layer"),
        (["mine.py:model", "--hidden", "f"], "names an array"),
        (["mine.py:model", "--prompts", "f.npy"], "matrix of token ids"),
        (["mine.py:model", "--query", "99"], "token ids run from 0"),
        (["mine.py:model", "--answers", "seen"], "is no .npy, .npz or .safetensors file"),
        (["gpt2x"], "no file, folder, preset or model type"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(place, arguments, message) -> None:
    (place / "bad.npz").write_bytes(b"PK nonsense")
    np.save("objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    np.save("text.npy", np.array([["a"]]))
    (place / "pickled").mkdir()
    (place / "pickled" / "pytorch_model.bin").write_bytes(b"")
    (place / "folder.npz").mkdir()
    (place / "piped").mkdir()
    for pipe in ("pipe.npz", "piped/model.safetensors"):
        os.mkfifo(place / pipe)
    if arguments[:3] == ["all.npz", "--hidden", "g"]:
        arguments = [*arguments, "--answers", "seen"]
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1 or "printed by" in result.output
