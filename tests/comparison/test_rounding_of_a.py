"""Whether A's own coarse grid explains a difference: it does where A was rounded and B was not, and not where B was
made of A's rounded numbers."""

import pytest
import torch

from symgauge.comparison import compare
from tests.comparison import edits as e
from tests.pairs.storing import int8, q4_1

GATE = e.NAME.format(1, "mlp.gate_proj")
Q = e.NAME.format(0, "self_attn.q_proj")
HEAD = "lm_head.weight"


def quantised(s, to=q4_1):
    return {n: to(x) if x.dim() == 2 else x.float() for n, x in s.items()}


@pytest.fixture(scope="module")
def model():
    return e.model(hidden_size=64, intermediate_size=96, vocab_size=96)


@pytest.fixture(scope="module")
def fine(model):
    return {name: x.float() for name, x in model.state_dict().items()}


def one_number(x):
    x = x.clone()
    x[2, 1] += 10 * x.square().mean().sqrt()
    return x


def exchanged(x):
    x = x.clone()
    x[[5, 6]] = x[[6, 5]]
    return x


def adapter(x):
    update = e.draw(len(x), 2, seed=8) @ e.draw(2, x.shape[1], seed=9)
    return x + 0.1 * x.norm() / update.norm() * update


def noise(x):
    return x + 0.02 * x.square().mean().sqrt() * e.draw(*x.shape)


def scaled(s, most):
    up, down = (e.NAME.format(1, f"mlp.{part}_proj") for part in ("up", "down"))
    factors = 1 + most * torch.linspace(-1, 1, len(s[up]), dtype=torch.float64)
    return {**s, up: factors.unsqueeze(-1) * s[up], down: s[down] / factors}


EXACT = {
    "nothing": lambda s: s,
    "neurons": lambda s: e.permute_neurons(s, 1, scale=False),
    "neurons scaled": lambda s: scaled(e.permute_neurons(s, 1, scale=False), 0.7),
    "neurons scaled by less than the grid": lambda s: scaled(s, 0.05),
    "values": lambda s: e.mix_values(s, 1),
    "planes": lambda s: e.turn_planes(s, 1),
    "folded": e.fold,
}
CHANGED = {
    "one number": (GATE, one_number, "1 of its 6,144 numbers differs"),
    "two tokens": (HEAD, exchanged, ""),
    "adapter": (Q, adapter, "rank 2"),
    "less than the grid": (GATE, noise, ""),
}


@pytest.fixture(autouse=True)
def sizes(monkeypatch):
    monkeypatch.setattr(e, "D", 64)
    monkeypatch.setattr(e, "INNER", 96)


@pytest.mark.parametrize("grid", [q4_1, int8], ids=["Q4_1", "int8"])
@pytest.mark.parametrize("what", EXACT)
def test_an_exact_change_of_a_coarse_model_is_exact(model, fine, what, grid):
    coarse = {name: x.double() for name, x in quantised(fine, grid).items()}
    other = {name: x.float() for name, x in EXACT[what](coarse).items()}
    found = compare(model_with(model, coarse), other)
    assert found.verdict == "equal", str(found)


@pytest.mark.parametrize("what", EXACT)
@pytest.mark.parametrize("change", CHANGED)
def test_the_grid_of_a_hides_no_change_of_b(model, fine, what, change):
    coarse = {name: x.double() for name, x in quantised(fine).items()}
    tensor, edit, words = CHANGED[change]
    other = {name: x.float() for name, x in EXACT[what]({**coarse, tensor: edit(coarse[tensor])}).items()}
    found = compare(model_with(model, coarse), other)
    assert (found.verdict, found.tensor) == ("different", tensor), str(found)
    assert words in found.reason


@pytest.mark.parametrize("grid", [q4_1, int8], ids=["Q4_1", "int8"])
@pytest.mark.parametrize("what", EXACT)
def test_a_model_and_its_quantisation_are_equal_in_both_directions(model, fine, what, grid):
    other = {name: x.float() for name, x in EXACT[what](model.state_dict()).items()}
    coarse = quantised(fine, grid)
    for pair in ((model_with(model, coarse), other), (model, quantised(other, grid))):
        found = compare(*pair)
        assert found.verdict == "equal-to-stored-precision", str(found)


def model_with(model, s):
    import copy

    other = copy.deepcopy(model)
    other.load_state_dict(s)
    return other.float()
