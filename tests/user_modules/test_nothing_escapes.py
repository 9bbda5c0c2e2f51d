"""What a module does beside computing a function of its parameters is seen, and the module stays as it was."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import symgauge
from symgauge.errors import InvalidInput, SymgaugeError, UnsupportedOperation

V, T = symgauge.Vectors, symgauge.Tokens


class Layer(nn.Module):
    """A linear layer, and whatever a test does with it."""

    def __init__(self, f: Callable[[Layer, Tensor], Any], **parts: Any) -> None:
        super().__init__()
        self.a = nn.Linear(3, 4)
        for name, part in parts.items():
            setattr(self, name, part)
        self.f = f

    def forward(self, x: Tensor) -> Any:
        return self.f(self, x)


def filled(m: Layer, x: Tensor) -> Tensor:
    """Exact values written piece by piece into ordinary tensors of zeros, and added into them."""
    z, h, out = m.a(x), torch.zeros(*x.shape[:-1], 4), torch.zeros(*x.shape[:-1], 4)
    for i in range(4):
        h[..., i] = z[..., i]
    out += torch.tanh(h)
    out.view(-1, 4)[:, 1:].mul_(2.0)
    return out


def test_ordinary_tensors_that_are_filled_become_exact() -> None:
    fibre = symgauge.dimension(Layer(filled), V(2, 3))
    assert (fibre.nullity, fibre.float_rank) == (0, 16)


def test_views_of_a_parameter_outside_the_registry_are_that_parameter() -> None:
    """Wᵀ applied after W: a symmetric form of rank 3 of twelve numbers, though the second use is a kept view."""
    layer = Layer(lambda m, x: F.linear(x, m.a.weight) @ m.kept[0])
    layer.a = nn.Linear(3, 4, bias=False)
    layer.kept = [layer.a.weight.detach().reshape(-1)[:].view(4, 3)]
    fibre = symgauge.dimension(layer, V(1, 3))
    assert fibre.nullity == 12 - 6


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda m, x: m.a(x) * m.scale[0], "requires gradients is used"),
        (lambda m, x: torch.from_numpy(m.a(x).detach().numpy()), "leave torch"),
        (lambda m, x: torch.tensor(m.a(x).tolist()), "leave torch"),
        (lambda m, x: F.dropout(m.a(x), 0.5), "dropout is active"),
        (lambda m, x: m.a(x) * float(m.a.weight.sum()), "takes it out of exact arithmetic"),
        (lambda m, x: m.a(x).mean(), "no entries for each input"),
        (lambda m, x: m.a(x) @ m.a(x).mT.roll(1, 0), "see one another"),
        (lambda m, x: m.a(x) - m.a(x).mean(0), "see one another"),
        (lambda m, x: m.a.weight, "depends on its input"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(f: Any, says: str) -> None:
    layer = Layer(f, scale=[nn.Parameter(torch.randn(4))])
    with pytest.raises(SymgaugeError, match=says) as caught:
        symgauge.dimension(layer, V(2, 3))
    assert "\n" not in str(caught.value)


def test_weights_written_in_forward_are_refused() -> None:
    def write(m: Layer, x: Tensor) -> Tensor:
        with torch.no_grad():
            m.a.weight.mul_(1.0)
        return m.a(x)

    with pytest.raises(UnsupportedOperation, match=r"writes to its parameter 'a\.weight'"):
        symgauge.dimension(Layer(write), V(2, 3))


def test_a_branch_on_parameters_is_noted() -> None:
    fibre = symgauge.dimension(Layer(lambda m, x: m.a(x) if m.a.weight.sum() > 0 else 2 * m.a(x)), V(2, 3))
    assert any("branches on a value that depends on parameters" in note for note in fibre.notes)


class Merging(nn.Module):
    """An adapter that rewrites its base weight when it is put in evaluation mode, as some libraries' do."""

    def __init__(self) -> None:
        super().__init__()
        self.base, self.down, self.up = nn.Linear(3, 4), nn.Linear(3, 2, bias=False), nn.Linear(2, 4, bias=False)
        self.merged = False

    def train(self, mode: bool = True) -> Merging:
        if not mode and not self.merged:
            self.base.weight.data += self.up.weight @ self.down.weight
            self.merged = True
        return super().train(mode)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) if self.merged else self.base(x) + self.up(self.down(x))


