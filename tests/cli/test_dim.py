"""`symgauge dim` as a user meets it: numbers, JSON, exit status, and one sentence for whatever goes wrong."""

from __future__ import annotations

import json
import sys
import threading
import time

import pytest
from typer.testing import CliRunner, Result

from symgauge import presets
from symgauge.architecture import Rotary
from symgauge.cli import app
from symgauge.commands import _measuring
from symgauge.commands._measuring import Options, _progress
from symgauge.model_graph import graph_of

FILE = """
import torch, symgauge
from torch import nn

def linear():
    print("printed by the user's file")
    return nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)), symgauge.Vectors(1, 3)

class Mixed(nn.Module):
    # Every position needs the roots of all others, five times over.
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
    def forward(self, x):
        for _ in range(5):
            x = self.linear(x)
            x = x / x.square().sum(-1, keepdim=True).sqrt()
            x = x + x.cumsum(1) * x.flip(1)
        return x

def few():
    return Mixed(), symgauge.Vectors(8, 3)

class Shape(nn.Module):
    def forward(self, x): raise NotImplementedError("not yet")

def failing():
    return nn.Sequential(nn.Linear(3, 3), Shape()), symgauge.Vectors(1, 3)

class Svd(nn.Module):
    def forward(self, x): return torch.linalg.svd(x)[1]

def unsupported():
    return nn.Sequential(nn.Linear(3, 3), Svd()), symgauge.Vectors(3, 3)

def misfit():
    return nn.Linear(3, 3), symgauge.Vectors(1, 4)

def constant():
    class Nothing(nn.Module):
        def forward(self, x): return x
    return Nothing(), symgauge.Vectors(1, 4)

def large():
    return nn.Linear(32, 32, bias=False), symgauge.Vectors(1, 32)

def poisoned():
    module = nn.Linear(3, 3)
    module.weight.data[0, 0] = float("nan")
    return module, symgauge.Vectors(1, 3)
"""


@pytest.fixture
def dim(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FILE)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["dim", *arguments])

    return run


def test_the_dimension_of_two_linear_layers(dim) -> None:
    done = dim("mine.py:linear", "--json", "--seed", "3")
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    # An affine map from three to two entries.
    assert (data["parameters"], data["rank"], data["nullity"]) == (26, 6 + 2, 18)
    assert data["by_tensor"] == {"0.weight": 12, "0.bias": 4, "1.weight": 8, "1.bias": 2}
    assert data["saturated"] is data["agree"] is data["decided"] is True
    assert data["seed"] == 3
    assert len(data["primes"]) == 2
    assert data["probes"] > 10
    assert 0 < data["failure_bound"] < 1e-6
    assert data["seconds"] > 0
    assert data["full_size"] is None
    assert "printed by the user's file" in done.stderr


def test_the_table(dim) -> None:
    done = dim("mine.py:linear")
    assert done.exit_code == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["parameters", "26"] in lines
    assert ["nullity", "(fibre", "dimension)", "18", "(69.2", "%)"] in lines
    assert ["0.weight", "12", "12"] in lines
    assert done.stderr == ""


def test_options_reach_the_engine(dim) -> None:
    more = ("--output", "probabilities", "--primes", "2147483579", "--point", "own")
    data = json.loads(dim("mine.py:linear", "--json", *more).stdout)
    assert (data["output"], data["primes"]) == ("probabilities", [2147483579])
    # A shift of both outputs is not seen: an affine map from three entries to their difference is left.
    assert data["rank"] == 3 + 1


def test_a_rank_that_cannot_settle_is_undecided(dim) -> None:
    done = dim("mine.py:few", "--json", "--rounds", "1")
    assert done.exit_code == 1
    data = json.loads(done.stdout)
    assert data["decided"] is data["saturated"] is False
    assert data["reason"] in done.stderr
    assert done.stderr.startswith("undecided: ")
    assert dim("mine.py:few", "--rounds", "1").exit_code == 1


