"""The commands of docs/checkpoints.md print what the page says."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from symgauge.cli import app
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
    return folder


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.split("\n")[0][2:60])
def test_a_block_prints_what_it_says(block, place, monkeypatch):
    monkeypatch.chdir(place)
    for command, expected in re.findall(r"\$ symgauge (.*)\n((?:(?!\$ ).*\n)*)", block):
        found = CliRunner().invoke(app, shlex.split(command))
        assert found.exit_code == expected.startswith("different"), found.output
        pattern = "".join(".*" if part == "…" else re.escape(part) for part in re.split("(…)", expected.strip()))
        assert re.search(f"^{pattern}", found.stdout, re.S), f"{command} printed\n{found.stdout}"