def test_the_module_is_left_as_it_was() -> None:
    module = nn.Sequential(Merging(), nn.Dropout(0.5), nn.BatchNorm1d(4))
    module[0].twice = module[0].base
    module.train()
    seen: list[Tensor] = []
    module[0].register_forward_hook(lambda m, i, o: seen.append(o) or None)
    before = copy.deepcopy(module.state_dict())
    hooks, kept = dict(module[0]._forward_hooks), [id(p) for p in module.parameters()]
    torch.manual_seed(3)
    state = torch.get_rng_state()
    fibre = symgauge.dimension(module, symgauge.Arrays((3,)) if hasattr(symgauge, "Arrays") else V(1, 3))
    assert torch.equal(state, torch.get_rng_state())
    assert all(m.training for m in module.modules())
    assert [id(p) for p in module.parameters()] == kept
    assert dict(module[0]._forward_hooks) == hooks
    assert module[0].twice is module[0].base
    assert all(type(p) is nn.Parameter for p in module.parameters())
    assert all(torch.equal(before[name], x) for name, x in module.state_dict().items())
    # Neither merged nor changed: base and adapter add up, GL(2) beside the base's own twelve, and the norm's 4 + 4.
    assert fibre.nullity == 14 + 8
    assert fibre.by_tensor["0.base.weight"] == 12  # merged, the adapter would be free by itself and the base not


def _keeps_a_product(m: Layer, x: Tensor) -> Tensor:
    m.kept = m.a.weight * 2 if m.kept is None else m.kept
    return F.linear(x, m.kept)


def _keeps_the_parameter(m: Layer, x: Tensor) -> Tensor:
    last, m.kept = m.kept, [m.a.weight]
    return F.linear(x, last[0] if last else m.a.weight)


def _keeps_the_input(m: Layer, x: Tensor) -> Tensor:
    last, m.kept = m.kept, x
    return m.a(x) + 0 * (x if last is None else last[:1]).sum()


@pytest.mark.parametrize("keep", [_keeps_a_product, _keeps_the_parameter, _keeps_the_input])
def test_a_value_that_is_kept_from_an_earlier_call_is_named(keep: Callable[[Layer, Tensor], Tensor]) -> None:
    with pytest.raises(UnsupportedOperation, match="computed in an earlier call is used again"):
        symgauge.dimension(Layer(keep, kept=None), V(2, 3))


@pytest.mark.parametrize("held", [False, True], ids=["in a closure", "in the module"])
def test_memory_that_is_a_parameter_in_part_only_is_named(held: bool) -> None:
    whole = torch.randn(15)
    layer = Layer(lambda m, x: F.linear(x, whole[3:].view(4, 3)), kept=[whole] if held else None)
    layer.a.weight = nn.Parameter(whole[:12].view(4, 3))
    with pytest.raises(SymgaugeError, match="without being a part of it"):
        symgauge.dimension(layer, V(2, 3))


def test_a_kept_view_belongs_to_the_parameter_that_it_lies_in() -> None:
    """Two parameters lie one after the other in one tensor, as some libraries pack them; a bias between them moves."""
    whole = torch.randn(28)
    layer = Layer(lambda m, x: m.a(x) + F.linear(x, m.kept[0]) + m.kept[1], b=nn.Linear(4, 3, bias=False))
    layer.a.weight = nn.Parameter(whole[:12].view(4, 3))
    layer.b.weight = nn.Parameter(whole[16:].view(3, 4))
    layer.kept = [layer.a.weight.detach()[:], whole[12:16]]
    assert symgauge.dimension(layer, V(1, 3)).nullity == 12  # b.weight is not used


