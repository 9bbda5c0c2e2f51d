"""The commands of docs/checkpoints.md print what the page says."""

import copy
import re
import shlex
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from symgauge.cli import app
from tests.comparison.undescribed import model as undescribed
from tests.pairs.models import tiny_source
from tests.pairs.storing import rounded, save
from tests.pairs.table import PAIRS

PAGE = Path(__file__).parents[2] / "docs" / "checkpoints.md"
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.S)[1:]  # the first is an overview
MODELS = {
    "folded": "all norms folded, head untied",
    "folded-wrongly": "final norm folded into a tied table",
    "turned": "stream turned",
    "turned-int8": "stream turned, then int8",
    "turned-wrongly": "mean subtracted in one map, stream turned",
    "merged": "adapter of rank 2 merged",
    "heads": "heads and groups renumbered",
    "converted": "one projection for q, k, v (Phi-3)",
    "meta": "rotary channels interleaved (Meta)",
    "converted-wrongly": "rotary channels interleaved unsaid",
    "regrouped": "a group of keys and values missing",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the models that the page speaks of."""
    folder = tmp_path_factory.mktemp("models")
    tensors, config = tiny_source("llama")
    save(rounded(tensors, "float32"), config, folder / "model")
    pairs = {pair.name: pair for pair in PAIRS if pair.family == "llama"}
    for name, what in MODELS.items():
        pair = pairs[what]
        made = rounded(pair.made(tensors, config), pair.stored)
        save(made, {**config, **pair.config}, folder / name, pair.layout)
    _save_undescribed(folder)
    return folder


def _save_undescribed(folder):
    """GPT-J, one number of it changed, and its values scaled by what its outputs are divided by."""
    model = copy.deepcopy(undescribed("gptj"))
    state = model.state_dict()
    up, value, output = (f"transformer.h.0.{name}.weight" for name in ("mlp.fc_in", "attn.v_proj", "attn.out_proj"))
    changes = {
        "gptj": {}, "gptj-changed": {up: state[up] + torch.eye(*state[up].shape) * (torch.arange(16) == 3)},
        "gptj-rescaled": {value: 2.7 * state[value], output: state[output] / 2.7},
    }  # fmt: skip
    for name, change in changes.items():
        model.load_state_dict({**state, **change})
        model.float().save_pretrained(folder / name)
        model.double()


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.split("\n")[0][2:60])
def test_a_block_prints_what_it_says(block, place, monkeypatch):
    monkeypatch.chdir(place)
    for command, expected in re.findall(r"\$ symgauge (.*)\n((?:(?!\$ ).*\n)*)", block):
        found = CliRunner().invoke(app, shlex.split(command))
        assert found.exit_code == expected.startswith("different"), found.output
        pattern = "".join(".*" if part == "…" else re.escape(part) for part in re.split("(…)", expected.strip()))
        assert re.search(f"^{pattern}", found.stdout, re.S), f"{command} printed\n{found.stdout}"
