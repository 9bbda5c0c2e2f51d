"""`symgauge account` as a user meets it."""

from __future__ import annotations

import json

import pytest
import torch
from typer.testing import CliRunner, Result

import symgauge
from symgauge.cli import app
from symgauge.symmetries.catalogue.key_bias import KeyBias
from symgauge.symmetries.symbols import values

FILE = '''
import symgauge
from torch import nn

def attention():
    return symgauge.Architecture(4, 2, 3, 2, key_bias=True, query_bias=True)

def few():
    return symgauge.Architecture(4, 2, 3, 2, vocabulary=3, context=2)

class Product(nn.Module):
    """x ↦ A B x + D relu(C x + c): GL(2) between A and B, and one scale per hidden unit."""

    def __init__(self):
        super().__init__()
        self.b, self.a = nn.Linear(3, 2, bias=False), nn.Linear(2, 4, bias=False)
        self.c, self.d = nn.Linear(3, 2), nn.Linear(2, 4)

    def forward(self, x):
        return self.a(self.b(x)) + self.d(self.c(x).relu())

def product():
    return Product(), symgauge.Vectors(1, 3)

def tiny():
    from symgauge.models.huggingface import tiny
    return tiny("gpt2", n_embd=4, n_head=2, n_inner=3, vocab_size=9, n_positions=4)
'''


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
    assert {name: share["new_directions"] for name, share in data["families"].items()} == {
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


def timeless(data: dict) -> dict:
    """Without seconds, here and inside."""
    return {key: timeless(v) if isinstance(v, dict) else v for key, v in data.items() if key != "seconds"}


@pytest.mark.parametrize("target", ["mine.py:attention", "mine.py:product", "gpt2"])
def test_python_says_what_the_command_says(account, target: str) -> None:
    data, found = json.loads(account(target, "--json").stdout), symgauge.account(target)
    assert data.pop("target") == target
    assert timeless(data) == timeless(json.loads(json.dumps(found.as_dict())))

    def lines(text: str) -> list[str]:
        return [line.rstrip() for line in text.strip().splitlines() if "seconds" not in line]

    assert lines(account(target).stdout) == lines(str(found))


def test_a_preset_is_counted_at_full_size(account) -> None:
    found = symgauge.account("gpt2", families=["query-key"])
    assert found.full_size.dimension == 1_346_584
    assert found.formula == found.fibre.nullity
    assert found.formula_in_letters.subs(values(found.architecture)) == found.formula
    assert found.notes[0].startswith("gpt2 is measured scaled down: d_model 768 →")
    shown = " ".join(str(found).split())
    assert "gpt2 at full size, 124,439,808 parameters" in shown


def test_degenerate_sizes_are_named(account) -> None:
    found = symgauge.account("mine.py:few")
    assert found.unexplained > 0
    assert "tokens and positions are too few for contexts that show all parameters" in found.possible_reasons
    assert "possible reason: tokens and positions are too few" in account("mine.py:few").stdout


def test_a_forgotten_family_shows_up_as_unexplained(account, monkeypatch) -> None:
    monkeypatch.setattr(KeyBias, "applies", lambda *_: False)
    data = json.loads(account("mine.py:attention", "--json").stdout)
    assert (data["nullity"], data["formula"], data["unexplained"]) == (32, 26, 6)
    assert data["complete"] is False
    lines = [line.split() for line in account("mine.py:attention").stdout.splitlines()]
    assert ["unexplained", "6"] in lines


def test_a_family_that_does_not_hold_is_undecided(account, monkeypatch) -> None:
    monkeypatch.setattr(KeyBias, "sites", _wrong_sites)
    done = account("mine.py:attention", "--json")
    assert done.exit_code == 1
    assert "generators lie outside the kernel: key-bias (8); of key-bias' 8 directions none hold" in done.stderr
    assert json.loads(done.stdout)["families"]["key-bias"]["violations"] == 8


def test_a_transformers_model(account) -> None:
    done = account("mine.py:tiny", "--json", "--inputs", "tokens:9,4")
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["unexplained"] == 0
    assert data["nullity"] == data["formula"]


def test_of_few_inputs_all_are_used(account) -> None:
    """Nine inputs do not show the families' dimension, but they are all there are: the number is decided."""
    data = json.loads(account("mine.py:few", "--json").stdout)
    assert data["decided"] is data["exhausted"] is True
    assert data["unexplained"] > 0


def test_other_modules_are_explained_by_their_tensors(account) -> None:
    done = account("mine.py:product", "--json")
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["tensor_sets"] == [
        {"tensors": ["b.weight", "a.weight"], "dimension": 4, "new_directions": 4},
        {"tensors": ["c.weight", "c.bias", "d.weight"], "dimension": 2, "new_directions": 2},
    ]
    assert (data["architecture"], data["formula"], data["families"]) == (None, None, {})
    assert (data["nullity"], data["explained"], data["unexplained"]) == (6, 6, 0)
    done = account("mine.py:product")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["b.weight", "+", "a.weight", "4", "4"] in lines
    assert ["unexplained", "0"] in lines
    text = " ".join(done.stdout.split())
    assert "no architecture is known (Product is not a transformers model: it has no config.model_type)" in text
    assert "formula" not in text


def test_families_without(account) -> None:
    data = json.loads(account("mine.py:attention", "--json", "--without", "key-bias, value-output").stdout)
    assert list(data["families"]) == ["query-key"]
    assert (data["explained"], data["unexplained"], data["left"]) == (18, 14, 0)
    assert [s["new_directions"] for s in data["tensor_sets"]] == [6, 8]
    assert data["decided"] is True
    lines = [line.split() for line in account("mine.py:attention", "--families", "query-key").stdout.splitlines()]
    assert ["layers__0__attention__key__bias", "6", "6"] in lines
    assert ["layers__0__attention__value__weight", "+", "layers__0__attention__output__weight", "8", "8"] in lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mine.py:attention", "--without", "keybias"), "there is no family 'keybias'; did you mean 'key-bias'"),
        (("mine.py:attention", "--families", "zzz"), "there is no family 'zzz'; known are gated-rescale, "),
        (
            ("mine.py:product", "--families", "query-key"),
            "roles of an architecture, and no architecture is known (Product",
        ),
        (("mine.py:attention", "--inputs", "tokens:5,3"), "without a vocabulary inputs must be Vectors(length, 4)"),
        (("mine.py:attention", "--inputs", "vectors:3,5"), "inputs have width 5, but d_model = 4"),
        (("mine.py:attention", "--seed", str(2**63)), "--seed must be an integer from 0 to 2^63 - 1"),
        (("mine.py:attention", "--device", "gpu"), "--device 'gpu': choose cpu or cuda; write 'cuda' for a graphics"),
        (("mine.py:attention", "--device", "cuda:99"), "--device cuda:99: torch sees"),
    ],
)
def test_refusals(account, arguments, message) -> None:
    done = account(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


def _wrong_sites(self, a, graph):
    """A map of the output matrix that is no symmetry."""
    from sympy import Integer

    from symgauge.symmetries.base import Site

    role = "layers.0.attention.output.weight"

    def act(roles, x):
        return {role: roles[role] + x.reshape(roles[role].shape[0], 1, -1)}

    return [Site(0, Integer(8), 8, act, lambda generator: torch.ones(8))]