def test_a_preset_is_scaled_down_and_evaluated_at_full_size(dim, monkeypatch) -> None:
    small = presets.preset("falcon-7b").replace(
        d_model=4, heads=2, d_k=2, d_v=3, d_ff=2, layers=1, vocabulary=13, context=4, rotary=Rotary.standard(2)
    )
    monkeypatch.setattr("symgauge.subjects.preset.scaled_down", lambda a: small)
    data = json.loads(dim("falcon-7b", "--json").stdout)
    assert "falcon-7b is measured scaled down: d_model 4,544 → 4" in data["notes"][0]
    assert data["parameters"] == graph_of(small).parameters < 200
    assert data["full_size"]["nullity"] == sum(f["dimension"] for f in data["full_size"]["families"].values())
    assert data["full_size"]["parameters"] == 6_921_720_704
    shown = dim("falcon-7b").stdout
    assert "falcon-7b at full size, 6,921,720,704 parameters" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.py:f",), "nothing.py: no such file"),
        (("mine.py:f",), "mine.py has no 'f'"),
        (
            ("mine.py:failing",),
            "running Sequential on Vectors(length=1, width=3) raised NotImplementedError: not yet, in module '1' "
            "(Shape), at mine.py",
        ),
        (("mine.py:misfit",), "running Linear on Vectors(length=1, width=4) raised RuntimeError: mat1 and mat2"),
        (("mine.py:unsupported",), "_linalg_svd is not exact over a finite field"),
        (("mine.py:constant",), "Nothing has no parameters, so there is no fibre to measure"),
        (("mine.py:poisoned", "--point", "own"), "parameters ['weight'] hold NaN or infinite entries"),
        (("mine.py:linear", "--primes", "15"), "modulus 15"),
        (("mine.py:linear", "--primes", "a"), "--primes 'a': write integers separated by commas"),
        (("mine.py:linear", "--primes", "2147483579,2147483579"), "primes must be one or more distinct primes"),
        (("mine.py:linear", "--inputs", "x"), "--inputs 'x' is not understood"),
        (("mine.py:linear", "--output", "x"), "--output 'x': choose logits or probabilities"),
        (("mine.py:linear", "--point", "x"), "--point 'x': choose random or own"),
        (("mine.py:linear", "--device", "tpu"), "--device 'tpu': choose cpu or cuda"),
        (("model.pt",), "model.pt: pickled checkpoints are not opened"),
        (("gpt3",), "there is no file, folder, preset or model type 'gpt3'"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(dim, arguments, message) -> None:
    done = dim(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"symgauge: {message}")
    assert len(done.stderr.splitlines()) == 1


def test_cuda_is_refused_where_there_is_none(dim, monkeypatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    done = dim("mine.py:linear", "--device", "cuda")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "torch sees no CUDA device here" in done.stderr


def test_the_traceback_on_request(dim) -> None:
    assert dim("mine.py:failing").stderr.endswith("(--traceback shows all of it)\n")
    done = dim("mine.py:failing", "--traceback")
    assert done.exit_code == 2
    assert "Traceback" in done.stderr
    assert "in forward" in done.stderr


def _options(json: bool) -> Options:
    return Options("logits", "random", (7,), "cpu", 0, 1, json, False)


def test_a_terminal_sees_a_bar(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with _progress(_options(False)) as show:
        show("prime 7", 3, 9)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "rank, prime 7" in captured.err


@pytest.mark.parametrize("terminal", [True, False])
def test_elsewhere_there_is_a_line_now_and_then(monkeypatch, capsys, terminal) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr(_measuring, "PAUSE", 0.05)
    with _progress(_options(json=terminal)) as show:
        time.sleep(0.12)
        show("prime 7", 3, 9)
        time.sleep(0.12)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "looking for probes" in captured.err
    assert "prime 7: rank 3 of at most 9" in captured.err
    before = threading.active_count()
    with _progress(_options(json=terminal)):
        pass
    assert threading.active_count() == before


def test_what_takes_long_is_announced(dim, monkeypatch) -> None:
    monkeypatch.setattr(_measuring, "SILENT", 0.0)
    done = dim("mine.py:linear", "--json")
    assert done.stderr.splitlines()[-1].startswith("symgauge: Sequential, 26 parameters: about ")
    assert json.loads(done.stdout)["nullity"] == 18


def test_what_memory_does_not_hold_is_refused_at_once(dim, monkeypatch) -> None:
    monkeypatch.setattr("symgauge.estimate.free_memory", lambda: 3.1e8)
    done = dim("mine.py:large")
    assert done.exit_code == 2
    assert "symgauge: 1,024 parameters need some 0.3 GB for their Jacobian" in done.stderr


def test_an_interruption_is_one_line(dim, monkeypatch) -> None:
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("symgauge.measurement.dimension", stop)
    done = dim("mine.py:large")
    assert (done.exit_code, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "symgauge: interrupted"


def test_a_configuration_is_measured_at_its_own_weights(dim, tmp_path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_embd": 4, "n_head": 2, "n_inner": 3, "n_layer": 1, "vocab_size": 7, "n_positions": 3}
    GPT2LMHeadModel(GPT2Config(**sizes)).save_pretrained(tmp_path / "model")
    data = json.loads(dim("model", "--point", "own", "--json").stdout)
    assert data["module"] == "GPT2LMHeadModel"
    assert any("at the folder's own weights" in note for note in data["notes"])
    refused = dim("model/config.json", "--point", "own")
    assert refused.exit_code == 2
    assert "a configuration has no weights" in refused.stderr