def test_outputs_and_parameters_can_be_picked() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(3, 2), nn.Linear(3, 2)

        def forward(self, x: Tensor) -> dict[str, Any]:
            return {"first": self.a(x), "nested": (self.b(x), "text")}

    module = Two()
    assert symgauge.dimension(module, V(1, 3)).nullity == 0
    assert symgauge.dimension(module, V(1, 3), outputs="first").nullity == 8
    assert symgauge.dimension(module, V(1, 3), outputs=["nested"]).nullity == 8
    with pytest.raises(InvalidInput, match=r"returns no 'third'; it returns first, nested\.0"):
        symgauge.dimension(module, V(1, 3), outputs="third")
    module.b.requires_grad_(False)
    held = symgauge.dimension(module, V(1, 3))
    assert (held.parameters, held.nullity) == (8, 0)
    assert "held at their values" in held.notes[0]
    assert symgauge.dimension(module, V(1, 3), parameters="all").parameters == 16


def test_time_first_is_an_input() -> None:
    layer = nn.MultiheadAttention(4, 2)

    class Attend(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.m = layer

        def forward(self, x: Tensor) -> Tensor:
            return self.m(x, x, x, need_weights=False)[0]

    with pytest.raises(InvalidInput, match=r"Vectors\(…, batch_axis=1\)"):
        symgauge.dimension(Attend(), V(4, 4))
    assert symgauge.dimension(Attend(), V(4, 4, batch_axis=1)).nullity == 24


def test_a_singular_point_is_an_upper_bound() -> None:
    module = nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 3, bias=False))
    assert not symgauge.dimension(module, V(1, 3), point="own").singular
    nn.init.zeros_(module[0].weight)
    own = symgauge.dimension(module, V(1, 3), point="own")
    assert (own.nullity, own.generic_rank, own.singular) == (6, 8, True)
    assert own.as_dict()["upper_bound_only"] is True


def test_a_vocabulary_whose_inputs_are_all_used_is_decided() -> None:
    class Wide(nn.Module):
        """More outputs than are looked at at once: all directions must have been seen."""

        def __init__(self) -> None:
            super().__init__()
            self.e, self.h = nn.Embedding(3, 2), nn.Linear(2, 40)

        def forward(self, x: Tensor) -> Tensor:
            return self.h(self.e(x))

    fibre = symgauge.dimension(Wide(), T(3, 1)).require_decided()
    # Three points of an affine plane in 40 dimensions: nothing but the affine maps of the plane is free.
    assert fibre.exhausted
    assert fibre.nullity == 6


def test_both_sides_of_a_threshold_occur_where_they_can() -> None:
    """The rank of a ReLU network on tokens is the same for every seed."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.e, self.n, self.a, self.b = nn.Embedding(11, 6), nn.LayerNorm(6), nn.Linear(6, 8), nn.Linear(8, 6)
            self.h = nn.Linear(6, 11, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            e = self.e(x)
            return self.h(e + self.b(torch.relu(self.a(self.n(e)))))

    found = {symgauge.dimension(Net(), T(11, 2), seed=seed, witness=False).nullity for seed in range(4)}
    assert len(found) == 1


def test_a_unit_that_cannot_be_reached_is_said() -> None:
    fibre = symgauge.dimension(Layer(lambda m, x: torch.relu(m.a(torch.tanh(x)) - 50) + m.a(x)), V(1, 3))
    assert "4 never above" in str(fibre.pieces[0])
    assert "one side of a threshold at every probe" in fibre.doubt


def test_outputs_that_cancel_are_compared_up_to_rounding() -> None:
    """0.1 x + 0.2 x − 0.3 x is rounding alone, which no two orders of computing share."""
    layer = Layer(lambda m, x: (m.a(x), 0.1 * m.a(x) + 0.2 * m.a(x) - 0.3 * m.a(x)))
    assert symgauge.dimension(layer, V(2, 3)).nullity == 0


def test_a_parameter_without_entries_is_not_taken_for_other_empty_tensors() -> None:
    layer = Layer(lambda m, x: torch.cat([m.a(x), x.new_zeros(*x.shape[:-1], 0)], -1), e=nn.Parameter(torch.zeros(0)))
    assert symgauge.dimension(layer, V(2, 3)).nullity == 0
