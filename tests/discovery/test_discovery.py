"""What is found of modules nobody described, against what pen and paper say; and what must not be found."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import Tensor, nn

import symgauge
from symgauge.discovery.discovery import discover


class Attention(nn.Module):
    """Two heads, with biases on values and outputs."""

    def __init__(self, d: int = 4, d_k: int = 3, d_v: int = 2) -> None:
        super().__init__()
        self.q, self.k = nn.Linear(d, 2 * d_k, bias=False), nn.Linear(d, 2 * d_k, bias=False)
        self.v, self.o = nn.Linear(d, 2 * d_v), nn.Linear(2 * d_v, d)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (y.unflatten(-1, (2, -1)).transpose(1, 2) for y in (self.q(x), self.k(x), self.v(x)))
        return self.o((torch.softmax(q @ k.mT, -1) @ v).transpose(1, 2).flatten(2))


class Normed(nn.Module):
    """A stream between two tables with a norm's gain in the way: rotations are affine only where it is held."""

    def __init__(self, d: int = 3, width: int = 4) -> None:
        super().__init__()
        self.read, self.norm = nn.Linear(5, d, bias=False), nn.RMSNorm(d, eps=0.0)
        self.write = nn.Linear(d, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.write(self.norm(self.read(x)))


class Cubed(nn.Module):
    """F = (a + b³)x: the fibre is a curve that no affine field runs along."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(1, 1)), nn.Parameter(torch.randn(1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return (self.a + self.b**3) * x


class Unused(nn.Module):
    """One tensor that the function depends on, and one that it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.seen, self.unseen = nn.Linear(2, 2, bias=False), nn.Parameter(torch.randn(3))

    def forward(self, x: Tensor) -> Tensor:
        return self.seen(x) + 0 * self.unseen.sum()


class Fixed(nn.Module):
    """Nothing is free: every neuron has a scale of its own that is no parameter, and smooth activation."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(2, 3), nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(torch.nn.functional.gelu(self.up(x)) * torch.tensor([1.0, 2.0, 3.0], dtype=x.dtype))


def relu() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))


def linear() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 4, bias=False))


CASES = {
    "linear": (linear, 3, {"gl(2)": 1}, {}, 2),
    "relu": (relu, 2, {"gl(1, ℝ)": 3}, {}, 6),
    "attention": (Attention, 4, {"gl(3)": 2, "aff(2) = gl(2) ⋉ ℝ²": 2}, {}, None),
    "normed": (Normed, 5, {"so(3)": 1, "gl(1, ℝ)": 1}, {"norm.weight": 3}, None),
    "unused": (Unused, 2, {"ℝ³": 1}, {}, None),
    "fixed": (Fixed, 2, {}, {}, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_the_algebra_is_that_of_pen_and_paper(name: str) -> None:
    make, width, algebras, frozen, order = CASES[name]
    inputs = symgauge.Vectors(length=3, width=width)
    found = discover(make(), inputs, discrete=order is not None)
    assert Counter(ideal.algebra for ideal in found.ideals) == algebras
    assert found.frozen == frozen
    assert found.unexplained == 0
    assert found.explained == found.nullity == symgauge.dimension(make(), inputs).nullity
    assert all(flow.holds for flow in found.flows)
    assert found.failure_bound < 1e-9
    if order is not None:
        assert found.discrete is not None
        assert found.discrete.order == order


def test_what_no_affine_field_explains_is_left_and_named() -> None:
    found = discover(Cubed(), symgauge.Vectors(length=1, width=2))
    assert (found.nullity, found.explained, found.unexplained) == (1, 0, 1)
    assert [(each.tensors, each.new_directions) for each in found.rest.sets] == [(("a", "b"), 1)]
    assert len(found.tried) > 2


def test_frozen_directions_that_nothing_affine_moves_are_counted() -> None:
    module = Cubed()
    module.a = nn.Parameter(torch.randn(1))
    found = discover(module, symgauge.Vectors(length=1, width=2))
    assert (found.frozen, found.frozen_unmoved, found.unexplained) == ({"a": 1}, 1, 0)
    assert discover(Normed(), symgauge.Vectors(length=3, width=5), discrete=False).frozen_unmoved == 0


def test_actions_are_read_as_a_person_writes_them() -> None:
    found = discover(Attention(), symgauge.Vectors(length=3, width=4), discrete=False)
    actions = [ideal.action for ideal in found.ideals]
    assert "q.weight[0:3] ↦ A ·; k.weight[0:3] ↦ A⁻ᵀ ·" in actions
    (value,) = [a for a in actions if a.startswith("v.weight[0:2]")]
    assert "o.weight[:, 0:2] ↦ · A⁻¹" in value
    assert "o.bias ↦ o.bias − o.weight[:, 0:2]·c" in value


def test_another_seed_finds_the_same() -> None:
    first, second = (discover(Normed(), symgauge.Vectors(length=2, width=5), seed=s, discrete=False) for s in (0, 7))
    told = [[(i.algebra, i.action) for i in each.ideals] for each in (first, second)]
    assert told[0] == told[1]


class Weighted(nn.Module):
    """A function of named parameters that weights its input."""

    def __init__(self, weight, *shapes) -> None:
        super().__init__()
        self.weight, self.parts = weight, nn.ParameterList(torch.randn(shape) for shape in shapes)

    def forward(self, x: Tensor) -> Tensor:
        return self.weight(*self.parts) * x


def test_numbers_are_shifted_too() -> None:
    found = discover(Weighted(lambda a, b: torch.softmax(torch.stack([a, b]), 0)[0], (), ()), symgauge.Vectors(1, 2))
    (ideal,) = found.ideals
    assert (found.nullity, found.unexplained) == (1, 0)
    assert ideal.action == "parts.0 ↦ parts.0 + c; parts.1 ↦ parts.1 + c"


def test_symmetries_that_span_the_kernel_are_no_witness_of_its_dimension() -> None:
    """sin 2w = 2 sin w cos w is a relation that the engine does not know: all but a is free, and it sees less."""

    def weight(a, w, v):
        return a + ((2 * w).sin() - 2 * w.sin() * w.cos()) * v

    module, inputs = Weighted(weight, (), (2,), (2,)), symgauge.Vectors(1, 2)
    with pytest.raises(symgauge.Undecided, match="the second witness contradicts"):
        discover(module, inputs)
    unwitnessed = symgauge.dimension(module, inputs, witness=False)
    assert not unwitnessed.doubt
    assert unwitnessed.nullity < 4
    with pytest.raises(symgauge.Undecided, match="the second witness contradicts"):
        discover(module, inputs, fibre=unwitnessed)


def test_the_length_of_a_direction_is_spoiled_by_noise_of_other_numbers() -> None:
    """Noise from the seed of the point is a multiple of it, which a function of the direction alone does not see."""
    module = Weighted(lambda v: v * v.sum() / (v @ v), (3,))
    found = discover(module, symgauge.Vectors(1, 3))
    assert (found.nullity, found.unexplained, found.doubt) == (1, 0, "")
    assert found.discrete.order == 2  # the function sees v, though not its length, and does not see its sign


class Inverted(nn.Module):
    """Units that may be renumbered, beside an inverse that does not exist where a matrix is symmetric in its rows."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(2, 3), nn.Linear(3, 2)
        self.mix = nn.Parameter(torch.randn(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.down(torch.tanh(self.up(x))) * torch.linalg.inv(self.mix)[0, 1]


def test_a_module_that_fails_at_symmetric_points_is_searched_all_the_same() -> None:
    assert discover(Inverted(), symgauge.Vectors(1, 2)).discrete.order == 96  # 3! · 2³, and the sign of both factors


def test_a_narrow_head_gives_few_rows_at_a_time() -> None:
    """One value channel: a batch of positions has far fewer independent rows than outputs, so more are looked at."""
    a = symgauge.Architecture(5, 1, 4, 1, residual=False, context=4, rotary=symgauge.Rotary(turns=(0.2, 0.2)))
    found = discover(a, discrete=False)
    assert (found.nullity, found.unexplained) == (9, 0)
    assert Counter(ideal.algebra for ideal in found.ideals) == {"gl(2, ℂ)": 1, "gl(1, ℝ)": 1}
