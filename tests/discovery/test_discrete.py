"""Permutations and sign flips of modules that nobody described: orders, controls, and traps for a naive search."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from math import factorial

import pytest
import torch
from torch import Tensor, nn

import symgauge
from symgauge.architecture import Architecture, Experts
from symgauge.discovery.discrete import DiscreteGroup, discrete_group
from symgauge.discovery.generators import Generator
from symgauge.discovery.group_order import group_order
from symgauge.models.reference import ReferenceModel
from symgauge.symmetries import discrete_families
from symgauge.symmetries import symbols as s


def _scaled(x: Tensor) -> Tensor:
    return x * (1 + torch.arange(x.shape[-1]))


class Perceptron(nn.Module):
    def __init__(self, activation: Callable[[Tensor], Tensor], hidden: int = 4, bias: bool = True) -> None:
        super().__init__()
        self.read, self.write = nn.Linear(3, hidden, bias=bias), nn.Linear(hidden, 2)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.write(self.activation(self.read(x)))


class Heads(nn.Module):
    """Attention with ``heads`` query heads on ``groups`` key-value heads; ``slope`` is a constant for each head."""

    def __init__(self, heads: int = 2, groups: int = 2, fused: bool = False, slopes: bool = False) -> None:
        super().__init__()
        self.heads, self.groups, self.width = heads, groups, 3
        self.sizes = [heads * 3, groups * 3, groups * 3]
        if fused:
            self.qkv = nn.Linear(4, sum(self.sizes))
        else:
            self.q, self.k, self.v = (nn.Linear(4, size) for size in self.sizes)
        self.out = nn.Linear(heads * 3, 4)
        self.slopes = slopes

    def forward(self, x: Tensor) -> Tensor:
        parts = self.qkv(x).split(self.sizes, -1) if hasattr(self, "qkv") else (self.q(x), self.k(x), self.v(x))
        q, k, v = (part.reshape(*x.shape[:-1], -1, self.width).transpose(1, 2) for part in parts)
        k, v = (part.repeat_interleave(self.heads // self.groups, 1) for part in (k, v))
        weights = (q @ k.mT).softmax(-1)
        if self.slopes:
            weights = weights * torch.arange(1, self.heads + 1)[:, None, None]
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class Gated(nn.Module):
    """Gate and up in one matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.both, self.down = nn.Linear(3, 8, bias=False), nn.Linear(4, 3, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.both(x).chunk(2, -1)
        return self.down(nn.functional.silu(gate) * up)


class Stacked(nn.Module):
    """Two experts of three hidden units in stacked tensors, all of them active, with unlike constants if asked."""

    def __init__(self, alike: bool = True) -> None:
        super().__init__()
        self.up, self.down = nn.Parameter(torch.randn(2, 3, 4)), nn.Parameter(torch.randn(2, 4, 3))
        self.route = nn.Linear(3, 2)
        self.alike = alike

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.relu(torch.einsum("btd,edf->betf", x, self.up))
        out = torch.einsum("betf,efd->betd", hidden, self.down) * self.route(x).softmax(-1).transpose(1, 2)[..., None]
        return out.sum(1) if self.alike else (out * torch.tensor([1.0, 2.0])[:, None, None]).sum(1)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.map = nn.Embedding(5, 4), nn.Linear(4, 4, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.table(tokens)
        return (x + torch.relu(self.map(x))) @ self.table.weight.mT


class Unused(nn.Module):
    """A key bias that softmax does not see, and rows that no input reaches: every permutation of them does nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(3, 2), nn.Parameter(torch.randn(6))
        self.rows = nn.Parameter(torch.randn(6, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.used(x + self.rows[:2]) + 0 * self.unused.sum()


def found(
    module: nn.Module, inputs: symgauge.Vectors | symgauge.Tokens | None = None, **options: object
) -> DiscreteGroup:
    group = discrete_group(module, inputs or symgauge.Vectors(2, 4), **options)  # type: ignore[arg-type]
    assert group.failure_bound < 1e-12
    return group


VECTORS = symgauge.Vectors(1, 3)


@pytest.mark.parametrize(
    ("activation", "order"),
    [(torch.relu, factorial(4)), (nn.functional.gelu, factorial(4)), (torch.tanh, factorial(4) * 2**4)],
    ids=["relu", "gelu", "tanh"],
)
def test_order_of_a_perceptron(activation: Callable[[Tensor], Tensor], order: int) -> None:
    group = found(Perceptron(activation), VECTORS)
    assert group.order == order
    assert {g.tensors for g in group.generators} == {("read.weight", "read.bias", "write.weight")}


@pytest.mark.parametrize("activation", [lambda x: torch.tanh(_scaled(x)), lambda x: torch.relu(x).cumsum(-1)])
def test_units_that_are_not_alike_are_not_permuted(activation: Callable[[Tensor], Tensor]) -> None:
    assert not any("swap" in g.name for g in found(Perceptron(activation), VECTORS).generators)


def _families(group: DiscreteGroup, tensor: str, n: int) -> list[list[int]]:
    """Sizes of the classes of indices, for families of n indices that move this tensor."""
    return [sorted(map(len, f.classes)) for f in group.families if f.n == n and tensor in f.tensors]


@pytest.mark.parametrize("fused", [False, True])
def test_heads_change_places(fused: bool) -> None:
    group = found(Heads(fused=fused))
    first = "qkv.weight" if fused else "q.weight"
    heads = [f for f in group.families if f.n == 2 and {first, "out.weight"} <= set(f.tensors)]
    assert [list(map(len, f.classes)) for f in heads] == [[2]]
    if not fused:
        assert set(heads[0].tensors) == {"q.weight", "q.bias", "k.weight", "v.weight", "v.bias", "out.weight"}


@pytest.mark.parametrize("fused", [False, True])
def test_heads_that_share_keys_make_a_wreath_product(fused: bool) -> None:
    """Four query heads on two key-value heads: S₂ ≀ S₂, of order 8, and not S₄."""
    group = found(Heads(4, 2, fused))
    first = "qkv.weight" if fused else "q.weight"
    assert [2, 2] in _families(group, first, 4)
    assert [4] not in _families(group, first, 4)
    assert [2] in _families(group, first, 2)
    heads = [f for f in group.families if f.n == 4 or (f.n == 2 and {first, "out.weight"} <= set(f.tensors))]
    for each in heads:
        each.flips.clear()
    assert group_order(heads, [], lambda _: False) == 8


def test_a_constant_for_each_head_keeps_heads_in_place() -> None:
    """Its size could be taken over by the output, but not by moving entries."""
    group = found(Heads(slopes=True))
    assert not any({"q.weight", "out.weight"} <= set(g.tensors) for g in group.generators)


def test_gate_and_up_in_one_matrix() -> None:
    group = found(Gated(), VECTORS)
    assert _families(group, "both.weight", 4) == [[4]]
    assert group.order == factorial(4) * 2**4  # up and down change sign together, unit by unit


@pytest.mark.parametrize("alike", [True, False])
def test_hidden_units_of_stacked_experts_move_by_themselves(alike: bool) -> None:
    group = found(Stacked(alike), symgauge.Vectors(2, 3))
    units = _families(group, "up", 4)
    assert units == ([[4], [4]] if alike else [[4]])
    assert group.order == (factorial(4) ** 2 * 2 if alike else factorial(4))


def test_a_tied_table_is_permuted_with_what_reads_it() -> None:
    group = found(Tied(), symgauge.Tokens(5, 2))
    assert [set(f.tensors) for f in group.families if f.n == 4] == [{"table.weight", "map.weight"}]
    assert group.order == factorial(4)


def test_what_the_function_does_not_see_is_no_symmetry() -> None:
    group = found(Unused(), VECTORS)
    assert not any({"unused"} & set(g.tensors) for g in group.generators)


def test_what_continuous_symmetries_reach_is_apart() -> None:
    """Three-cycles of O(3) lie in SO(3), transpositions and flips do not, and a transposition with a flip does."""
    rotations = found(Linear(), VECTORS, connected=lambda g: bool(torch.linalg.det(_matrix(g)) > 0))
    assert rotations.order == 2
    assert rotations.inside_continuous
    assert found(Linear(), VECTORS).order == factorial(4) * 2**4


class Linear(nn.Module):
    """x ↦ W₂W₁x through four channels, which GL(4) acts on."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 4, bias=False), nn.Linear(4, 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))


def _matrix(g: Generator) -> Tensor:
    """What a generator does to the four rows of the first matrix (12 of 20 entries)."""
    return torch.stack(
        [
            g(
                row.repeat_interleave(3)
                .double()
                .new_zeros(20)
                .index_put((torch.arange(12),), row.repeat_interleave(3).double())
            )[:12:3]
            for row in torch.eye(4)
        ]
    )


def test_each_generator_keeps_the_function_of_the_plain_module_and_its_parts_do_not() -> None:
    module = Perceptron(torch.tanh).double()
    x = torch.randn(5, 1, 3, dtype=torch.float64)
    theta = nn.utils.parameters_to_vector(module.parameters()).detach()
    before = module(x)
    for generator in found(module, VECTORS).generators:
        nn.utils.vector_to_parameters(generator(theta), module.parameters())
        assert torch.allclose(module(x), before, atol=1e-12)
        for image in generator.controls(theta):
            nn.utils.vector_to_parameters(image, module.parameters())
            assert not torch.allclose(module(x), before, atol=1e-6)


SMALL = Architecture(d_model=5, heads=4, groups=2, d_k=2, d_v=3, d_ff=3, vocabulary=6)
GROUPED = Architecture(
    d_model=5, heads=2, d_k=2, d_v=2, d_ff=3, vocabulary=7, norm="rms", gated=True, activation="silu",
    experts=Experts(4, 1, 3, routing="sigmoid", groups=2, active_groups=1),
)  # fmt: skip
ORACLE = {
    "no norm, shared keys": SMALL,
    "rms": SMALL.replace(norm="rms", final_norm=True),
    "experts": SMALL.replace(groups=4, experts=Experts(3, 1, 3), gated=True, activation="silu"),
    "tanh": SMALL.replace(activation="tanh", ff_bias=True, groups=4),
    "experts in groups": GROUPED,
    "two layers with key biases": SMALL.replace(
        groups=2, heads=2, layers=2, norm="layer", norm_offset=True, query_bias=True, key_bias=True, value_bias=True
    ),
}
KNOWN = {
    "head-permutation": ("attention__output__weight", 0), "neuron-permutation": ("down__weight", 0),
    "expert-permutation": ("router__weight", 1), "stream-permutation": ("token_table", 1),
    "neuron-sign-flip": ("down__weight", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", ORACLE)
def test_orders_are_those_of_the_known_families(name: str) -> None:
    """Each known family moves one mode that tells it: the order of what was found there is the known one."""
    a = ORACLE[name]
    group = found(ReferenceModel(a), symgauge.Tokens(a.vocabulary, 3))
    for family in discrete_families(a):
        tensor, mode = KNOWN[family.name]
        mine = [f for f in group.families if any(v.tensor.endswith(tensor) and v.mode == mode for v in f.views)]
        whole = group_order(mine, [], lambda _: False)
        plain = group_order([dataclasses.replace(each, flips=[]) for each in mine], [], lambda _: False)
        # The known families leave signs of heads and of gated units to scalings.
        order = {"stream-permutation": whole, "neuron-sign-flip": whole // plain}.get(family.name, plain)
        assert order == s.evaluate(family.order(a), a), family.name
