"""Tables read a block of rows at a time give what they give whole, and no more than a block is in memory."""

import re
from importlib import import_module

import pytest
import torch

from symgauge.checkpoints import Checkpoint
from symgauge.checkpoints import rows as blocks
from symgauge.checkpoints.rows import Rows
from symgauge.comparison import compare
from symgauge.comparison.rounding import looks_like_rounding, stands_out
from symgauge.comparison.stored_precision import precision_of
from symgauge.models.huggingface import tiny
from tests.comparison import edits as e
from tests.comparison.test_compare import EMBED, HEAD, everything

LENGTH = 6


def cut(x, length=LENGTH):
    return Rows(tuple(x.shape), lambda start, stop: x[start:stop], length * x.shape[1])


@pytest.fixture(scope="module")
def model():
    return e.model()


def levels(found):
    return [(r.role, r.precision, r.level) for r in found.residuals]


CHANGES = {
    "everything": everything,
    "bfloat16": lambda s: {name: x.bfloat16() for name, x in everything(s).items()},
    "a row of the table": e.change(EMBED, lambda x: x.index_add(0, torch.tensor([31]), e.draw(1, e.D))),
    "rows of the head": e.change(HEAD, lambda x: x.index_add(0, torch.tensor([3, 31]), e.draw(2, e.D))),
    "the table scaled": e.change(EMBED, lambda x: 1.5 * x),
    "means of the table subtracted": e.change(EMBED, lambda x: x - x.mean(-1, keepdim=True)),
    "a number of the table": e.change(EMBED, lambda x: x + torch.eye(*x.shape) * (torch.arange(len(x)) == 9)[:, None]),
    "an update of the head": e.change(HEAD, lambda x: x + 0.1 * e.draw(len(x), 1) @ e.draw(1, x.shape[1])),
}


@pytest.mark.parametrize("what", CHANGES)
def test_blocks_give_what_the_whole_gives(model, what, monkeypatch):
    other = CHANGES[what](model.state_dict())
    whole = compare(model, other)
    monkeypatch.setattr(blocks, "BLOCK", LENGTH * e.D)
    cut_up = compare(model, other)
    # A block of the head is one of rows, where the whole is a map with output channels.
    words = [re.sub(r"\d\.?\d*e-\d+|rows \(3, 31\)|output channels", "…", x.reason) for x in (cut_up, whole)]
    assert (cut_up.verdict, cut_up.tensor, words[0]) == (whole.verdict, whole.tensor, words[1])
    assert levels(cut_up) == levels(whole)
    for one, two in zip(cut_up.residuals, whole.residuals, strict=True):
        assert one.value == pytest.approx(two.value, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("model_type", ["bert", "gpt2", "opt"])
def test_of_tables_with_layernorms_and_positions(model_type, monkeypatch):
    model = tiny(model_type, 1)
    other = {name: x + x.mean() if name.endswith("embeddings.weight") else x for name, x in model.state_dict().items()}
    whole = [compare(model, x, config=model.config.to_dict()) for x in (model.state_dict(), other)]
    monkeypatch.setattr(blocks, "BLOCK", 32)
    cut_up = [compare(model, x, config=model.config.to_dict()) for x in (model.state_dict(), other)]
    assert [(x.verdict, x.tensor) for x in cut_up] == [(x.verdict, x.tensor) for x in whole]


def test_no_table_is_read_whole(model, monkeypatch, tmp_path):
    model.save_pretrained(tmp_path)
    monkeypatch.setattr(blocks, "BLOCK", LENGTH * e.D)
    sizes = []
    made = Rows.__iter__

    def watched(self):
        for block in made(self):
            sizes.append((len(block), self.shape))
            yield block

    monkeypatch.setattr(Rows, "__iter__", watched)
    monkeypatch.setattr(import_module("symgauge.comparison.compare"), "_LADDER", 0)  # which is for small models alone
    read = Checkpoint.read
    whole = set()
    monkeypatch.setattr(Checkpoint, "read", lambda self, name: (whole.add(name), read(self, name))[1])
    assert compare(tmp_path, model.state_dict()).verdict == "equal"
    assert max(length for length, shape in sizes if shape == (e.VOCABULARY, e.D)) == LENGTH
    assert not whole & {EMBED, HEAD}


@pytest.mark.parametrize("shape", [(40, 24), (41, 24)])
def test_the_look_of_rounding(shape):
    noise, update = e.draw(*shape), e.draw(shape[0], 1) @ e.draw(1, shape[1], seed=3)
    for x, expected in ((noise, True), (update, False), (noise * (e.draw(*shape, seed=4) > 2), False)):
        assert looks_like_rounding(cut(x)) == looks_like_rounding(x) == expected
    one = torch.zeros(shape, dtype=torch.float64)
    one[37, 3] = 1e-3
    for allowed, expected in ((1e-6, True), (1e-3, False)):
        assert stands_out(cut(one), cut(noise), allowed) == stands_out(one, noise, allowed) == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_grid_of_the_numbers(dtype):
    x = e.draw(40, 24).to(dtype).double()
    assert precision_of(cut(x), "float64") == precision_of(x, "float64")
    x[39, 23] = 1 / 3
    assert precision_of(cut(x), "float64").name == "float64"


def test_what_is_done_to_blocks():
    x, y = e.draw(40, 5), e.draw(40, 5, seed=2)
    rows = cut(x)
    assert [len(block) for block in rows] == [6] * 6 + [4]
    assert torch.allclose(rows.gram(cut(y)), x.mT @ y)
    assert torch.allclose(rows.minus(cut(y)).column_mean(), (x - y).mean(0))
    assert torch.equal(rows.take(torch.tensor([7, 0])), x[[7, 0]])
    assert torch.equal(rows.per_row(lambda block: block.sum(-1)), x.sum(-1))
    assert rows.largest() == float(x.abs().max())
    assert rows.norm() == pytest.approx(float(x.norm()))
