"""Neurons that add nothing or do one work together: what is in them is no difference, nor how many there are."""

from dataclasses import replace

import pytest
import torch

from symgauge.checkpoints import open_checkpoint
from symgauge.comparison import compare
from symgauge.models.huggingface import tiny
from tests.comparison import edits as e

GATE, UP, DOWN = (e.NAME.format(1, f"mlp.{part}_proj") for part in ("gate", "up", "down"))
FC1, FC1_BIAS, FC2 = (f"model.decoder.layers.1.{part}" for part in ("fc1.weight", "fc1.bias", "fc2.weight"))


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(scope="module")
def pruned():
    """Neuron 2 writes nothing, 3 reads nothing, 6 has no gate; 4 and 5 have one gate, 7 and 8 one input as well."""
    s = {name: x.double().clone() for name, x in e.model().state_dict().items()}
    s[DOWN][:, 2] = 0
    s[UP][3] = 0
    s[GATE][6] = 0
    s[GATE][5] = s[GATE][4]
    s[GATE][8], s[UP][8] = s[GATE][7], s[UP][7]
    return s


def changed(s, **rows):
    """With other rows (columns of the outgoing map)."""
    found = {name: x.clone() for name, x in s.items()}
    for name, (neuron, value) in rows.items():
        x = found[{"gate": GATE, "up": UP, "down": DOWN}[name]]
        (x.mT if name == "down" else x)[neuron] = value
    return found


def mixed(s, first=4):
    """Two with one gate, by an invertible matrix."""
    found, m, two = changed(s), numbers(2, 2, seed=1), slice(first, first + 2)
    found[UP][two] = m @ found[UP][two]
    found[DOWN][:, two] = found[DOWN][:, two] @ torch.linalg.inv(m)
    return found


FREE = {
    "what a silent neuron reads": lambda s: changed(s, gate=(2, 1.0), up=(2, -2.0)),
    "what one that hears nothing writes": lambda s: changed(s, gate=(3, 1.0), down=(3, -2.0)),
    "silent from the other end": lambda s: changed(s, down=(2, 1.0), up=(2, 0.0)),
    "what one without a gate reads and writes": lambda s: changed(s, up=(6, 1.0), down=(6, -2.0)),
    "two with one gate": mixed,
    "two that are one": lambda s: mixed(s, 7),
    "one that did the work of two": lambda s: changed(s, up=(8, 0.0), down=(7, s[DOWN][:, 7] + s[DOWN][:, 8])),
    "all of it, and a rotation": lambda s: e.rotate(e.fold(e.permute_neurons(mixed(changed(s, gate=(3, 1.0))), 1))),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("what", FREE)
def test_what_adds_the_same_is_equal(pruned, what, dtype):
    other = {name: x.to(dtype) for name, x in FREE[what](pruned).items()}
    found = compare(pruned, other, config=e.model().config.to_dict())
    assert found.verdict == "equal", str(found)
    assert found.function.logits <= found.function.allowed


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        (DOWN, lambda s: changed(s, gate=(3, 1.0), down=(9, s[DOWN][:, 9] * 1.01))),
        (DOWN, lambda s: changed(s, down=(4, s[DOWN][:, 4] * 1.01))),
        (GATE, lambda s: changed(s, gate=(4, s[GATE][4] * 1.01))),
    ],
)
def test_what_adds_something_else_is_named(pruned, name, edit):
    found = compare(pruned, edit(pruned), config=e.model().config.to_dict())
    assert (found.verdict, found.tensor) == ("different", name), str(found)


def wider(model, scale=1.0):
    """An OPT whose neuron 0 is done by two, of which one is three times as large, in another order."""
    s = {name: x.double().clone() for name, x in model.state_dict().items()}
    order = torch.randperm(model.config.ffn_dim + 1, generator=torch.Generator().manual_seed(2))
    for i in range(model.config.num_hidden_layers):
        into, bias, out = (name.replace("layers.1", f"layers.{i}") for name in (FC1, FC1_BIAS, FC2))
        s[into] = torch.cat([s[into], 3 * s[into][:1]])[order]
        s[bias] = torch.cat([s[bias], 3 * s[bias][:1]])[order]
        column = s[out][:, :1].clone()
        s[out] = torch.cat([0.4 * column, s[out][:, 1:], scale * 0.2 * column], 1)[:, order]
    return s, {**model.config.to_dict(), "ffn_dim": model.config.ffn_dim + 1}


def opened(tensors, config):
    """A checkpoint in memory with a configuration of its own."""
    return replace(open_checkpoint(dict(tensors)), config=config)


def test_hidden_layers_of_two_widths_are_compared():
    model = tiny("opt", 2)
    found = compare(model, opened(*wider(model)))
    assert found.verdict == "equal", str(found)
    assert not found.element.tensors
    assert any("neurons a layer" in note for note in found.notes)
    found = compare(opened(*wider(model, 1.1)), model)
    assert (found.verdict, found.tensor) == ("different", FC2.replace("layers.1", "layers.0")), str(found)
