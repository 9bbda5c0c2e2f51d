"""`symgauge account` as a user meets it."""

from __future__ import annotations

import json

import pytest
import torch
from typer.testing import CliRunner, Result

from symgauge.cli import app
from symgauge.symmetries.attention_biases import KeyBias

FILE = """
import symgauge
from torch import nn

def attention():
    return symgauge.Architecture(4, 2, 3, 2, key_bias=True, query_bias=True)

def few():
    return symgauge.Architecture(4, 2, 3, 2, vocabulary=3, context=2)

def other():
    return nn.Linear(3, 2), symgauge.Vectors(1, 3)

def tiny():
    from symgauge.models.huggingface import tiny
    return tiny("gpt2", n_embd=4, n_head=2, n_inner=3, vocab_size=9, n_positions=4)
"""


@pytest.fixture
def account(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FILE)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["account", *arguments])

    return run


def test_every_direction_of_an_attention_layer(account) -> None:
    done = account("mine.py:attention", "--json")
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    assert {name: share["gain"] for name, share in data["families"].items()} == {
        "query-key": 18, "value-output": 8, "key-bias": 6
    }  # fmt: skip
    assert (data["nullity"], data["explained"], data["unexplained"], data["formula"]) == (32, 32, 0, 32)
    assert data["complete"] is data["decided"] is True
    assert not any(share["violations"] for share in data["families"].values())


def test_the_table(account) -> None:
    done = account("mine.py:attention")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["key-bias", "6", "6", "0"] in lines
    assert ["unexplained", "0"] in lines
    assert ["formula", "32"] in lines


def test_a_forgotten_family_shows_up_as_unexplained(account, monkeypatch) -> None:
    monkeypatch.setattr("symgauge.symmetries.group.REGISTRY", _without(KeyBias))
    data = json.loads(account("mine.py:attention", "--json").stdout)
    assert (data["nullity"], data["formula"], data["unexplained"]) == (32, 26, 6)
    assert data["complete"] is False
    lines = [line.split() for line in account("mine.py:attention").stdout.splitlines()]
    assert ["unexplained", "6"] in lines


def test_a_family_that_does_not_hold_is_undecided(account, monkeypatch) -> None:
    monkeypatch.setattr("symgauge.symmetries.attention_biases.KeyBias.sites", _wrong_sites)
    done = account("mine.py:attention", "--json")
    assert done.exit_code == 1
    assert "generators lie outside the kernel: key-bias (8)" in done.stderr
    assert json.loads(done.stdout)["families"]["key-bias"]["violations"] == 8


def test_a_transformers_model(account) -> None:
    done = account("mine.py:tiny", "--json", "--inputs", "tokens:9,4")
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["unexplained"] == 0
    assert data["nullity"] == data["formula"]


def test_too_few_inputs_are_undecided(account) -> None:
    done = account("mine.py:few")
    assert done.exit_code == 1
    assert done.stderr.startswith("undecided: ")


def test_other_modules_are_referred_to_dim(account) -> None:
    done = account("mine.py:other")
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "a factory that returns a symgauge.Architecture; `symgauge dim` measures any module" in done.stderr


def _without(kind):
    from symgauge.symmetries.group import REGISTRY

    return tuple(family for family in REGISTRY if family is not kind)


def _wrong_sites(self, a, w):
    """A map of the output matrix that is no symmetry."""
    from sympy import Integer

    from symgauge.symmetries.base import Site

    role = "layers.0.attention.output.weight"

    def act(roles, x):
        return {role: roles[role] + x.reshape(roles[role].shape[0], 1, -1)}

    return [Site(0, Integer(8), 8, act, lambda generator: torch.ones(8))]
